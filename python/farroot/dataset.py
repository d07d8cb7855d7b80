"""Many files read as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _libraries
from ._entries import EntrySelection, StepSize, entry_range, step
from ._filters import Filter
from ._libraries import How
from ._progress import Progress, Telling, Wanted, is_wanted, waited
from ._selection import ColumnQuery, Doc, ReadRequest, Selection
from ._uproot import taken
from .errors import (
    ArgumentTypeError,
    Error,
    InvalidArgumentError,
    KeyInFileError,
    NotFoundError,
    SkippedWarning,
    warn,
)
from .file import Address, as_table, path_text, split
from .ntuple import Field, RNTuple
from .tree import Branch, Tree

if TYPE_CHECKING:
    from ._types import LibraryName

#: One file or several: addresses (which may be globs), a dict of addresses and paths in them,
#: open trees and RNTuples, or an iterable of these.
Files = Address | Tree | RNTuple | Mapping[Any, str | None] | Iterable["Files"]
#: Decoded bytes that :func:`concatenate` leaves out where a part of them cannot be read.
GAP_SIZE = "10 MB"
#: A function of a branch or, where it is an RNTuple that is read, of a field.
FilterColumn = Callable[[Branch], bool] | Callable[[Field], bool] | None


@dataclass(frozen=True)
class Report:
    """Which entries a step of an iteration holds.

    ``tree_entry_*`` count from the beginning of the file's tree, ``global_entry_*`` from the
    beginning of the first file's. All ranges are half open.
    """

    file_path: str
    object_path: str | None
    tree_entry_start: int
    tree_entry_stop: int
    global_offset: int = 0

    @property
    def global_entry_start(self) -> int:
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        return self.tree_entry_stop + self.global_offset

    #: As uproot calls them too.
    start = global_entry_start
    stop = global_entry_stop


@dataclass(frozen=True)
class Skipped:
    """Entries that ``iterate(..., on_error="report")`` has left out.

    The range is half open and counts from the beginning of the file's tree; it is None where the
    file could not even be opened, which leaves out all of it.
    """

    file_path: str
    object_path: str | None
    tree_entry_start: int | None
    tree_entry_stop: int | None
    error: Error

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the error as its kind and its text."""
        return {
            "file_path": self.file_path,
            "object_path": self.object_path,
            "tree_entry_start": self.tree_entry_start,
            "tree_entry_stop": self.tree_entry_stop,
            "error": type(self.error).__name__,
            "message": str(self.error),
        }


class Steps(Iterator[Any]):
    """What ``iterate`` gives, and what it has left out so far.

    ``len(steps)`` is their number in all, those taken included, where it is known beforehand: of
    one tree or RNTuple, and of a chain in steps of entries.

    Attributes:
        skipped: In order; always empty unless ``on_error="report"`` or ``allow_missing=True``.
    """

    def __init__(
        self, steps: Iterator[Any], skipped: list[Skipped], total: int | None = None
    ) -> None:
        self._steps = steps
        self._total = total
        self.skipped = skipped

    def __len__(self) -> int:
        if self._total is None:
            # A TypeError, as of whatever has no length: list() and its like go on without it.
            raise ArgumentTypeError(
                "how many steps there are shows only while they are read; "
                "len() knows it of one tree, and of farroot.chain() in steps of entries"
            )
        return self._total

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> Any:
        return next(self._steps)

    def close(self) -> None:
        """Ends the reading."""
        self._steps = iter(())


class Lacking(list[Skipped]):
    """What has been left out so far, and what may be."""

    def __init__(self, unreadable: bool, missing: bool = False) -> None:
        super().__init__()
        #: Whether reading goes on behind whatever cannot be read.
        self.unreadable = unreadable
        #: Whether files may lack the tree or one of its branches, or not be there.
        self.missing = missing

    @property
    def any(self) -> bool:
        """Whether anything may be left out."""
        return self.unreadable or self.missing

    def allows(self, one: Skipped) -> bool:
        """Whether that may be left out."""
        is_missing = one.tree_entry_stop is None and isinstance(
            one.error, (NotFoundError, KeyInFileError)
        )
        return self.unreadable or (self.missing and is_missing)

    def add(self, one: Skipped) -> None:
        """Leaves something out.

        Raises:
            Error: the reason, where that may not be left out.
        """
        if not self.allows(one):
            raise one.error
        self.append(one)
        if self.unreadable:
            start, stop = one.tree_entry_start, one.tree_entry_stop
            what = "all entries" if stop is None else f"entries {start} to {stop}"
            warn(f"{what} of {one.file_path} are left out: {one.error}", SkippedWarning)


