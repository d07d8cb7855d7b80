"""Functions of partitions, run by any executor: one process, several, a cluster."""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from ._limits import PAUSE_MAX
from ._numbers import whole
from ._ours import by_caller, function_of
from ._parts import is_report
from ._uproot import taken
from .errors import Error, InvalidArgumentError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .scaleout import Partition

R = TypeVar("R")


@dataclass(frozen=True)
class Failed:
    """A partition of which :func:`map` has no result.

    Example:
        >>> def unlucky(part):
        ...     raise ValueError("a mistake of this function")
        >>> parts = farroot.partitions("events.root:Events", ["MET_pt"])
        >>> results, failed = farroot.map(unlucky, parts, on_error="report")
        >>> failed[0].as_dict()["message"]
        'a mistake of this function'
    """

    partition: Partition
    error: Exception
    #: How often it was tried.
    tries: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the error as its kind and its text."""
        return {
            "partition": self.partition.as_dict(),
            "error": type(self.error).__name__,
            "message": str(self.error),
            "tries": self.tries,
        }


class HasExecutor(Protocol):
    """A ``Client`` of ``dask.distributed``."""

    def get_executor(self) -> Executor: ...


@overload
def map(  # noqa: A001
    function: Callable[[Partition], R],
    partitions: Iterable[Partition],
    executor: Executor | HasExecutor | None = ...,
    *,
    retries: int = ...,
    on_error: Literal["raise"] = ...,
) -> list[R]: ...


@overload
def map(  # noqa: A001
    function: Callable[[Partition], R],
    partitions: Iterable[Partition],
    executor: Executor | HasExecutor | None = ...,
    *,
    retries: int = ...,
    on_error: Literal["report"],
) -> tuple[list[R], list[Failed]]: ...


@taken
def map(  # noqa: A001
    function: Callable[[Partition], Any],
    partitions: Iterable[Partition],
    executor: Executor | HasExecutor | None = None,
    *,
    retries: int = 2,
    on_error: Literal["raise", "report"] = "raise",
) -> Any:
    """Calls a function for each partition, side by side where there is an executor.

    Args:
        function: Gets a :class:`Partition`, and returns its result. Other processes have to be
            able to import it.
        partitions: The partitions of :func:`farroot.partitions`, or some of them.
        executor: Any of ``concurrent.futures``, or one like them: loky's, Parsl's, that of mpi4py;
            or a ``Client`` of ``dask.distributed``. None calls the function here.
        retries: How often a partition is tried again, as a whole, after an error that may pass:
            those of connections and servers, never those of the function or of a changed file.
            Where the error says ``retry_after``, so many seconds pass in between, 60 at the most,
            in which other partitions are read.
        on_error: ``"report"`` goes on after errors.

    Returns:
        The results in the order of the partitions; with ``on_error="report"`` a pair: the results
        that there are, and a list of :class:`Failed`.

    Raises:
        Exception: the first that the function has raised, unless ``on_error="report"``; partitions
            that are not under way yet are then cancelled.

    Example:
        >>> def total(part):
        ...     return float(part.arrays(library="np")["MET_pt"].sum())
        >>> parts = farroot.partitions(["events.root:Events", "more.root:Events"], ["MET_pt"])
        >>> with farroot.ThreadPoolExecutor(2) as threads:
        ...     farroot.map(total, parts, threads)
        [165.0, 65.0]
    """
    function_of(function, "what is mapped")
    retries = whole(retries, "retries")
    if retries < 0:
        raise InvalidArgumentError(f"retries is a number of tries, not {retries!r}")
    goes_on = is_report(on_error)
    every = list(partitions)
    calls = _Calls(function, every, retries, goes_on)
    if executor is None:
        calls.here()
    else:
        calls.by(executor if isinstance(executor, Executor) else _executor_of(executor))
    results = [calls.results[number] for number in sorted(calls.results)]
    if not goes_on:
        return results
    return results, [calls.failed[number] for number in sorted(calls.failed)]


def _executor_of(executor: Any) -> Any:
    """The executor of a client of Dask; an object with ``submit`` is one itself."""
    return executor.get_executor() if hasattr(executor, "get_executor") else executor


@dataclass(frozen=True)
class _Try:
    """One try of a partition. It is equal to no other one: Dask and Parsl may take equal calls for
    one, and would hand out the error of an earlier try."""

    function: Callable[[Partition], Any]
    #: The call of :func:`map`, the partition and the try.
    name: str
    partition: int
    tried: int

    @property
    def __name__(self) -> str:
        """Dask's dashboard shows it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, partition: Partition) -> Any:
        return self.function(partition)


class _Calls:
    """The calls that are done, and those still to be made."""

    def __init__(
        self,
        function: Callable[[Partition], Any],
        partitions: list[Partition],
        retries: int,
        goes_on: bool,
    ) -> None:
        self.results: dict[int, Any] = {}
        self.failed: dict[int, Failed] = {}
        self._function = function
        #: Of this call of :func:`map`, among all.
        self._name = uuid.uuid4().hex
        self._partitions = partitions
        self._retries = retries
        self._goes_on = goes_on
        self._tries = dict.fromkeys(range(len(partitions)), 0)
        #: The pending calls, as a heap: the earliest time of each on the monotonic clock, and its
        #: number.
        self._due = [(0.0, number) for number in self._tries]

    def here(self) -> None:
        """Calls one after the other."""
        while self._due:
            if left := self._left():
                time.sleep(left)
            _, number = heapq.heappop(self._due)
            try:
                self.results[number] = self._function(self._partitions[number])
            except Exception as error:
                self._note(number, error)

    def by(self, executor: Executor) -> None:
        """Has an executor call them side by side."""
        running: dict[Future[Any], int] = {}
        try:
            while self._due or running:
                while self._due and not self._left():
                    _, number = heapq.heappop(self._due)
                    call = _Try(self._function, self._name, number, self._tries[number])
                    running[executor.submit(call, self._partitions[number])] = number
                if not running:
                    time.sleep(self._left())
                    continue
                left = self._left() if self._due else None
                done, _ = wait(running, left, return_when=FIRST_COMPLETED)
                for future in done:
                    number = running.pop(future)
                    error = future.exception()
                    if error is None:
                        self.results[number] = future.result()
                    elif not isinstance(error, Exception) or isinstance(error, BrokenExecutor):
                        # No other call can succeed.
                        with by_caller():
                            raise error
                    else:
                        self._note(number, error)
        finally:
            for future in running:
                future.cancel()

    def _left(self) -> float:
        """Seconds until the next call is due."""
        when, _ = self._due[0]
        return max(when - time.monotonic(), 0.0) if when else 0.0

    def _note(self, number: int, error: Exception) -> None:
        """Has a partition tried again; raises the error where nothing else is to be done."""
        self._tries[number] += 1
        if self._tries[number] <= self._retries and _may_pass(error):
            # With a cache, a process remembers an unreachable server: an earlier try would fail.
            pause = error.retry_after if isinstance(error, Error) else None
            when = time.monotonic() + min(pause, PAUSE_MAX) if pause else 0.0
            heapq.heappush(self._due, (when, number))
        elif self._goes_on:
            self.failed[number] = Failed(self._partitions[number], error, self._tries[number])
        else:
            with by_caller():
                raise error


def _may_pass(error: Exception) -> bool:
    """Whether the same call may succeed later."""
    if isinstance(error, Error):
        return error.retryable
    return isinstance(error, (ConnectionError, TimeoutError))
