"""Options of files and tables that are written."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .. import _core
from .._progress import Wanted, is_wanted
from .._uproot import IGNORED_WHEN_WRITING
from ..compression import number_and_level
from ..errors import ArgumentTypeError, InvalidArgumentError
from ._arguments import count, flag, text

#: ROOT's number: ZSTD of ROOT's level 5.
DEFAULT_COMPRESSION = 505


@dataclass(frozen=True)
class Options:
    """The keywords of :func:`farroot.recreate`, which explains them."""

    compression: object = DEFAULT_COMPRESSION
    title: str = ""
    cluster: str | int | None = None
    jagged: str = "counter"
    threads: int | None = None
    memory: str | int | None = None
    reproducible: bool = False
    keep_partial: bool = False
    checkpoint: str | int | None = None
    progress: Wanted = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Keywords, uproot's that change nothing among them.

        Raises:
            ArgumentTypeError: for others.
        """
        known = {field.name for field in fields(cls)}
        for name in given.keys() - known - IGNORED_WHEN_WRITING:
            raise ArgumentTypeError(f"there is no {name}=...; there are {', '.join(sorted(known))}")
        return cls(**{name: value for name, value in given.items() if name in known})

    def __post_init__(self) -> None:
        text(self.title, "title")
        is_vector(self.jagged)
        cluster(self.cluster)
        for name in ("reproducible", "keep_partial"):
            flag(getattr(self, name), name)
        is_wanted(self.progress)

    def core(self) -> _core.FileOptions:
        """The same for the engine."""
        return _core.FileOptions(
            self.title,
            number_and_level(self.compression),
            None if self.threads is None else count(self.threads, "threads"),
            size(self.memory, "memory"),
            self.reproducible,
            size(self.checkpoint, "checkpoint"),
        )


@dataclass
class TableChoice:
    """A user's options for one table, as the engine takes them."""

    title: str
    compression: tuple[int, int | None]
    cluster_entries: int | None
    cluster_bytes: int | None
    counters: dict[str, str]
    fields: dict[tuple[str, str], str]
    descriptions: dict[str, str]
    is_vector: bool


def size(said: str | int | None, name: str) -> int | None:
    """Bytes.

    Raises:
        InvalidArgumentError: for anything but a size.
    """
    if said is None:
        return None
    if not isinstance(said, str):
        return count(said, name)
    found = _core.StepSize(text(said, name)).bytes
    if found is None:
        raise InvalidArgumentError(f'{name} is a size as "100 MB", not {said!r}')
    return found


def is_vector(jagged: str) -> bool:
    """Whether lists of numbers become vectors.

    Raises:
        InvalidArgumentError: where neither is given.
    """
    if not isinstance(jagged, str) or jagged not in ("counter", "vector"):
        raise InvalidArgumentError(f'jagged is "counter" or "vector", not {jagged!r}')
    return jagged == "vector"


def cluster(said: str | int | None) -> tuple[int | None, int | None]:
    """Entries, or compressed bytes, of a cluster."""
    if said is None:
        return None, None
    if not isinstance(said, str):
        return count(said, "cluster"), None
    found = _core.StepSize(text(said, "cluster"))
    return found.entries, found.bytes
