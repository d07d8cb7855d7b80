"""Calls in threads of their own: they are awaited, or end early where nobody waits any longer."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TypeVar

from ._limits import CALLS_MAX
from ._progress import while_waiting

T = TypeVar("T")


class Left(BaseException):
    """Nobody waits for the call any longer: it ends, as by Ctrl-C."""


@dataclass
class _Threads:
    """The threads of a process, made when first needed; a fork has none of its parent's."""

    pid: int = 0
    pool: ThreadPoolExecutor | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def here(self) -> ThreadPoolExecutor:
        with self.lock:
            if self.pool is None or self.pid != os.getpid():
                self.pool = ThreadPoolExecutor(CALLS_MAX, thread_name_prefix="farroot")
                self.pid = os.getpid()
            return self.pool


_THREADS = _Threads()
os.register_at_fork(after_in_child=lambda: setattr(_THREADS, "lock", threading.Lock()))


class Call(Future[T]):
    """A call in another thread, which ends early if it is left."""

    def __init__(self, function: Callable[[], T]) -> None:
        super().__init__()
        self._is_left = threading.Event()
        context = copy_context()
        _THREADS.here().submit(context.run, self._made, function)

    def _made(self, function: Callable[[], T]) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            with while_waiting(self._look):
                result = function()
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(result)

    def _look(self) -> None:
        if self._is_left.is_set():
            raise Left

    def leave(self) -> None:
        """Ends the call within about a tenth of a second, where it waits for the engine."""
        self._is_left.set()
        self.cancel()


async def awaited(function: Callable[[], T]) -> T:
    """The result of a call in another thread; cancelling the task ends the call."""
    call = Call(function)
    future = asyncio.wrap_future(call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        call.leave()
        # The next use of the table finds no call under way.
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()
        raise
