"""Errors of farroot, as classes to catch.

Every error is a :class:`Error`, and also the built-in exception that Python people would expect
in its place: a missing file is a ``FileNotFoundError``, a missing branch a ``KeyError``.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

# The engine imports it while it waits, and Python aborts a process that ends during an import of
# the engine's on another thread.
from ._log import LOGGER as LOGGER
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
    "UploadWarning",
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

    Example:
        >>> try:
        ...     farroot.open("none.root")
        ... except farroot.Error as error:
        ...     print(error.url, error.retryable)
        none.root False
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
    """No such file.

    Example:
        >>> farroot.open("none.root")
        Traceback (most recent call last):
        farroot.errors.NotFoundError: No such file or directory (os error 2); in none.root; ...
    """


class ExistsError(Error, FileExistsError):
    """A file of that name is there already.

    Example:
        >>> farroot.create("events.root")
        Traceback (most recent call last):
        farroot.errors.ExistsError: 'events.root' is there: farroot.recreate replaces it, ...
    """


class KeyInFileError(Error, KeyError):
    """No directory, tree or branch of that name in the file, or no such key in a mapping.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree["Muon_pT"]
        Traceback (most recent call last):
        farroot.errors.KeyInFileError: no branch is called "Muon_pT"; in events.root; did you ...
    """


class PermissionDeniedError(Error, PermissionError):
    """The server or the operating system knows who asks and refuses.

    Example:
        >>> issubclass(farroot.PermissionDeniedError, PermissionError)
        True
    """


class UnauthenticatedError(PermissionDeniedError):
    """The server wants to know who asks.

    Example:
        >>> issubclass(farroot.UnauthenticatedError, farroot.PermissionDeniedError)
        True
    """


class TimedOutError(Error, TimeoutError):
    """Nothing came within the time allowed.

    Example:
        >>> issubclass(farroot.TimedOutError, TimeoutError)
        True
    """


class ConnectionFailedError(Error, ConnectionError):
    """The server could not be reached, or the connection broke.

    Example:
        >>> issubclass(farroot.ConnectionFailedError, ConnectionError)
        True
    """


class CorruptError(Error, ValueError):
    """The bytes contradict the format, their checksum or each other.

    Example:
        >>> farroot.open("damaged.root:Events")["MET_pt"].array()
        Traceback (most recent call last):
        farroot.errors.CorruptError: Events/MET_pt/basket 0: corrupt: basket says it holds 0 ...
    """


class ChangedError(CorruptError):
    """The file has been replaced since it was opened: open it again.

    Example:
        >>> issubclass(farroot.ChangedError, farroot.CorruptError)
        True
    """


class UnsupportedError(Error, NotImplementedError):
    """Known to exist, not readable by this version.

    Example:
        >>> farroot.chain(["events.root:Events", "more.root:Events"]).timeline()
        Traceback (most recent call last):
        farroot.errors.UnsupportedError: a chain has no timeline of its own: ...
    """


class NotInstalledError(UnsupportedError, ModuleNotFoundError):
    """A package that this function needs is not installed; the text says how to install it.

    Example:
        >>> issubclass(farroot.NotInstalledError, ImportError)
        True
    """


class LimitReachedError(Error, ValueError, MemoryError):
    """A configured or sane limit would be exceeded, or there is no memory for a file's content.

    Example:
        >>> issubclass(farroot.LimitReachedError, MemoryError)
        True
    """


class InvalidArgumentError(Error, ValueError):
    """The caller's own arguments.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree.arrays(library="cupy")
        Traceback (most recent call last):
        farroot.errors.InvalidArgumentError: library is "ak", "np", "pd" or "arrow", not 'cupy'
    """


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """Arguments that a function does not have, too many or too few, or of another type.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree.arrays(entry_stop=2.5)
        Traceback (most recent call last):
        farroot.errors.ArgumentTypeError: an entry is a whole number, not 2.5: int(2.5) leaves ...
    """


class OutOfRangeError(InvalidArgumentError, IndexError):
    """The number of a bin or of an item that is not there.

    Example:
        >>> farroot.open("events.root:pt").axis()[9]
        Traceback (most recent call last):
        farroot.errors.OutOfRangeError: bin 9 of 4
    """


class NoAttributeError(Error, AttributeError):
    """No such attribute; where uproot has one of that name, the message names the replacement.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree.Muon_pt
        Traceback (most recent call last):
        farroot.errors.NoAttributeError: 'Muon_pt' is in this Tree, under ["Muon_pt"]: not .Muon_pt
    """


class ReadError(Error, OSError):
    """The server or the disk failed to deliver.

    Example:
        >>> issubclass(farroot.ReadError, OSError)
        True
    """


class UnreadableWarning(UserWarning):
    """Something that this version cannot read, or that is corrupt, was left out.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", farroot.UnreadableWarning)
    """


class SkippedWarning(UserWarning):
    """Entries that cannot be read were left out, as ``on_error="report"`` requires.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always", farroot.SkippedWarning)
        ...     steps = list(farroot.iterate("damaged.root:Events", "MET_pt", on_error="report"))
        >>> print(told[0].category.__name__)
        SkippedWarning
    """


class HiddenAliasWarning(UserWarning):
    """An alias has the name of a branch or of a friend's column, which is read in its place.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always", farroot.HiddenAliasWarning)
        ...     array = tree.arrays("run", aliases={"run": "event"})
        >>> print(told[0].message)
        'run' is a column and an alias, 'event': the column is read; give the alias another ...
    """


class IgnoredArgumentWarning(UserWarning):
    """An argument of uproot's that changes nothing here; one warning in a process for each.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", farroot.IgnoredArgumentWarning)
        >>> file = farroot.open("events.root", num_workers=8)
    """


class RecoveredWarning(UserWarning):
    """The file was never closed: it has only the objects that had been saved before.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always", farroot.RecoveredWarning)
        ...     file = farroot.open("unclosed.root")
        >>> print(told[0].message)
        the file was never closed, and has only what had been saved before: unclosed.root
    """


class UnfinishedWarning(UserWarning):
    """A file was not closed after writing: the written data are discarded.

    Example:
        >>> import warnings
        >>> file = farroot.recreate("forgotten.root")
        >>> file["note"] = "a text"
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always", farroot.UnfinishedWarning)
        ...     del file
        >>> print(told[0].message)
        forgotten.root was never closed, and has been now, with what it had: use it in `with`, ...
        >>> farroot.open("forgotten.root").keys()
        ['note;1']
    """


class SettingWarning(UserWarning):
    """A ``FARROOT_*`` variable that is no setting.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", farroot.SettingWarning)
    """


class UploadWarning(UserWarning):
    """A file was uploaded, but an earlier one was not kept until then, or something is left over.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", farroot.UploadWarning)
    """


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
