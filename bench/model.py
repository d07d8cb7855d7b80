"""The parts of an experiment, and the form in which run.py runs any of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol


class CannotRunError(Exception):
    """An experiment that this machine cannot run, and why."""


@dataclass(frozen=True)
class Cell:
    """Something that is run several times: one peer, or job, over one link, or in one scenario."""

    link: str
    peer: str


#: Runs a cell for the n-th time, and returns its rows: one, but for calls of many sizes.
Run = Callable[[int, Cell], list[dict]]


class Bench(Protocol):
    """An experiment as run.py sees it."""

    about: str
    #: Of the record, beside the machine.
    facts: dict
    #: Runs of each cell.
    runs: int

    def cells(self) -> list[Cell]: ...

    def prepare(self) -> None:
        """Makes the files, outside of the lab."""

    def lab(self) -> AbstractContextManager[list[str] | None]:
        """Options of `farroot-lab run`; None of an experiment without a link."""

    def opened(self) -> AbstractContextManager[Run]:
        """Starts whatever all runs share, inside the lab."""

    def table(self, rows: list[dict]) -> list[dict]: ...

    def text(self, lines: list[dict]) -> str: ...


@dataclass(frozen=True)
class Peer:
    """One way to do the job: a script of peers/, run in a process of its own."""

    name: str
    script: str
    scheme: str = "root"  # root, http, flight, or local: which URL it gets
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    is_bound: bool = False  # no peer but a bound (floor) or another job (xrdcp): no ratio to it
    is_led: bool = False  # started by `farroot run`, whose own start does not count
    is_cached: bool = False  # with a cache on disk that a run before it has filled
    is_behind_xcache: bool = False  # through XRootD's own cache, empty unless `is_cached`
    is_known: bool = False  # with the metadata that an earlier run has stored
    rtt_min_ms: float = 0.0  # it runs over links of this length and more,
    rtt_max_ms: float = math.inf  # and of this one and less,
    runs_max: int | None = None  # and no more often than this, where it takes very long


@dataclass(frozen=True)
class Link:
    """A setting of the far host's link."""

    rtt_ms: float
    options: str = "rate=1gbit flow-rate=none loss=0"

    @property
    def label(self) -> str:
        extra = [option for option in self.options.split() if option not in Link.options.split()]
        return " ".join([f"{self.rtt_ms:g} ms", *extra])

    @property
    def pipe_bytes(self) -> int:
        """Bytes that it holds: rate x round trip."""
        rate = next(option for option in self.options.split() if option.startswith("rate="))
        number, unit = re.fullmatch(r"rate=(\d+)(gbit|mbit|MB/s)", rate).groups()
        per_s = {"gbit": 125_000_000, "mbit": 125_000, "MB/s": 1_000_000}[unit]
        return int(int(number) * per_s * self.rtt_ms / 1000)

    @property
    def settings(self) -> list[str]:
        return [f"delay={self.rtt_ms / 2000:.6f}s", *self.options.split()]


@dataclass(frozen=True)
class Place:
    """Where a local file lies that is not in memory: on the disk, or on a mount that delays."""

    delay_s: float | None = None

    @property
    def label(self) -> str:
        return f"{1000 * self.delay_s:g} ms a read" if self.delay_s else "local disk"


@dataclass(frozen=True)
class Experiment:
    """A table to make. The table compares its `figure`: time_s, round_trips, or peak_bytes."""

    about: str
    file: str
    peers: tuple[Peer, ...]
    columns: tuple[str, ...] = ()
    cut: str = ""
    entry_stop: int | None = None
    #: Options of `farroot serve`, which then serves the file, in place of xrootd.
    served: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    places: tuple[Place, ...] = ()
    figure: str = "time_s"
    timeout_s: float = 300.0
    copies: int = 0  # the job is as many files, FILE/0000.root and so on
    uploads: bool = False  # the peers write to a server whose folder is empty
    runs: int = 5