class _Account:
    """Where the files begin among all entries, and what has been left out of them."""

    def __init__(self, places: list[_Place], skipped: Lacking, offset: int = 0) -> None:
        self.places = places
        self.skipped = skipped
        self.offset, self._current, self._end = offset, 0, 0

    def reach(self, number: int, stop: int) -> None:
        """Everything up to this entry of this file has been read or left out."""
        if number != self._current:
            self.offset, self._current = self.offset + self._end, number
        self._end = stop

    def leave_out(
        self, number: int, path: str | None, entries: tuple[int, int] | None, error: Error
    ) -> None:
        place = self.places[number]
        start, stop = entries or (None, None)
        self.skipped.add(Skipped(place.url, path or place.path, start, stop, error))
        if stop is not None:
            self.reach(number, stop)


@dataclass(frozen=True)
class _Place:
    """One tree or RNTuple: where it is, or the open one itself."""

    url: str
    path: str | None
    table: Tree | RNTuple | None = None
    #: Which of its entries (half open), where not all.
    entries: tuple[int, int] | None = None
    #: Others whose entries belong to its own, by name.
    friends: tuple[tuple[str, _Place], ...] = ()

    @property
    def count(self) -> int:
        """How many entries are read of it, once it is open."""
        start, stop = self.entries or (0, 0 if self.table is None else self.table.num_entries)
        return stop - start

    def opened(self) -> Tree | RNTuple:
        table = self.table
        if table is None:
            table = as_table(_core.open_table(self.url, self.path), self.url, self.path)
        return table._beside({name: place.opened() for name, place in self.friends})

    def located(self) -> _core.TableLocation:
        """What the engine is told of it."""
        added = () if self.table is None else self.table._added.items()
        with_table = {name: _Place(one._url, one.object_path, one) for name, one in added}
        friends = {**with_table, **dict(self.friends)}
        return _core.TableLocation(
            self.url,
            self.path,
            table=None if self.table is None else self.table._live(),
            entries=self.entries,
            friends=[(name, place.located()) for name, place in friends.items()],
        )


@taken
def iterate(
    files: Files,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: FilterColumn = None,
    filter_field: FilterColumn = None,
    aliases: Mapping[str, str] | None = None,
    step_size: StepSize = "100 MB",
    library: LibraryName = "ak",
    how: How = None,
    ak_add_doc: Doc = False,
    report: bool = False,
    on_error: Literal["raise", "report"] = "raise",
    allow_missing: bool = False,
    friends: Mapping[str, Files] | None = None,
    progress: Wanted = None,
) -> Steps:
    """Reads columns of many files, step by step; no step reaches over the end of a file.

    The next files are opened, and what comes next is fetched and decoded, while the caller works
    on a step. The first file decides which columns these are: names that only others have are
    not looked for.

    Args:
        files: ``"FILE:TREE"`` or a list of these, a dict ``{FILE: TREE}``, open trees. Without a
            tree, the only one in the file is meant. Files on a disk and on XRootD servers may be
            globs with ``*``, ``?`` (not on a server), ``[]`` and ``{a,b}``. All of it goes for
            RNTuples as well, whose fields ``filter_branch`` gets; ``filter_field`` is the same.
        report: Whether to give pairs of arrays and :class:`Report`.
        on_error: ``"report"`` goes on behind what cannot be read. Exactly those steps are left out
            that hold it, or the rest of a file whose server is gone; each with a
            :class:`SkippedWarning`, and as :class:`Skipped` in the iterator's ``skipped``.
        allow_missing: Whether files that are not there, and files without the tree or one of its
            branches, are left out without a warning; ``skipped`` has them.
        friends: Files of friends by name, each as ``files`` and as many: the first belongs to the
            first of these, and so on. Their columns are ``friend.branch`` (see
            :meth:`Tree.add_friend`).
        progress: As for :meth:`Tree.arrays`; entries in all are known where all files are open.

    The other arguments are those of :meth:`Tree.iterate`.

    Raises:
        NotFoundError: no such file.
        KeyInFileError: no such tree or branch in one of them.
    """
    accepts = filter_branch or filter_field
    choice = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
    wish = ReadRequest.checked(choice, library, how, ak_add_doc)
    skipped = Lacking(is_report(on_error), bool(allow_missing))
    places = _beside(_places(files), friends)
    size, telling = step(step_size), _telling(places, progress)
    return Steps(_steps(places, wish, size, report, skipped, telling=telling), skipped)


