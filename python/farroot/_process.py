"""Lifetimes of files and trees: they outlive a fork, and can be used in ``with``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Live(Generic[T]):
    """Something of the engine, which belongs to one process; in another one it is opened again."""

    def __init__(self, core: T | None, again: Callable[[], T]) -> None:
        #: None until it is opened for the first time.
        self._core = core
        self._again = again
        self._pid = os.getpid()

    def here(self) -> T:
        """The thing itself, in this process."""
        core = self._core
        if core is None or self._pid != os.getpid():
            core = self._core = self._again()
            self._pid = os.getpid()
        return core


class NothingToClose:
    """A context manager for objects that hold nothing that has to be given back at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to be done: connections end with the last use of the file."""
