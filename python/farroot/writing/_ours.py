"""Every error that leaves a public function for writing is farroot's, but for what the caller's
own functions and iterators raise."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .. import errors
from ..errors import ArgumentTypeError, Error, InvalidArgumentError

P = ParamSpec("P")
R = TypeVar("R")

_BY_CALLER = "_farroot_by_caller"

#: Exceptions of Python, and which of ours they become; the first that fits.
_CLASSES: tuple[tuple[type[Exception], type[Error]], ...] = (
    (FileNotFoundError, errors.NotFoundError),
    (FileExistsError, errors.ExistsError),
    (PermissionError, errors.PermissionDeniedError),
    (TimeoutError, errors.TimedOutError),
    (ConnectionError, errors.ConnectionFailedError),
    (OSError, errors.ReadError),
    (ImportError, errors.UnsupportedError),
    (NotImplementedError, errors.UnsupportedError),
    (TypeError, ArgumentTypeError),
    (AttributeError, ArgumentTypeError),
)


def ours(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors are farroot's: an argument of a library, or of a class of the
    caller's, may do anything."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (Error, MemoryError):
            raise
        except Exception as error:
            if getattr(error, _BY_CALLER, False):
                raise
            raise translated(function.__name__, error) from error

    return call


def translated(what: str, error: Exception) -> Error:
    """Another library's error as one of ours."""
    fitting = (own for theirs, own in _CLASSES if isinstance(error, theirs))
    own = next(fitting, InvalidArgumentError)
    said = " ".join(str(error).split()) or "without a message"
    return own(f"{what}: {type(error).__name__}: {said}")


@contextmanager
def by_caller() -> Iterator[None]:
    """What is raised within is the caller's own, and stays as it is."""
    try:
        yield
    except Exception as error:
        with suppress(AttributeError):
            setattr(error, _BY_CALLER, True)
        raise


def each_of(items: Iterator[Any]) -> Iterator[Any]:
    """The items of a caller's iterator."""
    while True:
        with by_caller():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


# Arguments.


def text(value: object, of: str) -> str:
    """A text that a file can have.

    Raises:
        ArgumentTypeError: for anything else.
        InvalidArgumentError: for a text that UTF-8 has no bytes for.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{of} is a text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{of} is no text that UTF-8 has: {value!r}") from None
    return value


def texts(value: object, of: str) -> dict[str, str]:
    """Texts by name, None for none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{of} is a dict of texts, not {value!r}")
    return {text(name, f"a name in {of}"): text(each, of) for name, each in value.items()}


def flag(value: object, of: str) -> bool:
    """True or False.

    Raises:
        ArgumentTypeError: for anything else: a text is true, whatever it says.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{of} is True or False, not {value!r}")
    return bool(value)


def count(value: object, of: str, least: int = 1) -> int:
    """A whole number that memory can have so many of.

    Raises:
        ArgumentTypeError: for anything else.
        InvalidArgumentError: for one that is too small, or too large.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{of} is a whole number, not {value!r}")
    if not least <= value < 1 << 62:
        raise InvalidArgumentError(f"{of} is a number from {least} to 2**62, not {value}")
    return int(value)
