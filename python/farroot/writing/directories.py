"""Directories of files that are being written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._filters import Filter, predicate
from .._ours import by_caller, ours
from .._shown import shown
from .._uproot import taken
from ..compression import Compression
from ..containers import Container
from ..errors import ArgumentTypeError, InvalidArgumentError, KeyInFileError, UnsupportedError
from . import _options, tables
from ._arguments import text, texts
from ._keys import DIRECTORY, Key, Keys
from ._read_back import read_back
from ._tables import COUNTER, Columns, batches, doc_of, docs_of, is_table, types_of
from .objects import WritableGraph, WritableHistogram
from .tables import Within

if TYPE_CHECKING:
    from ..file import File
    from .tables import WritableNTuple, WritableTree
    from .writable import WritableFile


_NTUPLE = "ROOT::RNTuple"
_CYCLE = re.compile(r";\d+$")
#: Classes of tables that take further entries, as `TNtuple` adds nothing to a tree.
_GROWING = ("TTree", "TNtuple", "TNtupleD", _NTUPLE)


class WritableDirectory(Within):
    """A directory of a file that is being written: ``directory[path] = what`` writes.

    These can be assigned: histograms of ``hist``, ``boost_histogram`` or any library that speaks
    UHI, results of ``numpy.histogram`` and its relatives, objects that were read with farroot or
    uproot, objects of PyROOT, texts, and tables (as :meth:`mkrntuple` takes them), of which an
    RNTuple is made.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     file["one/two/note"] = "a text"
        ...     file.keys()
        ['one;1', 'one/two;1', 'one/two/note;1']
    """

    def __init__(self, file: WritableFile, path: tuple[str, ...], keys: Keys) -> None:
        super().__init__(file, path)
        self._keys = keys

    def __repr__(self) -> str:
        return f"<WritableDirectory {shown(self.object_path)!r}>"

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories that lead here; none at the top."""
        return self._path

    @property
    def object_path(self) -> str:
        """The path of the directory in the file; ``/`` for the top directory."""
        return "/".join(("", *self._path, "")).replace("//", "/")

    @property
    def compression(self) -> Compression | None:
        """Of objects that are written from now on."""
        return self._file.compression

    @compression.setter
    @ours
    def compression(self, compression: object) -> None:
        self._file.compression = compression

    # Reading.

    def iterclassnames(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> Iterator[tuple[str, str]]:
        """As :meth:`classnames`, one by one."""
        by_name, by_class = predicate(filter_name), predicate(filter_classname)
        for path, key in self._keys.walk(recursive):
            if by_name(path) and by_class(key.classname):
                yield f"{path};{key.cycle}" if cycle else path, key.classname

    def classnames(self, **filters: Any) -> dict[str, str]:
        """Classes by key, of the objects written so far and of earlier ones.

        Args:
            filters: ``recursive``, ``cycle``, ``filter_name`` and ``filter_classname``, as for
                :meth:`Directory.classnames`.
        """
        return dict(self.iterclassnames(**filters))

    def iterkeys(self, **filters: Any) -> Iterator[str]:
        """The keys of :meth:`keys`, one by one."""
        return (key for key, _ in self.iterclassnames(**filters))

    def keys(self, **filters: Any) -> list[str]:
        """Keys, as :meth:`classnames` has them."""
        return list(self.iterkeys(**filters))

    def iteritems(self, *, cycle: bool = True, **filters: Any) -> Iterator[tuple[str, Any]]:
        """The pairs of :meth:`items`, one by one."""
        for key in self.iterkeys(**filters):
            yield key if cycle else key.rpartition(";")[0], self[key]

    def items(self, **filters: Any) -> list[tuple[str, Any]]:
        """Names and objects; the arguments are those of :meth:`classnames`."""
        return list(self.iteritems(**filters))

    def itervalues(self, **filters: Any) -> Iterator[Any]:
        """The objects of :meth:`values`, one by one."""
        return (self[key] for key in self.iterkeys(**filters))

    def values(self, **filters: Any) -> list[Any]:
        """The objects; the arguments are those of :meth:`classnames`."""
        return list(self.itervalues(**filters))

    def __iter__(self) -> Iterator[str]:
        return self.iterkeys()

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, where: object) -> bool:
        return isinstance(where, str) and self._find(where) is not None

    @ours
    def classname_of(self, where: str) -> str:
        """The class of the object at that path."""
        return self._found(where)[1].classname

    def _find(self, where: str) -> tuple[WritableDirectory, Key] | None:
        """The directory that has it, and its key."""
        directory = self
        names = [name for name in where.split("/") if name]
        for name in names[:-1]:
            key = directory._keys.find(name)
            if key is None or key.classname != DIRECTORY:
                return None
            directory = directory._at(key)
        key = directory._keys.find(names[-1]) if names else None
        return None if key is None else (directory, key)

    def _found(self, where: str) -> tuple[WritableDirectory, Key]:
        found = self._find(text(where, "a name"))
        if found is None:
            there = ", ".join(repr(name) for name in self._keys.names()[:10])
            raise KeyInFileError(f"nothing at {where!r} in {self!r}; there is {there or 'nothing'}")
        return found

    def _at(self, key: Key) -> WritableDirectory:
        path = (*self._path, key.name)
        return WritableDirectory(self._file, path, self._keys.below[key.name])

    @ours
    def get(self, where: str, default: Any = None) -> Any:
        """The object at that path, or the default."""
        found = self._find(text(where, "a name"))
        return default if found is None else self[where]

    @ours
    def __getitem__(self, where: str) -> Any:
        """A directory, a table that takes entries, or an object: that which was written, or read
        from the file as it was before.

        A table of the file as it was takes further entries and columns behind those that it has.
        One of an older cycle, or with columns of a form that farroot does not write, can only be
        looked at.

        Raises:
            KeyInFileError: nothing of that name.
        """
        self._file.ensure_open()
        if not text(where, "a name").strip("/"):
            return self
        directory, key = self._found(where)
        if key.classname == DIRECTORY:
            return directory._at(key)
        if isinstance(key.content, tables.Open):
            return key.content.kind(self._file, key.content)
        if isinstance(key.content, (WritableHistogram, WritableGraph)):
            return read_back(key.content)
        if key.content is not None:
            return key.content
        path = (*directory._path, key.name)
        if key.classname in _GROWING:
            try:
                return directory._growing(key, path)
            except UnsupportedError as why:
                return tables.UngrownTable(self._file, path, self._before(key, path), why)
        return self._before(key, path)

    def _before(self, key: Key, path: tuple[str, ...]) -> Any:
        """The object of a key as the file had it."""
        return self._file.before("/".join(path) + f";{key.cycle}")

    def _growing(self, key: Key, path: tuple[str, ...]) -> tables.WritableTable:
        """A table of the file as it was, for further entries.

        Raises:
            UnsupportedError: it gets none.
        """
        if not self._keys.is_newest(key):
            where, newer = f"{key.name};{key.cycle}", f"{key.name!r} has a newer cycle"
            raise UnsupportedError(f"entries for an older cycle, {where!r}: {newer}")
        kind = tables.WritableNTuple if key.classname == _NTUPLE else tables.WritableTree
        table = self._file.grow_table(kind, path)
        self._keys.set_content(key, table)
        return table.kind(self._file, table)

    @ours
    def __delitem__(self, where: str) -> None:
        """Takes an object that :func:`farroot.update` found out of its directory; of several
        cycles the last one. Its record is free then; baskets and pages of tables are not.

        Raises:
            UnsupportedError: for directories, and for objects written since.
        """
        self._file.ensure_open()
        directory, key = self._found(where)
        self._file.core.remove("/".join((*directory._path, key.name)), key.cycle)
        directory._keys.remove(key)

    # Writing.

    @ours
    def mkdir(self, name: str, *, initial_directory_bytes: int | None = None) -> WritableDirectory:
        """A directory, with those that its path names, made where it is not there.

        Args:
            initial_directory_bytes: uproot's; lists of keys take the room that they need.
        """
        self._file.ensure_open()
        directory = self
        for step in filter(None, text(name, "a name").split("/")):
            keys = directory._keys.directory(step)
            directory = WritableDirectory(self._file, (*directory._path, step), keys)
        if directory is not self:
            self._file.core.make_directory("/".join(directory._path))
        return directory

    def _place(self, where: str) -> tuple[WritableDirectory, str]:
        """The directory of a path, made where it is not there, and the name in it."""
        before, _, name = text(where, "a name").strip("/").rpartition("/")
        if not name:
            raise InvalidArgumentError(f"{where!r} is no name")
        if _CYCLE.search(name):
            # ROOT would look for another cycle of another name.
            said = "a name has no cycle, which the file gives: keys(cycle=False) has none"
            raise InvalidArgumentError(f"{where!r}: {said}")
        return (self.mkdir(before) if before else self), name

    @ours
    def __setitem__(self, where: str, obj: Any) -> None:
        self._file.ensure_open()
        self._assign(text(where, "a name"), obj)

    @ours
    def update(
        self, pairs: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), **more: Any
    ) -> None:
        """Writes several objects: names, which may be paths, and the object for each."""
        self._file.ensure_open()
        together = pairs.items() if isinstance(pairs, Mapping) else pairs
        for where, obj in [*map(_pair, together), *more.items()]:
            self._assign(where, obj)

    def _assign(self, where: str, obj: Any) -> None:
        if isinstance(obj, Mapping) and types_of(obj) is not None:
            said = "mkrntuple makes an RNTuple without entries"
            raise InvalidArgumentError(f"types where {where!r} is to have entries: {said}")
        if is_table(obj) and not isinstance(obj, Container):
            self.mkrntuple(where, obj)
        else:
            self._put(where, obj)

    def _put(self, where: str, obj: Any) -> None:
        from .._by_root import NAME, is_pyroot, written_by_root
        from .identify import to_writable

        if is_pyroot(obj):
            with written_by_root(obj) as source:
                self._copy(where, source, NAME)
            return
        directory, name = self._place(where)
        written = to_writable(obj).named(name)
        self._file.core.put("/".join((*directory._path, name)), written.core())
        directory._keys.add(name, written.classname, getattr(written, "read", written))

    def _copy(self, where: str, source: File, at: str) -> None:
        """Puts the object at a path of a file into this one, as it is there."""
        directory, name = self._place(where)
        core = self._file.core
        core.copy("/".join((*directory._path, name)), source._live(), at)
        directory._keys.add(name, source.classname_of(at), source[at])

    @taken
    def mktree(
        self,
        name: str,
        branch_types_or_data: Any,
        title: str = "",
        *,
        counter_name: Callable[[str], str] = tables.counter_name,
        field_name: Callable[[str, str], str] = tables.field_name,
        initial_basket_capacity: int | None = None,
        resize_factor: float | None = None,
        titles: Mapping[str, str] | None = None,
        cluster: str | int | None = None,
        jagged: str | None = None,
    ) -> WritableTree:
        """A TTree, empty or with its first entries.

        Args:
            name: Its name, or path.
            branch_types_or_data: Types by name (of NumPy, also with a shape, of Awkward, or as
                Awkward spells them: ``"var * float32"``), or data as :meth:`WritableTree.extend`
                takes them.
            counter_name: From the name of a column of lists to that of the branch with their
                lengths, which columns may share.
            field_name: From the names of a column of records and of a field to that of a branch.
            initial_basket_capacity, resize_factor: uproot's; lists of baskets take the room that
                they need.
            titles: Descriptions of columns, by name; of others, and of a tree without a title,
                Awkward's parameter ``__doc__``.
            cluster: As for :func:`recreate`.
            jagged: As for :func:`recreate`.

        Raises:
            UnsupportedError: for types that a tree cannot hold.
        """
        title = text(title, "title") or doc_of(branch_types_or_data)
        said = texts(titles, "titles")
        for function in (counter_name, field_name):
            if not callable(function):
                raise ArgumentTypeError(f"a function gives names to branches, not {function!r}")
        is_vector = _options.is_vector(jagged or self._file.options["jagged"])
        options = {"title": title, "cluster": cluster, "jagged": jagged}

        def make(path: tuple[str, ...], columns: Columns) -> tables.Open:
            names = tables.TreeNames(columns.types, counter_name, field_name, is_vector)
            names.refuse_collisions(columns.types)
            for counter in names.counters.values():
                if counter in columns.types:
                    columns.types[counter] = COUNTER
            core = self._file.make_tree("/".join(path), columns, names, said, options)
            of_all = tables.Compressions(self.compression)
            return tables.Open(tables.WritableTree, path, core, columns, names, of_all)

        tree: WritableTree = self._make_table(name, branch_types_or_data, "TTree", make)
        return tree

    @taken
    def mkrntuple(
        self,
        name: str,
        type_spec_or_data: Any,
        description: str = "",
        *,
        titles: Mapping[str, str] | None = None,
        cluster: str | int | None = None,
    ) -> WritableNTuple:
        """An RNTuple, empty or with its first entries.

        Args:
            name: Its name, or path.
            type_spec_or_data: As for :meth:`mktree`; lists, records and values that may be
                missing go as deep as you like.
            description: The description of the table.
            titles: The same of fields, by name.
            cluster: As for :func:`recreate`.
        """
        title = text(description, "description") or doc_of(type_spec_or_data)
        options = {"title": title, "cluster": cluster}
        said = texts(titles, "titles")

        def make(path: tuple[str, ...], columns: Columns) -> tables.Open:
            names = tables.TreeNames({})
            core = self._file.make_ntuple("/".join(path), columns, said, options)
            of_all = tables.Compressions(self.compression)
            return tables.Open(tables.WritableNTuple, path, core, columns, names, of_all)

        ntuple: WritableNTuple = self._make_table(name, type_spec_or_data, _NTUPLE, make)
        return ntuple

    def _make_table(
        self,
        where: str,
        said: Any,
        classname: str,
        make: Callable[[tuple[str, ...], Columns], tables.Open],
    ) -> Any:
        """A table of types, or of the first batch of data, with all of these."""
        self._file.ensure_open()
        types = types_of(said)
        first: dict[str, Any] | None = None
        rest: Iterator[dict[str, Any]] = iter(())
        if types is None:
            rest = batches(said)
            first = next(rest, None)
            if first is None:
                raise InvalidArgumentError(f"no batch to take the types of {where!r} from")
            columns = Columns.of(first, has_options=classname != "TTree")
        else:
            columns = Columns(types, docs_of(said))
        directory, name = self._place(where)
        table = make((*directory._path, name), columns)
        directory._keys.add(name, classname, table)
        made = table.kind(self._file, table)
        if first is not None:
            made.add(first)
        for batch in rest:
            made.add(batch)
        return made

    @taken
    def copy_from(
        self,
        source: Any,
        *,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        rename: Callable[[str], str] | Mapping[str, str] | None = None,
        require_matches: bool = True,
    ) -> None:
        """Copies objects of any class from a file that farroot has opened, as they are.

        All cycles of a name are copied, and the newest stays the newest; directories come too.

        Args:
            source: A :class:`farroot.File` or :class:`farroot.Directory`.
            filter_name, filter_classname: Which, as for :meth:`Directory.classnames`.
            rename: From old to new paths.
            require_matches: Whether that nothing is copied is an error.
        """
        self._file.ensure_open()
        if not hasattr(source, "classnames"):
            kind = type(source).__name__
            raise ArgumentTypeError(f"copy_from copies from a file that is open, not a {kind}")
        chosen = source.classnames(filter_name=filter_name, filter_classname=filter_classname)
        if not chosen and require_matches:
            raise InvalidArgumentError(f"nothing in {source!r} has a name like {filter_name!r}")
        for key, classname in _oldest_first(chosen):
            if classname.startswith("TDirectory"):
                self.mkdir(_renamed(key.rpartition(";")[0], rename))
                continue
            if classname in ("TTree", _NTUPLE):
                raise UnsupportedError(f"{key!r} is a {classname}, which copy_from does not copy")
            self._put_copied(_renamed(key.rpartition(";")[0], rename), source, key)

    def _put_copied(self, where: str, source: Any, key: str) -> None:
        from ..file import Directory

        if not isinstance(source, Directory):
            # Of uproot.
            self._put(where, source[key])
            return
        try:
            self._copy(where, source.file, source._below(key))
        except UnsupportedError as why:
            # A histogram can be written without the members that are not understood.
            try:
                self._put(where, source[key])
            except UnsupportedError:
                raise why from None


def _pair(pair: Any) -> tuple[str, Any]:
    """A name, and the object for it."""
    if isinstance(pair, (tuple, list)) and len(pair) == 2:
        return text(pair[0], "a name"), pair[1]
    raise ArgumentTypeError(f"update takes a dict, or pairs of a name and an object, not {pair!r}")


def _oldest_first(classnames: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys and classes with the cycles of a name in the order in which they were written, where
    that name comes first: who writes them gives them cycles anew."""
    first: dict[str, int] = {}

    def place(key: str) -> tuple[int, int]:
        name, _, cycle = key.rpartition(";")
        return first.setdefault(name, len(first)), int(cycle)

    return sorted(classnames.items(), key=lambda pair: place(pair[0]))


def _renamed(path: str, rename: Any) -> str:
    if rename is None:
        return path
    if isinstance(rename, Mapping):
        return text(rename.get(path, path), "a name in rename")
    if callable(rename):
        with by_caller():
            renamed = rename(path)
        return text(renamed, "the result of rename")
    raise ArgumentTypeError(f"rename is a function or a dict, not {rename!r}")
