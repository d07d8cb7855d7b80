"""Progress of a read: reported to a function, or shown as a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from . import _core
from ._imports import uninterrupted
from ._ours import called
from .errors import ArgumentTypeError

T = TypeVar("T")

#: Seconds between lines that are printed where no bar can be drawn.
LINE_EVERY = 10.0


@dataclass(frozen=True)
class Progress:
    """How far a read or a copy is. Totals are None where they are not known beforehand.

    Attributes:
        entries: Entries that have been handed out, before a cut.
        bytes: Bytes received, of a copy those that are on the disk.
        bytes_total: Bytes that the columns have in the file.
        steps: Steps that have been handed out.
        files: Files that have been read, or copied, to their end.
        seconds: Since the call.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> told = []
        >>> arrays = tree.arrays("MET_pt", progress=told.append)
        >>> told[-1].entries, told[-1].entries_total
        (4, 4)
    """

    entries: int = 0
    entries_total: int | None = None
    bytes: int = 0
    bytes_total: int | None = None
    steps: int = 0
    steps_total: int | None = None
    files: int = 0
    files_total: int | None = None
    seconds: float = 0.0

    @property
    def fraction(self) -> float | None:
        """Which part of all is done, from 0 to 1; None where no total is known."""
        pairs = (
            (self.entries, self.entries_total),
            (self.bytes, self.bytes_total),
            (self.files, self.files_total),
        )
        # Entries that are handed out in one go are counted in bytes while these arrive.
        parts = [min(1.0, done / total) for done, total in pairs if total]
        return max(parts) if parts else None

    def __str__(self) -> str:
        told = [] if self.fraction is None else [f"{100 * self.fraction:.0f} %"]
        if self.entries_total is not None or self.entries:
            told.append(_of(f"{self.entries:,}", self.entries_total, "entries"))
        told.append(f"{size(self.bytes)}{_total(self.bytes_total, size)}")
        if self.files_total is not None and self.files_total > 1:
            told.append(_of(f"{self.files:,}", self.files_total, "files"))
        rate = self.bytes / self.seconds if self.seconds > 0 else 0
        return f"{', '.join(told)} in {self.seconds:.1f} s, {size(rate)}/s"


def _of(done: str, total: int | None, noun: str) -> str:
    return f"{done}{_total(total, '{:,}'.format)} {noun}"


def _total(total: int | None, text: Callable[[int], str]) -> str:
    return "" if total is None else f" of {text(total)}"


def size(number: float) -> str:
    """Bytes as people read them: powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


#: None or False for nothing, True for a bar, or a function of each :class:`Progress`.
Wanted = bool | Callable[[Progress], object] | None


class _Shown(Protocol):
    def show(self, now: Progress) -> None: ...

    def close(self) -> None: ...


class Telling:
    """Reports the progress of a read, again and again until it ends."""

    def __init__(self, wanted: Wanted, begun: Progress, file: _core.File | None = None) -> None:
        self._begun_at = time.monotonic()
        self._now = begun
        self._mark = _core.mark(file)
        self._shown: _Shown | None = None
        if callable(wanted):
            self._tell: Callable[[Progress], object] = called(wanted)
        else:
            self._shown = _bar()
            self._tell = self._shown.show

    def tell(self, **changed: Any) -> None:
        """Reports the present state, with its changes."""
        self._now = replace(
            self._now, **{"bytes": self._received(), "seconds": self._seconds(), **changed}
        )
        self._tell(self._now)

    def step(self, entries: int) -> None:
        """Reports that a step with so many entries is handed out."""
        self.tell(entries=self._now.entries + entries, steps=self._now.steps + 1)

    def files_done(self, number: int) -> None:
        """So many files have been read to their end."""
        self._now = replace(self._now, files=number)

    def close(self) -> None:
        """Ends the bar, if there is one."""
        if self._shown is not None:
            self._shown.close()

    def _received(self) -> int:
        received = self._mark.received()
        total = self._now.bytes_total
        return received if total is None else min(received, total)

    def _seconds(self) -> float:
        return time.monotonic() - self._begun_at

    def waited(self, function: Callable[[], T]) -> T:
        """Calls a function, and reports also while this thread waits in it for the engine."""
        with while_waiting(self.tell):
            return function()


