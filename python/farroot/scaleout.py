"""Reading spread over processes and machines: partitions of the entries, as data."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

from . import _core, _libraries
from ._credentials import Access
from ._entries import step_of
from ._kinds import as_table, open_table
from ._limits import BLIND_MAX, TABLES_MAX
from ._locks import Lock
from ._memories import Metadata, check_kept
from ._numbers import whole
from ._places import Place, beside, places_of
from ._reading import ReadRequest, Selection
from ._selection import ColumnQuery
from ._shown import shown
from ._types import StepSize
from ._uproot import public, taken
from .errors import ChangedError, Error, InvalidArgumentError

if TYPE_CHECKING:
    from ._protocols import Table
    from ._types import Credentials, LibraryName
    from .dataset import Files

#: The bytes by which a step size is measured.
Measure = Literal["stored", "decoded"]
#: The form of saved partitions.
_VERSION = 1


@dataclass(frozen=True)
class Identity:
    """The size and number that distinguish a file from another one of its name."""

    size: int
    #: The number that the file has of its own; None where its head is cut.
    uuid: str | None
    #: Of the tree or RNTuple.
    num_entries: int

    @classmethod
    def of(cls, table: Table) -> Identity:
        """That of the file that a table is in."""
        core = table._live()
        number = core.file.uuid
        uuid = None if number is None else f"{number:032x}"
        return cls(core.file.size, uuid, core.num_entries)


@public
@dataclass(frozen=True, repr=False)
class Partition:
    """A part of a file's entries: pure data, which any process reads with :meth:`arrays`.

    It has no open file; it can be pickled, and with :meth:`as_dict` written as JSON.

    Example:
        >>> (part,) = farroot.partitions("events.root:Events", ["MET_pt"])
        >>> part.arrays(library="np")["MET_pt"]
        array([10., 55., 20., 80.])
    """

    #: The file's address.
    url: str
    #: The path of the tree or RNTuple in it; None is the only one there is.
    object_path: str | None
    #: Names, globs and formulas, as :meth:`Tree.arrays` takes them; None is every column.
    expressions: tuple[str, ...] | None = None
    cut: str | None = None
    #: Its entries, half open; None where the file has not been looked into.
    entries: tuple[int, int] | None = None
    #: Which share of how many it is then.
    share: tuple[int, int] | None = None
    #: Bytes in the file and when decoded, of its columns and those of the cut.
    stored_bytes: int | None = None
    decoded_bytes: int | None = None
    #: The file that was looked into.
    identity: Identity | None = None
    #: The server that the file was read from when it was planned, after redirection; with
    #: ``locate=True`` all servers that a redirector names; empty for a local file.
    servers: tuple[str, ...] = ()
    #: Tables whose entries are joined to these: name, address and path of each.
    friends: tuple[tuple[str, str, str | None], ...] = ()
    #: The file's metadata, with ``metadata="embed"``.
    metadata: Metadata | None = field(default=None, repr=False)
    #: The address that is opened: that of the file, and the choice of credentials and of the place
    #: where entries are selected.
    address: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.address:
            object.__setattr__(self, "address", self.url)

    @property
    def num_entries(self) -> int | None:
        """How many entries it has, before a cut; None where that is not known yet."""
        return None if self.entries is None else self.entries[1] - self.entries[0]

    def arrays(self, *, library: LibraryName = "ak", virtual: bool = False, **options: Any) -> Any:
        """Reads it; the process keeps the file open for the partitions that follow.

        Args:
            library, virtual, options: As for :meth:`Tree.arrays`.

        Raises:
            ChangedError: the file is another one than that which was looked into.
        """
        chosen: dict[str, Any] = {"expressions": self.expressions, "cut": self.cut}
        if virtual:
            chosen = {"filter_name": self.expressions, "virtual": True}
            if self.cut is not None:
                raise InvalidArgumentError("virtual=True reads no cut: apply it to the arrays")

        def read(table: Any) -> Any:
            start, stop = self._entries_of(table)
            beside = table._beside({name: OPEN.get(url, path) for name, url, path in self.friends})
            return beside.arrays(
                **chosen, entry_start=start, entry_stop=stop, library=library, **options
            )

        if self.metadata is not None and not OPEN.has(self.address, self.object_path):
            done = self._presumed(self.metadata, read)
            if done is not None:
                return done[0]
        return read(self._table())

    def _presumed(self, metadata: Metadata, read: Callable[[Any], Any]) -> tuple[Any] | None:
        """The result of ``read``, in a tuple, from the stored metadata while the file opens; None
        if the server has another file, or if the metadata do not suffice."""
        metadata.remember(self.address)
        presumed = _core.open_presumed(self.address, self.object_path)
        if presumed is None:
            return None
        table = as_table(presumed.table, self.address, self.object_path)
        failed: Error | None = None
        result = None
        try:
            is_meant = Identity.of(table) == self.identity
            result = read(table) if is_meant else None
        except Error as error:
            # The server may have another file, to which the error belongs: confirm() tells.
            is_meant, failed = True, error
        if not presumed.confirm() or not is_meant:
            return None
        if failed is not None:
            raise failed
        OPEN.put(table, self.address, self.object_path)
        return (result,)

    def _table(self) -> Any:
        """The open table, which is the one that was looked into."""
        expected = self.identity
        if expected is None:
            return OPEN.get(self.address, self.object_path)
        table = OPEN.same(
            self.address, self.object_path, lambda table: Identity.of(table) == expected
        )
        found = Identity.of(table)
        if found != expected:
            differs = (
                f"{name} was {before!r} and is {getattr(found, name)!r}"
                for name, before in asdict(expected).items()
                if getattr(found, name) != before
            )
            error = ChangedError(
                f"another file than when the partitions were made: {', '.join(differs)}; "
                f"make them anew; in {table.url}"
            )
            error.url = table.url
            raise error
        return table

    def _entries_of(self, table: Any) -> tuple[int, int]:
        if self.entries is not None:
            return self.entries
        return _shared_out(table, *(self.share or (0, 1)))

    def __repr__(self) -> str:
        which = f"{self.entries}" if self.share is None else "share {} of {}".format(*self.share)
        where = f"{self.object_path!r} in {_core.shown_address(self.url)}"
        return shown(f"<Partition {which} of {where}>")

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON; those that are None or empty are left out."""
        record = asdict(replace(self, metadata=None))
        if self.address == self.url:
            del record["address"]
        if self.metadata is not None:
            record["metadata"] = self.metadata.as_dict()
        return {name: value for name, value in record.items() if value not in (None, ())}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Partition:
        """The partition from the result of :meth:`as_dict`."""
        pairs: dict[str, Any] = {
            name: tuple(record[name])
            for name in ("expressions", "entries", "share", "servers")
            if record.get(name) is not None
        }
        if (identity := record.get("identity")) is not None:
            pairs["identity"] = Identity(**identity)
        if isinstance(metadata := record.get("metadata"), Mapping):
            pairs["metadata"] = Metadata.from_dict(metadata)
        pairs["friends"] = tuple(tuple(friend) for friend in record.get("friends", ()))
        return cls(**{**record, **pairs})


