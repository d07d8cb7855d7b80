"""Reads that are awaited in programs of asyncio, and opens of many files at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, as_completed
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from ._addresses import Address
from ._awaited import Call, Left, awaited
from ._uproot import public, taken
from .dataset import Files, concatenate
from .errors import InvalidArgumentError
from .file import open as opened

if TYPE_CHECKING:
    from ._types import ConcatenateOptions, Credentials

T = TypeVar("T")


@taken
async def aopen(
    path: Address | Mapping[Any, str | None], **credentials: Unpack[Credentials]
) -> Any:
    """As :func:`farroot.open`, to be awaited: other tasks of the event loop run meanwhile.

    Of the result, ``await tree.aarrays(...)`` reads columns, ``await branch.aarray()`` one, and
    ``async for batch in tree.iterate(...)`` reads in steps. Cancelling a task, also by
    ``asyncio.timeout``, ends its read.

    Args:
        path: See :func:`farroot.open`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Raises:
        NotFoundError: no such file.
        KeyInFileError: nothing of that name in the file.

    Example:
        >>> import asyncio
        >>> async def read():
        ...     tree = await farroot.aopen("events.root:Events")
        ...     async for batch in tree.iterate("MET_pt", step_size=3):
        ...         print(batch.MET_pt.tolist())
        >>> asyncio.run(read())
        [10.0, 55.0, 20.0]
        [80.0]
    """
    return await awaited(partial(opened, path, **credentials))


@taken
async def aconcatenate(
    files: Files,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    **options: Unpack[ConcatenateOptions],
) -> Any:
    """As :func:`farroot.concatenate`, to be awaited.

    Args:
        files, expressions, cut, options: See :func:`farroot.concatenate`. A function that is given
            as ``progress`` is called in another thread.

    Example:
        >>> import asyncio
        >>> files = ["events.root:Events", "more.root:Events"]
        >>> asyncio.run(farroot.aconcatenate(files, "MET_pt", library="np"))["MET_pt"]
        array([10., 55., 20., 80., 10., 55.])
    """
    return await awaited(partial(concatenate, files, expressions, cut, **options))


@public
class OpenMany(Sequence[Any]):
    """Files, or objects in files, that are being opened: :func:`farroot.open_many` returns it.

    ``opens[i]`` waits for one of them, and raises the error of its open. Iterating gives them in
    the order of their addresses, :meth:`as_opened` in the order in which they are ready. Behind a
    ``with`` block, opens that still wait are ended.

    Example:
        >>> with farroot.open_many(["events.root:Events", "more.root:Events"]) as opens:
        ...     [tree.num_entries for tree in opens]
        [4, 2]
    """

    def __init__(self, calls: Sequence[Call[Any]]) -> None:
        self._calls = calls

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, number: int) -> Any: ...

    @overload
    def __getitem__(self, number: slice) -> OpenMany: ...

    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return OpenMany(self._calls[number])
        return _result(self._calls[number])

    def __iter__(self) -> Iterator[Any]:
        return map(_result, self._calls)

    def as_opened(self) -> Iterator[tuple[int, Any]]:
        """Number and object of each, as soon as it is open; the first error is raised."""
        numbers = {id(call): number for number, call in enumerate(self._calls)}
        for call in as_completed(self._calls):
            yield numbers[id(call)], _result(call)

    def close(self) -> None:
        """Ends the opens that still wait."""
        for call in self._calls:
            call.leave()

    def __enter__(self) -> OpenMany:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        done = sum(call.done() for call in self._calls)
        return f"<OpenMany: {done} of {len(self)} open>"


def _result(call: Future[T]) -> T:
    try:
        return call.result()
    except (Left, CancelledError) as error:
        raise InvalidArgumentError("closed before it was open: open it anew") from error


@taken
def open_many(
    paths: Iterable[Address | Mapping[Any, str | None]], **credentials: Unpack[Credentials]
) -> OpenMany:
    """Opens many files, or objects in them, at the same time, and returns at once.

    A server may take seconds for an open (a disk that has to start, a tape, a queue): they pass
    together, and while the program does something else.

    Args:
        paths: Addresses, each as :func:`farroot.open` takes it. Up to 128 are opened at a time.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Returns:
        A sequence that waits for an object, and raises its error, where it is asked for.

    Example:
        >>> opens = farroot.open_many(["events.root:Events", "nowhere.root:Events"])
        >>> opens[0].num_entries
        4
        >>> opens[1]
        Traceback (most recent call last):
        farroot.errors.NotFoundError: ...
    """
    return OpenMany([Call(partial(opened, path, **credentials)) for path in paths])
