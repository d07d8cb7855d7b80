"""Calls of the engine, each in a thread of its own: the caller awaits one, or leaves it early."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from ._limits import CALLS_MAX
from ._locks import Lock
from ._process import Live
from ._progress import while_waiting

T = TypeVar("T")


class Left(BaseException):
    """The caller has left the call: the exception ends it, as Ctrl-C does."""


_threads: Live[ThreadPoolExecutor] = Live(
    None, partial(ThreadPoolExecutor, CALLS_MAX, thread_name_prefix="farroot")
)
_lock = Lock()


class Call(Future[T]):
    """A call in another thread, which ends early if it is left."""

    def __init__(self, function: Callable[[], T]) -> None:
        super().__init__()
        self._is_left = threading.Event()
        with _lock:
            threads = _threads.here()
        threads.submit(copy_context().run, self._made, function)

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
