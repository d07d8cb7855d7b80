"""Many files read as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast

from . import _core, _libraries
from ._addresses import Address
from ._credentials import Access
from ._entries import entry_range, step_of
from ._kinds import as_table
from ._limits import GAP_SIZE, STEP_SIZE
from ._parts import Account, Lacking, begin, is_report, made, taken_from, there
from ._places import Place, beside, chained, places_of
from ._progress import Progress, Telling, Wanted, is_wanted, waited
from ._reading import ReadRequest, Selection
from ._selection import Chosen, ColumnQuery
from ._steps import Report, Skipped, Steps
from ._uproot import taken
from .errors import Error, InvalidArgumentError, NotFoundError, UnsupportedError
from .ntuple import Field, RNTuple
from .tree import Branch, Tree

if TYPE_CHECKING:
    from ._protocols import Table
    from ._types import ConcatenateOptions, Credentials, FilesOptions, IterateOptions

__all__ = ["Report", "Skipped", "Steps", "chain", "concatenate", "iterate", "num_entries"]

#: One file or several: addresses (which may be globs), a dict of addresses and paths in them,
#: open trees and RNTuples, or an iterable of these.
Files = Address | Tree | RNTuple | Mapping[Any, str | None] | Iterable["Files"]
#: A function of a branch or, where it is an RNTuple that is read, of a field.
FilterColumn = Callable[[Branch], bool] | Callable[[Field], bool] | None


@taken
def chain(
    files: Files,
    **credentials: Unpack[Credentials],
) -> Tree | RNTuple:
    """Trees or RNTuples of many files as one (``TChain``): the first one decides the columns.

    They are opened side by side to be counted. The result is read as one tree is, by entries of
    all files together; no step of an iteration reaches over the end of a file. As of a
    ``TChain``, an alias is that of the first file, and ``Entries$`` in one counts the entries of
    all files.

    Args:
        files: See :func:`iterate`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: See :func:`iterate`.

    Example:
        >>> events = farroot.chain(["events.root:Events", "more.root:Events"])
        >>> events.num_entries
        6
        >>> events["event"].array()
        <Array [0, 1, 2, 3, 0, 1] type='6 * int64'>
    """
    return cast("Tree | RNTuple", chained(files, Access(**credentials)))


@taken
def iterate(
    files: Files,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    **options: Unpack[IterateOptions],
) -> Steps:
    """Reads columns of many files, step by step; no step reaches over the end of a file.

    The next files are opened, and the next steps are fetched and decoded, while the caller works
    on a step. The first file decides which columns these are: names that only others have are not
    looked for. An alias in the files (``TTree::SetAlias``) is in each what that file defines, and
    ``Entries$`` in one counts the entries of that file; formulas are computed with its types.

    Args:
        files: ``"FILE:TREE"`` or a list of these, a dict ``{FILE: TREE}``, open trees. Without a
            tree, it is the only one in the file. Files on a disk, on XRootD servers and in S3 may
            be globs: ``*``, ``**``, ``?`` (not on a server), ``[]``, ``{a,b}``. All of it goes for
            RNTuples as well, whose fields ``filter_branch`` gets; ``filter_field`` is the same.
        report: Whether to give pairs of arrays and :class:`Report`.
        on_error: ``"report"`` goes on behind damaged data. Exactly those steps are left out that
            hold them, or the rest of a file whose server is gone; each with a
            :class:`SkippedWarning`, and as :class:`Skipped` in the iterator's ``skipped``.
        allow_missing: Whether files that are not there, and files without the tree or one of the
            branches that are named, are left out without a warning; ``skipped`` has them. Where
            none are named, each file has its own, as in uproot: records of several kinds.
        friends: Files of friends by name, each as ``files`` and as many: the first belongs to the
            first of these, and so on. Their columns are ``friend.branch`` (see
            :meth:`Tree.add_friend`).
        progress: As for :meth:`Tree.arrays`; entries in all are known where all files are open.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for all files that are not open.

    The other arguments are those of :meth:`Tree.iterate`.

    Raises:
        NotFoundError: no such file; raised by the first step.
        KeyInFileError: no such tree or branch in one of them; raised by the first step.

    Example:
        >>> files = ["events.root:Events", "more.root:Events"]
        >>> for arrays, report in farroot.iterate(files, ["MET_pt"], step_size=3, report=True):
        ...     print(report.file_path, report.start, report.stop, arrays.MET_pt.tolist())
        events.root 0 3 [10.0, 55.0, 20.0]
        events.root 3 4 [80.0]
        more.root 4 6 [10.0, 55.0]
    """
    wish, skipped = _wish(expressions, cut, options)
    size = step_of(options.get("step_size", STEP_SIZE))
    try:
        places = _places(files, options)
    except NotFoundError as error:
        # The first step raises it, as for an absent file named without a pattern.
        return Steps(iter(partial(_raise, error), None), skipped)
    telling = _telling(places, options.get("progress"))
    report = options.get("report", False)
    return Steps(_steps(places, wish, size, report, skipped, telling=telling), skipped)


def _wish(
    expressions: str | Iterable[str] | None, cut: str | None, options: FilesOptions
) -> tuple[ReadRequest, Lacking]:
    """The request of a call to each file, and the files that it may leave out."""
    query = replace(ColumnQuery.of(expressions, cut, options), of_many=True)
    into = _libraries.named(options.get("library", "ak"))
    wish = ReadRequest(query, into, options.get("how"), options.get("ak_add_doc", False))
    unreadable = is_report(options.get("on_error", "raise"))
    return wish, Lacking(unreadable, bool(options.get("allow_missing")))


def _places(files: Files, options: FilesOptions) -> list[Place]:
    """Where a call reads, each file with its friends."""
    access = Access.among(options)
    return beside(places_of(files, access), options.get("friends"), access)


def _raise(error: Error) -> NoReturn:
    raise error


def _steps(
    places: list[Place],
    wish: ReadRequest,
    step: _core.StepSize,
    report: bool = False,
    skipped: Lacking | None = None,
    *,
    offset: int = 0,
    telling: Telling | None = None,
    are_joined: bool = False,
) -> Iterator[Any]:
    skipped = Lacking(unreadable=False) if skipped is None else skipped
    account = Account(places, skipped, offset)
    if skipped.missing and wish.choice.expressions is None:
        yield from _each_by_itself(account, wish, step, report, telling, are_joined)
        return
    if (begun := waited(telling, lambda: _first(account, wish))) is None:
        return
    first, table, selection = begun
    if not selection.chosen:
        return
    # Its friends are among its columns.
    opened = [replace(places[first], table=table, friends=()), *places[first + 1 :]]
    parts = begin(opened, selection, step, goes_on=skipped.any, are_joined=are_joined)
    yield from made(parts, account, first, selection, report, telling)


def _each_by_itself(
    account: Account,
    wish: ReadRequest,
    step: _core.StepSize,
    report: bool,
    telling: Telling | None,
    are_joined: bool,
) -> Iterator[Any]:
    """The steps of files that need not have the same columns: each has its own."""
    seen: dict[str, tuple[str | None, str]] = {}
    try:
        for number, place in enumerate(account.places):
            try:
                table = place.opened()
                selection = wish.of(table)
            except InvalidArgumentError:
                raise
            except Error as error:
                account.leave_out(number, place.path, None, error)
                continue
            if are_joined:
                _check_types(selection, seen)
            if selection.chosen:
                here = [replace(place, table=table, friends=())]
                parts = begin(here, selection, step, goes_on=True)
                yield from taken_from(parts, account, number, selection, report, telling)
    finally:
        if telling is not None:
            telling.close()


def _check_types(selection: Selection, seen: dict[str, tuple[str | None, str]]) -> None:
    """Refuses columns of other types than in the files before: their numbers might be rounded."""
    for each in selection.chosen:
        if isinstance(each, Chosen) and each.parts is None:
            shape, url = seen.setdefault(each.name, (each.leaf.shape, selection.table.url))
            if shape != each.leaf.shape:
                raise UnsupportedError(
                    f"the column {each.name!r} is {each.leaf.shape} here and {shape} in {url}; in "
                    f"{selection.table.url}; name the columns to read them as one type"
                )


def _telling(places: list[Place], progress: Wanted) -> Telling | None:
    """Reports the progress of reading these places, where that is wanted."""
    if not is_wanted(progress):
        return None
    counts = [None if place.table is None else place.count for place in places]
    known = [count for count in counts if count is not None]
    total = sum(known) if len(known) == len(counts) else None
    return Telling(progress, Progress(entries_total=total, files_total=len(places)))


def _first(account: Account, wish: ReadRequest) -> tuple[int, Table, Selection] | None:
    """The first table that can be opened and has the columns, which are decided by it."""
    for number, place in enumerate(account.places):
        try:
            table = place.opened()
            return number, table, wish.of(table)
        except InvalidArgumentError:
            raise
        except Error as error:
            if not account.skipped.any:
                raise
            account.leave_out(number, place.path, None, error)
    return None


@taken
def concatenate(
    files: Files,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    **options: Unpack[ConcatenateOptions],
) -> Any:
    """Reads columns of many files into one array each.

    Args:
        files: See :func:`iterate`.
        entry_start, entry_stop: Half-open range of entries of all files together; negative
            numbers count from the end of the last.
        on_error: ``"report"`` goes on behind damaged data, and gives a pair: the arrays, and a
            list of :class:`Skipped`. Left out are runs of entries that take about 10 MB decoded,
            or the rest of a file whose server is gone, each with a :class:`SkippedWarning`. It is
            for all entries of the files: those of a missing one cannot be counted.
        friends, progress: See :func:`iterate`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: See :func:`iterate`.

    The other arguments are those of :meth:`Tree.arrays`, the errors those of :func:`iterate`.

    Example:
        >>> files = ["events.root:Events", "more.root:Events"]
        >>> farroot.concatenate(files, "MET_pt", library="np")["MET_pt"]
        array([10., 55., 20., 80., 10., 55.])
    """
    wish, skipped = _wish(expressions, cut, options)
    places, progress = _places(files, options), options.get("progress")
    entries = options.get("entry_start"), options.get("entry_stop")
    if skipped.unreadable:
        if entries != (None, None):
            raise InvalidArgumentError('on_error="report" takes no entry_start and entry_stop')
        return _all_of(places, wish, skipped, progress), skipped
    if entries == (None, None):
        return _all_of(places, wish, skipped, progress)
    grouped = _ranged(places, wish, skipped, entries, progress)
    return _joined(grouped, places, wish, skipped)


def _all_of(places: list[Place], wish: ReadRequest, skipped: Lacking, progress: Wanted) -> Any:
    """The readable entries of all files."""
    size = _core.StepSize(GAP_SIZE) if skipped.unreadable else _core.StepSize.whole()
    telling = _telling(places, progress)
    steps = _steps(places, wish, size, False, skipped, telling=telling, are_joined=True)
    return _joined(list(steps), places, wish, skipped)


def _joined(grouped: list[Any], places: list[Place], wish: ReadRequest, skipped: Lacking) -> Any:
    """Arrays of several files as one; where there are none, without entries."""
    if grouped:
        return _libraries.concatenate(wish.into, grouped)
    for place in places:
        try:
            return wish.of_one().read(place.opened(), 0, 0)
        except Error as error:
            if not skipped.allows(Skipped(place.file_path, place.path, None, None, error)):
                raise
    raise skipped[0].error


def _ranged(
    places: list[Place],
    wish: ReadRequest,
    skipped: Lacking,
    entries: tuple[float | None, float | None],
    progress: Wanted,
) -> list[Any]:
    """The columns of those files that a range of all entries touches, one table a file."""
    if skipped.missing:
        places = there(places, skipped)
    tables = list(_opened(places))
    start, stop = entry_range(sum(table.num_entries for table in tables), *entries)
    touched: list[Place] = []
    offset, before = 0, 0
    for place, table in zip(places, tables, strict=True):
        begin = min(max(start - offset, 0), table.num_entries)
        end = min(max(stop - offset, 0), table.num_entries)
        if begin < end:
            before = before if touched else offset
            touched.append(replace(place, table=table, entries=(begin, end)))
        offset += table.num_entries
    telling = _telling(touched, progress)
    size = _core.StepSize.whole()
    return list(_steps(touched, wish, size, offset=before, telling=telling, are_joined=True))


@taken
def num_entries(paths: Files, **credentials: Unpack[Credentials]) -> Iterator[tuple[str, str, int]]:
    """File, path of the tree in it and number of entries, for each of many files.

    The files are opened side by side, and closed when their numbers have been handed out.

    Args:
        paths: See ``files`` of :func:`iterate`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Example:
        >>> list(farroot.num_entries(["events.root:Events", "more.root:Events"]))
        [('events.root', 'Events', 4), ('more.root', 'Events', 2)]
    """
    places = places_of(paths, Access(**credentials))
    return ((table.url, table._object_path, table.num_entries) for table in _opened(places))


def _opened(places: list[Place]) -> Iterator[Table]:
    """All tables in their order, opened side by side and not kept."""
    absent = [(place.url, place.path) for place in places if place.table is None]
    opens = _core.open_tables(absent)
    for place in places:
        if place.table is not None:
            yield place.table
        elif (core := opens.next()) is not None:
            yield as_table(core, place.url, place.path)
