"""Several files as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, Unpack

from . import _core
from ._credentials import Access
from ._entries import memory
from ._limits import BASKET_MAX, BASKET_MIN
from ._progress import Progress, Telling, Wanted, is_wanted, while_waiting
from ._uproot import taken
from .compression import number_and_level
from .errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from ._types import Credentials

T = TypeVar("T")

#: Compressions of baskets as they are.
_AS_IT_IS = object()


@dataclass(frozen=True)
class Merged:
    """A file that others have been merged into.

    Attributes:
        target: Its address.
        size: Its bytes.
        num_sources: How many files it was made of.
        tables: Entries of each tree by its path.
        histograms: How many histograms were added up.
        objects: How many other objects there are.
        records: Baskets and pages that were copied as they were stored.
        copied_bytes: Their bytes.
        notes: The differences between the sources.
        seconds: From the call to the end.

    Example:
        >>> merged = farroot.merge(["events.root", "more.root"], "all.root", overwrite=True)
        >>> merged.num_sources, merged.objects, merged.notes[0]
        (2, 1, 'pt is in 1 of 2 inputs only')
    """

    target: str
    size: int
    num_sources: int
    tables: dict[str, int]
    histograms: int
    objects: int
    records: int
    copied_bytes: int
    notes: list[str]
    seconds: float


@dataclass(frozen=True)
class _Choice:
    """How to merge, as the engine takes it."""

    overwrite: bool
    append: bool
    only: list[str]
    without: list[str]
    missing: str
    tables: bool
    skip_bad: bool
    reproducible: bool
    #: ROOT's number, and the library's level where that is another.
    recompress: tuple[int, int | None] | None
    basket_bytes: int | None


@taken
def merge(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    append: bool = False,
    only: str | Iterable[str] = (),
    without: str | Iterable[str] = (),
    missing: str = "strict",
    trees: bool = True,
    skip_bad: bool = False,
    reproducible: bool = False,
    recompress: object = _AS_IT_IS,
    basket_size: str | int | None = None,
    progress: Wanted = None,
    **credentials: Unpack[Credentials],
) -> Merged:
    """Merges files, as ``hadd`` does, without decoding their content.

    Baskets of trees are copied as they are stored, in the order of the sources; histograms
    are added up; of other objects the first one is kept. The tables of all sources are checked
    before anything is copied. Under the target's name there is nothing, or the earlier file, until
    it is complete.

    Args:
        sources: One or several addresses, which may be globs as for :func:`farroot.iterate`.
        target: A path or an address; the last argument, as of :func:`farroot.copy`.
        overwrite: Whether to replace a file that is there.
        append: Whether the sources are added to a file that is there. It grows in place where
            possible, and has its old content until the merge is complete.
        only: Paths of the objects and tables to merge, or of directories with all within them;
            globs, too. Without one, all are merged. With ``append``, the target keeps its own.
        without: Those to leave out.
        missing: Branches that not all sources have are an error (``"strict"``), left out where the
            first source lacks them (``"filter"``), or filled with zeros, empty texts and empty
            lists where a source lacks them (``"union"``).
        trees: Whether to merge trees and RNTuples, too.
        skip_bad: Whether to leave out sources that are not there or cannot be read; the notes of
            its values name them.
        reproducible: Whether the same sources are to give the same bytes, without the time.
        recompress: A compression, as for :func:`farroot.recreate`, in which baskets and pages are
            compressed anew; None is none. They stay as they are if it is not given.
        basket_size: Bytes before compression, as a number or ``"256 KB"``, from 1 KB to 16 MB.
            Smaller baskets of a branch are joined up to so many.
        progress: As for :meth:`Tree.arrays`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for the sources and for a target on a server.

    Raises:
        UnsupportedError: a source's tree or histogram does not fit the first one; the error names
            both the file and the branch.
        InvalidArgumentError: the target is there already, or is one of the sources.
        KeyInFileError: no source has an object of ``only``.

    Example:
        >>> merged = farroot.merge(["events.root", "more.root"], "all.root", overwrite=True)
        >>> merged.tables, merged.histograms
        ({'Events': 6}, 2)
    """
    if missing not in ("strict", "filter", "union"):
        raise InvalidArgumentError(f'missing={missing!r}: it is "strict", "filter" or "union"')
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    access = Access(**credentials)
    names = [access.added_to(os.fspath(each)) for each in several]
    where = access.added_to(os.fspath(target))
    now = _core.Merging()
    anew = None if recompress is _AS_IT_IS else number_and_level(recompress)
    bytes_ = None if basket_size is None else memory(basket_size)
    if bytes_ is not None and not BASKET_MIN <= bytes_ <= BASKET_MAX:
        raise InvalidArgumentError(f"basket_size={basket_size!r}: it is from 1 KB to 16 MB")
    choice = _Choice(
        *(overwrite, append, _texts(only, "only"), _texts(without, "without"), missing, trees),
        *(skip_bad, reproducible, anew, bytes_),
    )

    def merged() -> Merged:
        done = _core.merge(where, names, choice, now)
        address, size, count, entries, *rest = done
        return Merged(address, size, count, dict(entries), *rest)

    return told(progress, now, merged)


def _texts(said: str | Iterable[str], name: str) -> list[str]:
    several = [said] if isinstance(said, str) else list(said)
    for each in several:
        if not isinstance(each, str):
            raise ArgumentTypeError(f"{name} has paths of objects, not {each!r}")
    return several


def told(progress: Wanted, now: _core.Merging, call: Callable[[], T]) -> T:
    """The result of ``call``; reports its progress meanwhile, if ``progress`` wants that."""
    if not is_wanted(progress):
        return call()
    telling = Telling(progress, Progress())
    try:
        with while_waiting(lambda: telling.tell(**_so_far(now))):
            result = call()
        telling.tell(**_so_far(now))
    finally:
        telling.close()
    return result


def _so_far(merging: _core.Merging) -> dict[str, int | None]:
    """How far it is; the bytes in all are known when all inputs have been read."""
    read, inputs, copied, total = merging.now()
    return {
        "bytes": copied,
        "bytes_total": total if inputs and read == inputs else None,
        "files": read,
        "files_total": inputs or None,
    }
