"""Files that this process is writing; farroot closes those that the program forgets.

uproot's files grow under their names, so that a program which forgets `close` has its file all the
same, and one that begins a file twice has the second. These are the same outcomes for files that
get their name when they are closed.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
from typing import Any, Protocol
from weakref import WeakValueDictionary

from .errors import UnfinishedWarning, warn, warn_at


class Unfinished(Protocol):
    """A file that is being written."""

    begun_at: tuple[str, int]
    is_in_with: bool

    @property
    def file_path(self) -> str | None: ...

    @property
    def root_directory(self) -> Any: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...

    def is_of_this_process(self) -> bool: ...


_ADVICE = "use it in `with`, or close() it"
#: In the order in which they were begun.
_OPEN: WeakValueDictionary[int, Unfinished] = WeakValueDictionary()
_NUMBERS = itertools.count()


def begun(file: Unfinished) -> int:
    """A file has been begun; returns the number by which :func:`ended` knows it."""
    number = next(_NUMBERS)
    _OPEN[number] = file
    return number


def ended(number: int) -> None:
    """It has been closed or abandoned."""
    _OPEN.pop(number, None)


def _forgotten(address: str | None) -> Unfinished | None:
    """The file that this process is writing there, unless a `with` block will close it."""
    place = _place(address)
    for file in list(_OPEN.values()):
        if (
            place is not None
            and place == _place(file.file_path)
            and not file.is_in_with
            and (file.is_of_this_process())
        ):
            return file
    return None


def _place(address: str | None) -> str | None:
    if address is None or "://" in address:
        return address
    return os.path.realpath(address)


def begin_again(address: str | None) -> None:
    """A file is about to be begun where another object may still write one, as in a notebook's
    cell that is run again: the earlier object's is discarded, as uproot truncates it."""
    earlier = _forgotten(address)
    if earlier is None:
        return
    names = earlier.root_directory.keys()
    earlier.abandon()
    if names:
        lost = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        warn(
            f"{address} is begun again, and what an earlier object had written to it is discarded "
            f"({lost}), since that one was never closed: {_ADVICE}",
            UnfinishedWarning,
        )


def complete(address: str | None) -> None:
    """Closes the file that another object may still write there: it is about to be added to."""
    if (earlier := _forgotten(address)) is not None:
        close(earlier)


def close(file: Unfinished) -> None:
    """Closes a file in place of the program that has forgotten it. One without objects is all that
    the program can have meant by it."""
    path = file.file_path or "a file-like object"
    is_empty = not file.root_directory.keys()
    try:
        file.close()
    except Exception as error:
        said = f"{path} was never closed and could not be written: {error}; {_ADVICE}"
    else:
        if is_empty:
            return
        said = f"{path} was never closed, and has been now, with what it had: {_ADVICE}"
    warn_at(file.begun_at, said, UnfinishedWarning)


def warn_if_unfinished(address: str) -> None:
    """Warns one who opens a file that this process is still writing."""
    if _OPEN and (writing := _forgotten(address)) is not None:
        there = "this is the file from before" if os.path.exists(address) else "it is not there yet"
        warn(
            f"{address} is being written, and {there}: close() {writing!r} first",
            UnfinishedWarning,
        )


def _has_failed() -> bool:
    """Whether an exception that no code has caught is ending the program."""
    is_interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive) or "IPython" in sys.modules
    return getattr(sys, "last_value", None) is not None and not is_interactive


@atexit.register
def _end_all() -> None:
    has_failed = _has_failed()
    for file in [one for one in list(_OPEN.values()) if one.is_of_this_process()]:
        if has_failed or file.is_in_with:
            _discard(file)
        else:
            close(file)


def _discard(file: Unfinished) -> None:
    file.abandon()
    warn_at(
        file.begun_at,
        f"{file.file_path} was never closed, and the program ends before it could be: what was "
        "written to it is discarded. With keep_partial=True, `with` keeps it at an exception",
        UnfinishedWarning,
    )