def waited(telling: Telling | None, function: Callable[[], T]) -> T:
    """Calls a function; reports its progress meanwhile, where that is wanted."""
    return function() if telling is None else telling.waited(function)


@contextmanager
def while_waiting(function: Callable[[], object]) -> Iterator[None]:
    """Has a function called about ten times a second while this thread waits for the engine.

    So is one that was wanted before.
    """
    before = _core.call_while_waiting(function)
    if before is not None:
        _core.call_while_waiting(partial(_both, before, function))
    try:
        yield
    finally:
        _core.call_while_waiting(before)


def _both(one: Callable[[], object], other: Callable[[], object]) -> None:
    one()
    other()


def is_wanted(wanted: Any) -> bool:
    """Whether progress is wanted.

    Raises:
        ArgumentTypeError: for anything but a truth value or a function.
    """
    if wanted is None or isinstance(wanted, bool):
        return bool(wanted)
    if not callable(wanted):
        raise ArgumentTypeError(f"progress is True or a function of one argument, not {wanted!r}")
    return True


def _bar() -> _Shown:
    """The best bar that is installed."""
    try:
        with uninterrupted():
            from tqdm.auto import tqdm
    except ImportError:
        pass
    else:
        return _Tqdm(tqdm)
    try:
        with uninterrupted():
            from rich import progress
    except ImportError:
        return _own_bar()
    return _Rich(progress)


def _own_bar() -> _Shown:
    """A bar that needs neither tqdm nor rich."""
    from . import _html

    shown = _html.displayed(_html.bar(None, ""))
    return _Plain() if shown is None else _Drawn(shown)


def _unit(now: Progress) -> tuple[str, int, int | None]:
    """The unit of a bar: entries where they come step by step, or else bytes."""
    if now.entries or (now.steps_total or 0) > 1 or now.bytes_total is None:
        return "entries", now.entries, now.entries_total
    return "B", now.bytes, now.bytes_total


class _Tqdm:
    """A bar of tqdm's, in a terminal or a notebook."""

    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(unit_scale=True, unit="B", leave=True)

    def show(self, now: Progress) -> None:
        unit, done, total = _unit(now)
        self._bar.unit, self._bar.total, self._bar.n = unit, total, done
        if unit == "entries":
            self._bar.set_postfix_str(size(now.bytes), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Rich:
    """A bar of rich's."""

    def __init__(self, progress: Any) -> None:
        self._bar = progress.Progress(
            *progress.Progress.get_default_columns(), progress.TextColumn("{task.fields[told]}")
        )
        self._task = self._bar.add_task("farroot", total=None, told="")
        self._bar.start()

    def show(self, now: Progress) -> None:
        _, done, total = _unit(now)
        self._bar.update(self._task, completed=done, total=total, told=str(now))

    def close(self) -> None:
        self._bar.stop()


class _Drawn:
    """A bar in a notebook."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def show(self, now: Progress) -> None:
        from . import _html

        self._shown.update(_html.bar(now.fraction, str(now)))

    def close(self) -> None:
        pass


class _Plain:
    """A line on stderr: the same one again and again in a terminal, else now and then one."""

    def __init__(self) -> None:
        self._last = ""
        self._at = time.monotonic()

    def show(self, now: Progress) -> None:
        text = f"farroot: {now}"
        if sys.stderr.isatty():
            print(f"\r{text.ljust(len(self._last))}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._at >= LINE_EVERY:
            self._at = time.monotonic()
            print(text, file=sys.stderr)
        self._last = text

    def close(self) -> None:
        if self._last:
            print("" if sys.stderr.isatty() else self._last, file=sys.stderr)