def _steps(
    places: list[_Place],
    wish: ReadRequest,
    step: dict[str, int],
    report: bool = False,
    skipped: Lacking | None = None,
    *,
    offset: int = 0,
    telling: Telling | None = None,
) -> Iterator[Any]:
    skipped = Lacking(unreadable=False) if skipped is None else skipped
    account = _Account(places, skipped, offset)
    if (begun := waited(telling, lambda: _first(account, wish))) is None:
        return
    first, table, selection = begun
    if not selection.chosen:
        return
    # Its friends are among what it has.
    opened = [replace(places[first], table=table, friends=()), *places[first + 1 :]]
    parts = _parts(opened, selection, step, goes_on=skipped.any)
    yield from _made(parts, account, first, selection, report, telling)


def _parts(
    places: list[_Place], selection: Selection, step: dict[str, int], *, goes_on: bool
) -> _core.Parts:
    return _core.parts(
        [each.located() for each in places],
        selection.requests,
        selection.decision,
        on_error_report=goes_on,
        **step,
    )


def _telling(places: list[_Place], progress: Wanted) -> Telling | None:
    """What tells how far reading these places is, where that is wanted."""
    if not is_wanted(progress):
        return None
    counts = [None if place.table is None else place.count for place in places]
    known = [count for count in counts if count is not None]
    total = sum(known) if len(known) == len(counts) else None
    return Telling(progress, Progress(entries_total=total, files_total=len(places)))


def _made(
    parts: _core.Parts,
    account: _Account,
    first: int,
    selection: Selection,
    report: bool,
    telling: Telling | None = None,
) -> Iterator[Any]:
    """Arrays of what is read, from this place on; what is left out goes to the account."""
    steps = _taken(parts, account, first, selection, report, telling)
    if telling is None:
        yield from steps
        return
    try:
        yield from steps
        telling.files_done(len(account.places))
        telling.tell()
    finally:
        telling.close()


def _taken(
    parts: _core.Parts,
    account: _Account,
    first: int,
    selection: Selection,
    report: bool,
    telling: Telling | None,
) -> Iterator[Any]:
    is_first = True
    while True:
        part = waited(telling, parts.next)
        for one in parts.skipped():
            account.leave_out(first + one.table, one.path, one.entries, one.error)
        if part is None:
            return
        number, start, stop, columns = part.table, part.start, part.stop, part.columns
        if is_first:
            selection.warn_of(columns)
        is_first = False
        account.reach(first + number, stop)
        offset = account.offset
        made = [selection.assemble(columns, EntrySelection(start, stop, part.survivors, offset))]
        del part, columns
        if telling is not None:
            telling.files_done(first + number)
            telling.step(stop - start)
        # Popped, so that it is the caller's alone: their `del` gives the memory back.
        if report:
            place = account.places[first + number]
            yield made.pop(), Report(place.url, place.path, start, stop, offset)
        else:
            yield made.pop()


def is_report(on_error: str) -> bool:
    """Whether reading goes on behind what cannot be read.

    Raises:
        InvalidArgumentError: for anything but the two words.
    """
    if on_error not in ("raise", "report"):
        raise InvalidArgumentError(f'on_error is "raise" or "report", not {on_error!r}')
    return on_error == "report"


