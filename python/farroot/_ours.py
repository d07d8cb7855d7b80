"""Every error that leaves a public function is farroot's, but for those that the caller's own
functions and iterators raise."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import GeneratorType
from typing import Any, ParamSpec, TypeVar

from .errors import (
    ArgumentTypeError,
    ConnectionFailedError,
    Error,
    ExistsError,
    InvalidArgumentError,
    KeyInFileError,
    NotFoundError,
    NotInstalledError,
    PermissionDeniedError,
    ReadError,
    TimedOutError,
    UnsupportedError,
)

P = ParamSpec("P")
R = TypeVar("R")

_BY_CALLER = "_farroot_by_caller"

#: Exceptions of Python, and which of ours they become; the first that fits.
_CLASSES: tuple[tuple[type[Exception], type[Error]], ...] = (
    (FileNotFoundError, NotFoundError),
    (FileExistsError, ExistsError),
    (PermissionError, PermissionDeniedError),
    (TimeoutError, TimedOutError),
    (ConnectionError, ConnectionFailedError),
    (OSError, ReadError),
    (ImportError, NotInstalledError),
    (NotImplementedError, UnsupportedError),
    (TypeError, ArgumentTypeError),
    (AttributeError, ArgumentTypeError),
)


#: Exceptions that leave as they are: the end of an iteration among them.
_LEAVING = (Error, MemoryError, StopIteration)


def ours(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors are farroot's, also those of the generator that it returns: an
    argument of a library, or of a class of the caller's, may do anything."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            own = _as_ours(function, error)
            if own is None:
                raise
            raise own from error
        return _each(function, result) if type(result) is GeneratorType else result  # type: ignore[return-value]

    return call


def _each(function: Callable[..., Any], items: Any) -> Iterator[Any]:
    """The items of a generator that a public function has made."""
    try:
        yield from items
    except BaseException as error:
        own = _as_ours(function, error)
        if own is None:
            raise
        raise own from error


def _as_ours(function: Callable[..., Any], error: BaseException) -> Error | None:
    """The error of ours to raise in place of one that has left the function; None where it may
    leave."""
    if isinstance(error, _LEAVING) or getattr(error, _BY_CALLER, False):
        return None
    if isinstance(error, ExceptionGroup) and error.split(Error)[1] is None:
        return None
    if isinstance(error, KeyError) and function.__name__ == "__getitem__":
        # Of a mapping: `in` and `get` go by it.
        return KeyInFileError(f"there is no {error.args[0] if error.args else 'such key'!r}")
    if isinstance(error, Exception):
        # Raised by the call itself and not within the function: the arguments do not fit.
        trace = error.__traceback__
        if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
            takes = inspect.signature(function)
            return ArgumentTypeError(f"{error}; its arguments are {takes}")
        return translated(function.__name__, error)
    if type(error).__name__ == "PanicException":
        return Error(f"{function.__name__}: a fault of farroot's own, please report it: {error}")
    return None


def translated(subject: str, error: Exception) -> Error:
    """Another library's error as one of ours."""
    fitting = (own for theirs, own in _CLASSES if isinstance(error, theirs))
    own = next(fitting, InvalidArgumentError)
    said = " ".join(str(error).split()) or "without a message"
    return own(f"{subject}: {type(error).__name__}: {said}")


@contextmanager
def by_caller() -> Iterator[None]:
    """Errors that are raised within are the caller's own, and stay as they are."""
    try:
        yield
    except Exception as error:
        with suppress(AttributeError):
            setattr(error, _BY_CALLER, True)
        raise


def function_of(wanted: Any, name: str) -> Any:
    """An argument that will be called.

    Raises:
        ArgumentTypeError: for what cannot be.
    """
    if not callable(wanted):
        raise ArgumentTypeError(f"{name} is a function, not {wanted!r}")
    return wanted


def called(function: Callable[P, R]) -> Callable[P, R]:
    """The caller's function, whose errors stay as they are."""

    @functools.wraps(function, assigned=("__doc__",), updated=())
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with by_caller():
            return function(*args, **kwargs)

    return call


def each_of(items: Iterator[Any]) -> Iterator[Any]:
    """The items of a caller's iterator."""
    while True:
        with by_caller():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