@public
class Partitions(list[Partition]):
    """Partitions in the order of their files and entries; :func:`partitions` makes them.

    Example:
        >>> parts = farroot.partitions("events.root:Events", ["MET_pt"])
        >>> parts.num_entries
        4
        >>> parts.save("parts.json")
        >>> farroot.Partitions.load("parts.json") == parts
        True
    """

    @property
    def num_entries(self) -> int | None:
        """Entries of all; None where they are not known yet."""
        counts = [each.num_entries for each in self]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def stored_bytes(self) -> int:
        """Bytes that reading all of them fetches, as far as files have been looked into."""
        return sum(each.stored_bytes or 0 for each in self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes them as JSON, which only this user can read; without secrets of addresses."""
        every = [replace(each, metadata=None).as_dict() for each in self]
        record: dict[str, Any] = {"farroot_partitions": _VERSION, "partitions": every}
        known = {each.url: each.metadata for each in self if each.metadata is not None}
        if known:
            record["metadata"] = {url: one.as_dict() for url, one in known.items()}
        _core.write_private(os.path.expanduser(path), json.dumps(record, indent=1).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Partitions:
        """Reads the partitions that :meth:`save` has written.

        Raises:
            InvalidArgumentError: for anything else.
        """
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            try:
                record = json.load(file)
                if record["farroot_partitions"] != _VERSION:
                    raise ValueError(f"of version {record['farroot_partitions']!r}")
                known = {
                    url: Metadata.from_dict(one) for url, one in record.get("metadata", {}).items()
                }
                every = map(Partition.from_dict, record["partitions"])
                return cls(replace(each, metadata=known.get(each.url)) for each in every)
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidArgumentError(
                    f"no partitions that this version can read: {error}; in {os.fspath(path)}"
                ) from None

    def to_coffea(self, dataset: str = "dataset") -> dict[str, Any]:
        """A fileset of coffea whose files have steps, so that they need no preprocessing.

        Raises:
            InvalidArgumentError: for blind partitions, whose entries are not known.
        """
        files: dict[str, dict[str, Any]] = {}
        for each in self:
            if each.entries is None or each.identity is None:
                raise InvalidArgumentError("entries are not known: make them without blind")
            file = files.setdefault(
                each.url,
                {
                    "object_path": each.object_path,
                    "steps": [],
                    "num_entries": each.identity.num_entries,
                    "uuid": each.identity.uuid,
                },
            )
            file["steps"].append(list(each.entries))
        return {dataset: {"files": files, "form": None, "metadata": {}}}


@taken
def partitions(
    files: Files,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    *,
    step_size: StepSize = "256 MB",
    measure: Measure = "stored",
    blind: float | None = None,
    metadata: Literal["none", "embed"] = "none",
    friends: Mapping[str, Files] | None = None,
    locate: bool = False,
    **credentials: Unpack[Credentials],
) -> Partitions:
    """Plans a read of many files for many processes: which entries are read together.

    Partitions end where clusters do, so that no two read the same bytes, and never hold entries of
    two files. Files are opened side by side, and only their metadata are read.

    Args:
        files: As for :func:`farroot.iterate`.
        expressions, cut: As for :meth:`Tree.arrays`; the size of a partition is that of these.
        step_size: The size of a partition at the most, unless one cluster has more: bytes as
            ``"256 MB"``, or a number of entries.
        measure: Whether bytes are those in the file or, with ``"decoded"``, in memory.
        blind: Makes so many partitions of each file without opening it; their entries show when
            they are read, and are not compared with anything.
        metadata: With ``"embed"`` the partitions of a remote file contain its metadata, 20 to
            100 kB a file: a new process that reads one need not fetch them.
        friends: Files of friends by name, as for :func:`farroot.iterate`.
        locate: Asks the XRootD server of each address which servers have the file (one
            ``kXR_locate`` a file, 256 at a time; a redirector names every server), and stores
            these as :attr:`Partition.servers`, also of blind partitions.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Raises:
        NotFoundError: no such file.
        KeyInFileError: no such tree or column in one of them.

    Example:
        >>> parts = farroot.partitions(["events.root:Events", "more.root:Events"], ["MET_pt"])
        >>> [(part.url, part.entries) for part in parts]
        [('events.root', (0, 4)), ('more.root', (0, 2))]
    """
    if measure not in ("stored", "decoded"):
        raise InvalidArgumentError(f"measure is 'stored' or 'decoded', not {measure!r}")
    if isinstance(expressions, str):
        expressions = [expressions]
    names = None if expressions is None else tuple(expressions)
    access = Access(**credentials)
    if metadata not in ("none", "embed"):
        raise InvalidArgumentError(f"metadata is 'none' or 'embed', not {metadata!r}")
    places = beside(places_of(files, access), friends, access)
    is_embedded = metadata == "embed"
    if is_embedded:
        check_kept()
    if blind is not None and is_embedded:
        raise InvalidArgumentError("blind=... opens no file, so that no metadata are known")
    located = _located(places) if locate else {}
    division = Division(step_size, measure, blind)
    return planned(places, names, cut, division, is_embedded, located)


@dataclass(frozen=True)
class Division:
    """How the entries of files are divided, in the words of :func:`partitions`."""

    step_size: StepSize = "256 MB"
    measure: Measure = "stored"
    blind: float | None = None
    #: How many equal parts of each file there are, in place of a size.
    parts: int | None = None


def planned(
    places: list[Place],
    names: tuple[str, ...] | None,
    cut: str | None,
    division: Division,
    is_embedded: bool = False,
    located: _Located | None = None,
) -> Partitions:
    """The partitions of tables at known places."""
    if division.blind is not None:
        return Partitions(_blind(places, names, cut, division.blind, located or {}))
    step = step_of(division.step_size)
    plan = _Planned(names, cut, step, division, is_embedded, located or {})
    return Partitions(each for place in _looked_into(places) for each in plan.of(*place))


#: The servers that have each file, by the file's address.
_Located = Mapping[str, tuple[str, ...]]


def _located(places: list[Place]) -> _Located:
    """The servers of each file, as the XRootD server of its address names them."""
    urls = list(dict.fromkeys(place.url for place in places))
    return dict(zip(urls, map(tuple, _core.servers(urls)), strict=True))


def _blind(
    places: list[Place],
    names: tuple[str, ...] | None,
    cut: str | None,
    shares: float,
    located: _Located,
) -> Iterator[Partition]:
    shares = whole(shares, "blind")
    if not 1 <= shares <= BLIND_MAX:
        said = f"blind is a number of partitions a file, from 1 to {BLIND_MAX}"
        raise InvalidArgumentError(f"{said}, not {shares!r}")
    for place in places:
        blind = Partition(
            place.file_path,
            place.path,
            names,
            cut,
            address=place.url,
            servers=located.get(place.url, ()),
            friends=_friends(place),
        )
        for share in range(shares):
            yield replace(blind, share=(share, shares))


def _friends(place: Place) -> tuple[tuple[str, str, str | None], ...]:
    """The friends that a place names, and those that were added to its open table."""
    added = () if place.table is None else place.table._added.items()
    if any(table.is_chain for _, table in added):
        raise InvalidArgumentError("a friend of several files: give friends= file by file")
    opened = ((name, table._url, table._object_path) for name, table in added)
    return (*opened, *((name, one.url, one.path) for name, one in place.friends))


def _looked_into(places: list[Place]) -> Iterator[tuple[Place, Table]]:
    """Each table with its friends; many files are opened at the same time."""
    every = [one for place in places for one in (place, *(one for _, one in place.friends))]
    opens = _core.open_tables([(one.url, one.path) for one in every if one.table is None])

    def opened(place: Place) -> Table:
        if place.table is not None:
            return place.table
        core = opens.next()
        # The engine returns a table for each location, or raises.
        assert core is not None
        return as_table(core, place.url, place.path)

    for place in places:
        table = opened(place)
        yield place, table._beside({name: opened(friend) for name, friend in place.friends})


@dataclass(frozen=True)
class _Planned:
    """How entries are divided."""

    names: tuple[str, ...] | None
    cut: str | None
    step: _core.StepSize
    division: Division
    is_embedded: bool
    located: _Located

    def of(self, place: Place, table: Table) -> Iterator[Partition]:
        """The partitions of one table."""
        query = ColumnQuery(self.names, None, None, None, self.cut, None)
        selection = ReadRequest(query, _libraries.named("np"), None).of(table)
        whole = Partition(
            place.file_path,
            table._object_path,
            self.names,
            self.cut,
            address=place.url,
            identity=Identity.of(table),
            servers=self.located.get(place.url) or _servers(table),
            friends=_friends(place),
            metadata=Metadata.of(place.url) if self.is_embedded else None,
        )
        total = table.num_entries
        if total == 0:
            return
        if (parts := self.division.parts) is not None:
            length = -(-total // parts)
            for start in range(0, total, length):
                yield self._measured(whole, selection, start, min(start + length, total))
            return
        first = self._measured(whole, selection, 0, total)
        if self._fits(first):
            yield first
            return
        yield from self._divided(whole, selection, [*_cluster_starts(table, selection), total])

    def _divided(
        self, whole: Partition, selection: Selection, bounds: list[int]
    ) -> Iterator[Partition]:
        start = 0
        last: Partition | None = None
        for stop in bounds[1:]:
            longer = self._measured(whole, selection, start, stop)
            if last is not None and not self._fits(longer):
                yield last
                start = (last.entries or (0, 0))[1]
                longer = self._measured(whole, selection, start, stop)
            last = longer
        if last is not None:
            yield last

    def _measured(self, whole: Partition, selection: Selection, start: int, stop: int) -> Partition:
        columns = [one for each in selection.plan(start, stop) for one in each.columns]
        return replace(
            whole,
            entries=(start, stop),
            stored_bytes=sum(column.stored_bytes for column in columns),
            decoded_bytes=sum(column.decoded_bytes for column in columns),
        )

    def _fits(self, one: Partition) -> bool:
        if self.step.entries is not None:
            return (one.num_entries or 0) <= self.step.entries
        size = one.stored_bytes if self.division.measure == "stored" else one.decoded_bytes
        return (size or 0) <= (self.step.bytes or 0)


def _servers(table: Any) -> tuple[str, ...]:
    """The servers from which the table's file has been read."""
    return tuple(name for name in table._live().file.sources() if name != "file://")


def _cluster_starts(table: Any, selection: Selection | None = None) -> list[int]:
    """Entries at which clusters begin; of a tree, where baskets of all these branches do.

    Where these have nothing in common, those of the branch with the fewest baskets.
    """
    if table.is_chain:
        raise InvalidArgumentError("a chain is divided by its files: give those")
    core = table._live()
    if not core.is_tree:
        return sorted({0, *core.cluster_starts()})
    leaves = (
        core.columns()
        if selection is None
        # The baskets of a friend may begin at other entries.
        else [leaf.column for leaf in selection.leaves_with_cut if leaf.info.friend is None]
    )
    starts = [{basket.entry_start for basket in leaf.baskets()} for leaf in leaves]
    starts = [each for each in starts if each]
    if not starts:
        return [0]
    common = set.intersection(*starts)
    return sorted({0, *(common if len(common) > 1 else min(starts, key=len))})


def _shared_out(table: Any, share: int, shares: int) -> tuple[int, int]:
    """The entries of one of several shares, which begin with clusters."""
    total = table.num_entries
    starts = _cluster_starts(table)

    def border(number: int) -> int:
        wanted = total * number // shares
        return total if number == shares else next((s for s in starts if s >= wanted), total)

    return border(share), border(share + 1)


class _Open:
    """The tables that this process has opened last, for partitions that follow."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tables: OrderedDict[tuple[str, str | None], Any] = OrderedDict()

    def get(self, url: str, path: str | None) -> Any:
        """The table, opened where it is not."""
        with self._lock:
            if (table := self._tables.get((url, path))) is not None:
                self._tables.move_to_end((url, path))
                return table
        table = open_table(url, path)
        self.put(table, url, path)
        return table

    def has(self, url: str, path: str | None) -> bool:
        """Whether the table is open."""
        with self._lock:
            return (url, path) in self._tables

    def same(self, url: str, path: str | None, is_same: Callable[[Any], bool]) -> Any:
        """The table, opened anew if ``is_same`` is false for it: the file may have been replaced.
        The caller checks the result again."""
        table = self.get(url, path)
        if is_same(table):
            return table
        with self._lock:
            self._tables.pop((url, path), None)
        return self.get(url, path)

    def put(self, table: Table, url: str, path: str | None) -> None:
        """Keeps a table that has just been opened, in place of an earlier one of the same path."""
        with self._lock:
            self._tables[url, path] = table
            self._tables.move_to_end((url, path))
            while len(self._tables) > TABLES_MAX:
                self._tables.popitem(last=False)


OPEN = _Open()
