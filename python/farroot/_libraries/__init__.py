"""Libraries of arrays: NumPy, Awkward, pandas or Arrow, each imported at its first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from .._imports import package
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from .._core import Column
    from .._entries import EntrySelection

#: How columns are grouped: None for the library's own table, or a container type.
How = type[tuple[Any, ...]] | type[list[Any]] | type[dict[str, Any]] | str | None


class Library(Protocol):
    """One of the array libraries."""

    #: ``"ak"``, ``"np"``, ``"pd"`` or ``"pa"``.
    name: ClassVar[str]

    @property
    def of_columns(self) -> Library:
        """What makes the columns of a `table`: itself, where that is no cheaper way."""

    def array(self, column: Column, rows: EntrySelection) -> Any:
        """One column of these entries."""

    def of_branch(self, column: Column, rows: EntrySelection) -> Any:
        """The same of a branch, whose objects and containers a library may have names for."""

    def computed(self, value: Any, rows: EntrySelection) -> Any:
        """The value of a formula, an array of NumPy or Awkward, as one of this library."""

    def table(self, arrays: dict[str, Any], rows: EntrySelection) -> Any:
        """Columns of these entries as the library groups them."""

    def nested(self, arrays: dict[str, Any]) -> Any:
        """The sub-branches of a branch as one array."""

    def zipped(self, arrays: dict[str, Any]) -> Any:
        """As `table`, with lists of equal lengths in one list of records."""

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        """The array with texts that it carries, where this library has a place for them."""

    def concatenate(self, tables: Sequence[Any]) -> Any:
        """Tables, or arrays, one after the other."""


_NAMES = {
    "ak": "awkward",
    "awkward": "awkward",
    "np": "numpy",
    "numpy": "numpy",
    "pd": "pandas",
    "pandas": "pandas",
    "pa": "arrow",
    "arrow": "arrow",
    "pyarrow": "arrow",
}


def named(name: str) -> Library:
    """The library of that name.

    Raises:
        InvalidArgumentError: for a name that is none of them.
        NotInstalledError: for one that is not installed.
    """
    known = _NAMES.get(str(name).lower())
    if known == "awkward":
        from .awkward import Awkward

        return Awkward()
    if known == "numpy":
        from .numpy import NumPy

        return NumPy()
    if known == "pandas":
        package("pandas")
        from .pandas import Pandas

        return Pandas()
    if known == "arrow":
        package("pyarrow")
        from .arrow import Arrow

        return Arrow()
    raise InvalidArgumentError(f'library is "ak", "np", "pd" or "arrow", not {name!r}')


def group(
    into: Library, how: How, arrays: dict[str, Any], names: Sequence[str], rows: EntrySelection
) -> Any:
    """Arrays by name as the caller wants them together; in sequences as often as named."""
    if how is None:
        return into.table(arrays, rows)
    if how is tuple:
        return tuple(arrays[name] for name in names)
    if how is list:
        return [arrays[name] for name in names]
    if how is dict:
        return arrays
    if how == "zip":
        return into.zipped(arrays)
    raise InvalidArgumentError(f'how is None, tuple, list, dict or "zip", not {how!r}')


def _check_alike(first: dict[str, Any], grouped: Sequence[dict[str, Any]]) -> None:
    """Refuses dicts of other columns: as one, they would lack those or have fewer entries.

    Raises:
        InvalidArgumentError: with the names.
    """
    others = {name for each in grouped for name in each.keys() ^ first.keys()}
    if others:
        raise InvalidArgumentError(
            f"only some files have {', '.join(sorted(others))}: name the columns that are wanted, "
            'or take library="ak", "pd" or "arrow", without how'
        )


def concatenate(into: Library, grouped: Sequence[Any]) -> Any:
    """Results of `group`, one after the other."""
    if len(grouped) == 1:
        return grouped[0]
    first = grouped[0]
    if isinstance(first, dict):
        _check_alike(first, grouped)
        return {name: into.concatenate([each[name] for each in grouped]) for name in first}
    if isinstance(first, (tuple, list)):
        if any(len(each) != len(first) for each in grouped):
            raise InvalidArgumentError("the files have other columns: name those that are wanted")
        return type(first)(into.concatenate(each) for each in zip(*grouped, strict=True))
    return into.concatenate(grouped)
