"""Addresses of trees and RNTuples: in files, of which there may be many, or open already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _core
from ._addresses import Address, expanded, path_text, split
from ._credentials import ANY_CREDENTIAL, Access
from ._kinds import as_table, is_table, open_table
from .errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from ._protocols import Table


#: Files as :data:`farroot.Files` has them.
AnyFiles: TypeAlias = "Address | Table | Mapping[Any, str | None] | Iterable[AnyFiles]"


class ChainFile(NamedTuple):
    """One tree or RNTuple of a chain, and which of the chain's entries (half open) it has.

    Example:
        >>> for link in farroot.chain(["events.root:Events", "more.root:Events"]).links:
        ...     print(link.file_path, link.entry_start, link.entry_stop)
        events.root 0 4
        more.root 4 6
    """

    file_path: str
    object_path: str
    entry_start: int
    entry_stop: int

    @classmethod
    def all_of(cls, core: _core.Table) -> list[ChainFile] | None:
        """Those of a chain; None of a table that is no chain."""
        files = core.chain_files()
        links = None if files is None else [cls(*one) for one in files]
        return links and [one._replace(file_path=_core.for_others(one.file_path)) for one in links]


@dataclass(frozen=True)
class Place:
    """One tree or RNTuple: where it is, or the open one itself."""

    url: str
    path: str | None
    table: Table | None = None
    #: Which of its entries (half open), where not all.
    entries: tuple[int, int] | None = None
    #: Others whose entries belong to its own, by name.
    friends: tuple[tuple[str, Place], ...] = ()

    @property
    def count(self) -> int:
        """How many entries are read of it, once it is open."""
        start, stop = self.entries or (0, 0 if self.table is None else self.table.num_entries)
        return stop - start

    @property
    def file_path(self) -> str:
        """The file's address, as those who look for the file have it."""
        return _core.plain_address(self.url)

    def opened(self) -> Table:
        table = self.table
        if table is None:
            table = open_table(self.url, self.path)
        return table._beside({name: place.opened() for name, place in self.friends})

    def located(self) -> _core.TableLocation:
        """The table's address and those of its friends, as the engine takes them."""
        added = () if self.table is None else self.table._added.items()
        with_table = {name: Place(one._url, one._object_path, one) for name, one in added}
        friends = {**with_table, **dict(self.friends)}
        return _core.TableLocation(
            self.url,
            self.path,
            table=None if self.table is None else self.table._live(),
            entries=self.entries,
            friends=[(name, place.located()) for name, place in friends.items()],
        )


def chained(files: AnyFiles, access: Access = ANY_CREDENTIAL) -> Table:
    """The chain of several files; see :func:`farroot.chain`."""
    places = places_of(files, access)
    located = [place.located() for place in places]
    core = _core.chain(located)
    links = ChainFile.all_of(core) or []
    url, path = places[0].url, core.path or links[0].object_path
    return as_table(core, url, path, again([one[:2] for one in links]))


def again(files: list[tuple[str, str]]) -> Callable[[], _core.Table]:
    """How to open a chain once more."""
    return lambda: _core.chain([_core.TableLocation(*one) for one in files])


def beside(places: list[Place], friends: Mapping[str, Any] | None, access: Access) -> list[Place]:
    """Places with the friends that belong to each."""
    for name, files in (friends or {}).items():
        others = places_of(files, access)
        if len(others) != len(places):
            raise InvalidArgumentError(
                f"the friend {name!r} has {len(others)} files for {len(places)}; "
                "farroot.chain() takes them all as one"
            )
        pairs = zip(places, others, strict=True)
        places = [replace(one, friends=(*one.friends, (name, other))) for one, other in pairs]
    return places


def places_of(
    files: AnyFiles, access: Access = ANY_CREDENTIAL, *, each_matches: bool = False
) -> list[Place]:
    """Where files are that a caller names, each address with the choice of credentials.

    With ``each_matches`` each pattern has to match a file, otherwise only one of them.
    """
    matches = partial(_matches, access=access, must_match=each_matches)
    places = list(_each_place(files, matches))
    if not places:
        raise NotFoundError(f"no file matches {files!r}")
    return places


def _each_place(files: AnyFiles, matches: Callable[[str], list[str]]) -> Iterator[Place]:
    """A file that is listed twice is read twice; but patterns of one address or dict may
    overlap."""
    if is_table(files):
        yield Place(files._url, files._object_path, files)
    elif isinstance(files, (str, os.PathLike)):
        url, path = split(files)
        yield from dict.fromkeys(Place(match, path) for match in matches(url))
    elif isinstance(files, Mapping):
        for path in files.values():
            if path is not None and not isinstance(path, str):
                raise InvalidArgumentError(f"the path of a tree is a string, not {path!r}")
        found = (
            Place(match, path) for key, path in files.items() for match in matches(path_text(key))
        )
        yield from dict.fromkeys(found)
    elif isinstance(files, Iterable):
        for each in files:
            yield from _each_place(each, matches)
    else:
        raise InvalidArgumentError(
            "files are addresses, a dict of addresses and paths in them, open trees and RNTuples, "
            f"or several of these, not {files!r}"
        )


def _matches(url: str, access: Access, must_match: bool) -> list[str]:
    found = _core.matching(access.added_to(expanded(url)))
    if must_match and not found:
        raise NotFoundError(f"no file matches {url!r}")
    return found


def opened(other: Any) -> Table:
    """The friend that a caller names: an open table, an address, or several files.

    Raises:
        InvalidArgumentError: for an object without entries.
    """
    if is_table(other):
        return other
    if isinstance(other, (str, os.PathLike)) and not _core.is_glob(os.fspath(other)):
        return open_table(*split(other))
    if isinstance(other, (str, os.PathLike, Iterable)):
        return chained(other)
    raise InvalidArgumentError(f"a friend is a tree, an RNTuple or an address, not {other!r}")
