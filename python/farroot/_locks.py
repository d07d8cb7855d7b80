"""Locks that are free in the child of a fork, where no other thread could give them back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")


class Lock:
    """A lock for ``with``."""

    def __init__(self, made: Callable[[], Any] = threading.Lock) -> None:
        self._made = made
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        """Makes a new lock, which no thread holds."""
        self._lock = self._made()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: WeakSet[Lock] = WeakSet()


def _after_fork() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class cached_property(Generic[T]):  # noqa: N801
    """As that of ``functools``, which before Python 3.12 has one lock for all objects of a class:
    other threads wait while one of them reads, and a child of a fork waits for ever. Two threads
    may compute the value here, of which the first counts."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.func = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.attrname = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return value