def steps_with_gaps(
    table: Tree | RNTuple,
    selection: Selection,
    entries: tuple[int, int],
    step: dict[str, int],
    report: bool,
    progress: Wanted = None,
) -> Steps:
    """Steps through one table that go on behind what cannot be read."""
    places = [_Place(table._url, table.object_path, table, entries)]
    account = _Account(places, Lacking(unreadable=True))
    if not selection.chosen:
        return Steps(iter(()), account.skipped)
    parts = _parts(account.places, selection, step, goes_on=True)
    telling = selection.telling(progress, *entries, None)
    return Steps(_made(parts, account, 0, selection, report, telling), account.skipped)


def _first(account: _Account, wish: ReadRequest) -> tuple[int, Tree | RNTuple, Selection] | None:
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
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: FilterColumn = None,
    filter_field: FilterColumn = None,
    aliases: Mapping[str, str] | None = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    library: LibraryName = "ak",
    how: How = None,
    ak_add_doc: Doc = False,
    on_error: Literal["raise", "report"] = "raise",
    allow_missing: bool = False,
    friends: Mapping[str, Files] | None = None,
    progress: Wanted = None,
) -> Any:
    """Reads columns of many files into one array each.

    Args:
        files: See :func:`iterate`.
        entry_start, entry_stop: Half-open range of entries of all files together; negative
            numbers count from the end of the last.
        on_error: ``"report"`` goes on behind what cannot be read, and gives a pair: the arrays, and
            a list of :class:`Skipped`. Left out are runs of entries that take about 10 MB decoded,
            or the rest of a file whose server is gone, each with a :class:`SkippedWarning`. It is
            for all entries of the files: those of a missing one cannot be counted.
        friends, progress: See :func:`iterate`.

    The other arguments are those of :meth:`Tree.arrays`, the errors those of :func:`iterate`.
    """
    accepts = filter_branch or filter_field
    choice = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
    wish = ReadRequest.checked(choice, library, how, ak_add_doc)
    skipped = Lacking(is_report(on_error), bool(allow_missing))
    places = _beside(_places(files), friends)
    if skipped.unreadable:
        if (entry_start, entry_stop) != (None, None):
            raise InvalidArgumentError('on_error="report" takes no entry_start and entry_stop')
        return _all_of(places, wish, skipped, progress), skipped
    if entry_start is None and entry_stop is None:
        return _all_of(places, wish, skipped, progress)
    grouped = _ranged(places, wish, skipped, (entry_start, entry_stop), progress)
    return _joined(grouped, places, wish, skipped)


def _all_of(places: list[_Place], wish: ReadRequest, skipped: Lacking, progress: Wanted) -> Any:
    """What can be read of all files."""
    size = step(GAP_SIZE) if skipped.unreadable else {}
    steps = _steps(places, wish, size, False, skipped, telling=_telling(places, progress))
    return _joined(list(steps), places, wish, skipped)


def _joined(grouped: list[Any], places: list[_Place], wish: ReadRequest, skipped: Lacking) -> Any:
    """Arrays of several files as one; where there are none, without entries."""
    if grouped:
        return _libraries.concatenate(wish.into, grouped)
    for place in places:
        try:
            return wish.read(place.opened(), 0, 0)
        except Error as error:
            if not skipped.allows(Skipped(place.url, place.path, None, None, error)):
                raise
    raise skipped[0].error


def _ranged(
    places: list[_Place],
    wish: ReadRequest,
    skipped: Lacking,
    entries: tuple[int | None, int | None],
    progress: Wanted,
) -> list[Any]:
    """The columns of those files that a range of all entries touches, one table a file."""
    if skipped.missing:
        places = _there(places, skipped)
    tables = list(_opened(places))
    start, stop = entry_range(sum(table.num_entries for table in tables), *entries)
    touched: list[_Place] = []
    offset, before = 0, 0
    for place, table in zip(places, tables, strict=True):
        begin = min(max(start - offset, 0), table.num_entries)
        end = min(max(stop - offset, 0), table.num_entries)
        if begin < end:
            before = before if touched else offset
            touched.append(replace(place, table=table, entries=(begin, end)))
        offset += table.num_entries
    telling = _telling(touched, progress)
    return list(_steps(touched, wish, {}, offset=before, telling=telling))


