"""Errors of farroot, as classes to catch.

Every error is a :class:`Error`, and also the built-in exception that Python people would expect
in its place: a missing file is a ``FileNotFoundError``, a missing branch a ``KeyError``.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from ._shown import shown, shown_lines, without_secrets

if TYPE_CHECKING:
    from types import FrameType

__all__ = [
    "ArgumentTypeError",
    "ChangedError",
    "ConnectionFailedError",
    "CorruptError",
    "Error",
    "ExistsError",
    "HiddenAliasWarning",
    "IgnoredArgumentWarning",
    "InvalidArgumentError",
    "KeyInFileError",
    "LimitReachedError",
    "NoAttributeError",
    "NotFoundError",
    "NotInstalledError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ReadError",
    "RecoveredWarning",
    "SettingWarning",
    "SkippedWarning",
    "TimedOutError",
    "UnauthenticatedError",
    "UnfinishedWarning",
    "UnreadableWarning",
    "UnsupportedError",
]


class Error(Exception):
    """Anything that farroot raises.

    Attributes:
        url: The file concerned, or None.
        byte_range: The bytes concerned, half open, in the file, or None.
        source: The server of the request, or None.
        retryable: Whether the same call may succeed later.
        retry_after: Seconds until then: those that the server names, or those for which this
            process remembers the error and sends no request; otherwise None.
    """

    url: str | None = None
    byte_range: tuple[int, int] | None = None
    source: str | None = None
    retryable: bool = False
    retry_after: float | None = None

    def __init__(self, *arguments: object) -> None:
        # The program that catches an error may print any part of it, or pickle it.
        super().__init__(*(without_secrets(a) if isinstance(a, str) else a for a in arguments))

    def __str__(self) -> str:
        # KeyError would show the message quoted and escaped.
        return shown_lines(str(self.args[0])) if self.args else ""


class NotFoundError(Error, FileNotFoundError):
    """No such file."""


class ExistsError(Error, FileExistsError):
    """A file of that name is there already."""


class KeyInFileError(Error, KeyError):
    """No directory, tree or branch of that name in the file."""


class PermissionDeniedError(Error, PermissionError):
    """The server or the operating system knows who asks and refuses."""


class UnauthenticatedError(PermissionDeniedError):
    """The server wants to know who asks."""


class TimedOutError(Error, TimeoutError):
    """Nothing came within the time allowed."""


class ConnectionFailedError(Error, ConnectionError):
    """The server could not be reached, or the connection broke."""


class CorruptError(Error, ValueError):
    """The bytes contradict the format, their checksum or each other."""


class ChangedError(CorruptError):
    """The file has been replaced since it was opened: open it again."""


class UnsupportedError(Error, NotImplementedError):
    """Known to exist, not readable by this version."""


class NotInstalledError(UnsupportedError, ModuleNotFoundError):
    """A package that this function needs is not installed; the text says how to install it."""


class LimitReachedError(Error, ValueError, MemoryError):
    """A configured or sane limit would be exceeded, or there is no memory for a file's content."""


class InvalidArgumentError(Error, ValueError):
    """The caller's own arguments."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """Arguments that a function does not have, too many or too few, or of another type."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """The number of a bin or of an item that is not there."""


class NoAttributeError(Error, AttributeError):
    """No such attribute; where uproot has one of that name, the message names the replacement."""


class ReadError(Error, OSError):
    """The server or the disk failed to deliver."""


class UnreadableWarning(UserWarning):
    """Something that this version cannot read, or that is corrupt, was left out."""


class SkippedWarning(UserWarning):
    """Entries that cannot be read were left out, as ``on_error="report"`` requires."""


class HiddenAliasWarning(UserWarning):
    """An alias has the name of a branch or of a friend's column, which is read in its place."""


class IgnoredArgumentWarning(UserWarning):
    """An argument of uproot's that changes nothing here; one warning in a process for each."""


class RecoveredWarning(UserWarning):
    """The file was never closed: it has only the objects that had been saved before."""


class UnfinishedWarning(UserWarning):
    """A file was not closed after writing: the written data are discarded."""


class SettingWarning(UserWarning):
    """A ``FARROOT_*`` variable that is no setting."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Warns the caller of the package, however deep inside of it this is."""
    warnings.warn(shown(message), category, stacklevel=_depth(sys._getframe(1)) + 2)


def caller() -> tuple[str, int]:
    """The file and the line from which the package was called."""
    frame = sys._getframe(1)
    depth = _depth(frame)
    outside = sys._getframe(depth + 1)
    return outside.f_code.co_filename, outside.f_lineno


def warn_at(place: tuple[str, int], message: str, category: type[UserWarning]) -> None:
    """Warns about a call that was made at this place, as :func:`caller` has told."""
    warnings.warn_explicit(shown(message), category, *place)


def _depth(frame: FrameType) -> int:
    """How many frames of the package are above a frame of it, itself included."""
    package = __name__.partition(".")[0]
    # Mapping.get is a method of ours that Python has the code of.
    inside = (f"{package}.", "_collections_abc")
    depth = 0
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(inside):
        frame, depth = frame.f_back, depth + 1
    return depth
