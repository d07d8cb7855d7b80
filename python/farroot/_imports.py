"""Imports of packages that Ctrl-C must not break off."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import NotInstalledError


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block of imports, behind which a Ctrl-C that comes within it is handled.

    Python forgets a package whose import was broken off, but not the modules that it had imported:
    the next import of it fails, for as long as the process runs.
    """
    handler = _handler()
    if handler is None:
        yield
        return
    came: list[Any] = []
    try:
        signal.signal(signal.SIGINT, lambda *said: came.append(said))
    except ValueError:
        # A subinterpreter handles no signals.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[-1])


def _handler() -> Any:
    """The function that Python calls for a Ctrl-C; None where it calls none from this thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None


def package(name: str, wanted: str | None = None) -> Any:
    """A package, or a module of one, that only some functions need.

    Args:
        name: As ``import`` takes it.
        wanted: The line that installs it, behind ``pip install``; its own name if None.

    Raises:
        NotInstalledError: it is not installed; the text has the line that installs it.
    """
    if sys.modules.get(name) is not None:  # Columns ask for it one by one.
        return importlib.import_module(name)
    try:
        with uninterrupted():
            return importlib.import_module(name)
    except ImportError as error:
        line = wanted or name.partition(".")[0].replace("_", "-")
        raise NotInstalledError(f"{error}: pip install {line}") from error
