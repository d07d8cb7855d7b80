"""Executors under uproot's names, for :func:`farroot.map`: farroot decodes on its own threads."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

from ._uproot import public

P = ParamSpec("P")
R = TypeVar("R")


@public
class ThreadPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """Python's own ``concurrent.futures.ThreadPoolExecutor``, with uproot's attributes.

    Args:
        max_workers: Threads; as many as there are processors where None.

    Example:
        >>> with farroot.ThreadPoolExecutor(2) as threads:
        ...     threads.submit(sum, [1, 2]).result()
        3
    """

    def __init__(self, max_workers: int | None = None) -> None:
        self.max_workers = max_workers or os.cpu_count() or 1
        super().__init__(self.max_workers)

    @property
    def num_workers(self) -> int:
        """As ``max_workers``."""
        return self.max_workers


@public
class TrivialExecutor(concurrent.futures.Executor):
    """Calls each function at once, in the thread that submits it.

    Example:
        >>> farroot.TrivialExecutor().submit(sum, [1, 2]).result()
        3
    """

    def submit(self, task: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Calls the function; the future that it returns is done."""
        future: Future[R] = Future()
        try:
            future.set_result(task(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