def _there(places: list[_Place], skipped: Lacking) -> list[_Place]:
    """Those places whose files have what is read, each open."""
    found = []
    for place in places:
        try:
            table = place.opened()
        except (NotFoundError, KeyInFileError) as error:
            skipped.add(Skipped(place.url, place.path, None, None, error))
        else:
            found.append(replace(place, table=table, friends=()))
    return found


@taken
def num_entries(paths: Files) -> Iterator[tuple[str, str, int]]:
    """File, path of the tree in it and number of entries, for each of many files.

    The files are opened side by side, and closed when their entries have been told.

    Args:
        paths: See ``files`` of :func:`iterate`.
    """
    places = _places(paths)
    return ((table.url, table.object_path, table.num_entries) for table in _opened(places))


def _opened(places: list[_Place]) -> Iterator[Tree | RNTuple]:
    """All tables in their order, opened side by side and not kept."""
    absent = [(place.url, place.path) for place in places if place.table is None]
    opens = _core.open_tables(absent)
    for place in places:
        if place.table is not None:
            yield place.table
        elif (core := opens.next()) is not None:
            yield as_table(core, place.url, place.path)


@taken
def chain(files: Files) -> Tree | RNTuple:
    """Trees or RNTuples of many files as one (``TChain``): the first says what columns there are.

    They are opened side by side to be counted. What it gives is read as one tree is, by entries of
    all files together; no step of an iteration reaches over the end of a file.

    Args:
        files: See :func:`iterate`.
    """
    places = _places(files)
    located = [place.located() for place in places]
    core = _core.chain(located)
    parts = core.chain_files() or []
    url, path = places[0].url, core.path or parts[0].path
    again = partial(_core.chain, [_core.TableLocation(one.url, one.path) for one in parts])
    return Tree(core, url, path, again) if core.is_tree else RNTuple(core, url, path, again)


def _beside(places: list[_Place], friends: Mapping[str, Files] | None) -> list[_Place]:
    """Places with the friends that belong to each."""
    for name, files in (friends or {}).items():
        others = _places(files)
        if len(others) != len(places):
            raise InvalidArgumentError(
                f"the friend {name!r} has {len(others)} files for {len(places)}; "
                "farroot.chain() takes them all as one"
            )
        pairs = zip(places, others, strict=True)
        places = [replace(one, friends=(*one.friends, (name, other))) for one, other in pairs]
    return places


def _places(files: Files) -> list[_Place]:
    places = list(_each_place(files))
    if not places:
        raise NotFoundError(f"no file matches {files!r}")
    return places


def _each_place(files: Files) -> Iterator[_Place]:
    """What is listed twice is read twice; but patterns of one address or dict may overlap."""
    if isinstance(files, (Tree, RNTuple)):
        yield _Place(files._url, files.object_path, files)
    elif isinstance(files, (str, os.PathLike)):
        url, path = split(files)
        yield from dict.fromkeys(_Place(match, path) for match in _matches(url))
    elif isinstance(files, Mapping):
        for path in files.values():
            if path is not None and not isinstance(path, str):
                raise InvalidArgumentError(f"the path of a tree is a string, not {path!r}")
        matches = (
            (match, path) for key, path in files.items() for match in _matches(path_text(key))
        )
        yield from dict.fromkeys(_Place(*match) for match in matches)
    elif isinstance(files, Iterable):
        for each in files:
            yield from _each_place(each)
    else:
        raise InvalidArgumentError(
            "files are addresses, a dict of addresses and paths in them, open trees and RNTuples, "
            f"or several of these, not {files!r}"
        )


def _matches(url: str) -> list[str]:
    return _core.matching(url if "://" in url else os.path.expanduser(url))
