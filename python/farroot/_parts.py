"""Tables read one after the other; reading can go on behind damaged data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import _core
from ._entries import EntrySelection
from ._places import Place
from ._progress import Telling, Wanted, waited
from ._steps import Report, Skipped, Steps
from .errors import (
    Error,
    InvalidArgumentError,
    KeyInFileError,
    NotFoundError,
    SkippedWarning,
    warn,
)

if TYPE_CHECKING:
    from ._reading import Selection


class Lacking(list[Skipped]):
    """The ranges that have been skipped so far, and the kinds that may be."""

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
            entries = "all entries" if stop is None else f"entries {start} to {stop}"
            warn(f"{entries} of {one.file_path} are left out: {one.error}", SkippedWarning)


class Account:
    """Where the files begin among all entries, and the ranges that have been skipped."""

    def __init__(self, places: list[Place], skipped: Lacking, offset: int = 0) -> None:
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
        self.skipped.add(Skipped(place.file_path, path or place.path, start, stop, error))
        if stop is not None:
            self.reach(number, stop)


def begin(
    places: list[Place],
    selection: Selection,
    step: _core.StepSize,
    *,
    goes_on: bool,
    are_joined: bool = False,
) -> _core.Parts:
    """Begins to read these places; where the parts are joined, as types that fit all."""
    located = [each.located() for each in places]
    return _core.parts(
        located,
        selection.request,
        step,
        on_error_report=goes_on,
        have_common_types=are_joined,
    )


def made(
    parts: _core.Parts,
    account: Account,
    first: int,
    selection: Selection,
    report: bool,
    telling: Telling | None = None,
) -> Iterator[Any]:
    """Arrays of the steps, from this place on; skipped ranges go to the account."""
    steps = taken_from(parts, account, first, selection, report, telling)
    if telling is None:
        yield from steps
        return
    try:
        yield from steps
        telling.files_done(len(account.places))
        telling.tell()
    finally:
        telling.close()


def taken_from(
    parts: _core.Parts,
    account: Account,
    first: int,
    selection: Selection,
    report: bool,
    telling: Telling | None,
) -> Iterator[Any]:
    """As `made`; the telling goes on."""
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
        rows = EntrySelection(start, stop, part.survivors, offset)
        made = [selection.assemble(columns, rows)]
        del part, columns
        if telling is not None:
            telling.files_done(first + number)
            telling.step(stop - start)
        # Popped, so that it is the caller's alone: their `del` gives the memory back.
        if report:
            place = account.places[first + number]
            if place.table is not None and place.table.is_chain:
                told = place.table._report(start, stop)
                told = replace(told, global_offset=told.global_offset + offset)
            else:
                told = Report(place.file_path, place.path, start, stop, offset)
            yield made.pop(), told
        else:
            yield made.pop()


def there(places: list[Place], skipped: Lacking) -> list[Place]:
    """Those places whose files have the columns that are read, each open."""
    found = []
    for place in places:
        try:
            table = place.opened()
        except (NotFoundError, KeyInFileError) as error:
            skipped.add(Skipped(place.file_path, place.path, None, None, error))
        else:
            found.append(replace(place, table=table, friends=()))
    return found


def is_report(on_error: str) -> bool:
    """Whether reading goes on behind damaged data.

    Raises:
        InvalidArgumentError: for anything but the two words.
    """
    if on_error not in ("raise", "report"):
        raise InvalidArgumentError(f'on_error is "raise" or "report", not {on_error!r}')
    return on_error == "report"


def steps_with_gaps(
    table: Any,
    selection: Selection,
    entries: tuple[int, int],
    step: _core.StepSize,
    report: bool,
    progress: Wanted = None,
) -> Steps:
    """Steps through one table that go on behind damaged data."""
    places = [Place(table._url, table._object_path, table, entries)]
    account = Account(places, Lacking(unreadable=True))
    if not selection.chosen:
        return Steps(iter(()), account.skipped)
    parts = begin(account.places, selection, step, goes_on=True)
    telling = selection.telling(progress, *entries, None)
    return Steps(made(parts, account, 0, selection, report, telling), account.skipped)
