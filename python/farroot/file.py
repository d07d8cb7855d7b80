"""Files and the directories in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload
from uuid import UUID
from weakref import WeakValueDictionary

from . import _core, _html, _unfinished
from ._addresses import Address, split, uncycled
from ._classes import make
from ._credentials import Access
from ._filters import Filter, predicate
from ._imports import package
from ._kinds import as_table, makes, open_table
from ._process import Live, NothingToClose
from ._registry import opaque
from ._shown import shown, shown_lines
from ._table import warn_if_recovered
from ._uproot import Explained, taken
from .errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    KeyInFileError,
    UnreadableWarning,
    UnsupportedError,
    warn,
)
from .keys import Key
from .objects import Object, Origin, Stored, made
from .reports import IoReport, Timeline, timeline
from .streamers import StreamerInfo, dependencies, streamers_of

if TYPE_CHECKING:
    from ._named import Writable
    from ._types import Credentials
    from .handler import Source
    from .interpretation.identify import OfCpp
    from .ntuple import Field, RNTuple
    from .tree import Branch, Tree

#: Classes that :class:`Tree` and :class:`RNTuple` read.
TREE_CLASSES = ("TTree", "TNtuple", "TNtupleD")
NTUPLE_CLASSES = ("ROOT::RNTuple", "ROOT::Experimental::RNTuple")
#: Where the objects of a file come from, and the number and the size of the file.
_Source = tuple[Origin, tuple[int | None, int]]
#: Path, cycle, class and title, and why a directory could not be listed.
_Key = tuple[str, int, str, str, str | None]


class Record(NamedTuple):
    """A record at one offset of a file."""

    offset: int
    stored_bytes: int
    #: Class of an object; ``header``, ``key list`` and ``free list`` of the file; ``page``,
    #: ``header``, ``footer`` and ``page list`` of RNTuples; ``gap``.
    classname: str
    #: Path in the file, with the branch of a basket or the field of a page.
    name: str
    #: Uncompressed by stored bytes, of a basket those of its branch; None where no record says.
    compression: float | None


@overload
def open(  # noqa: A001
    path: os.PathLike[str] | Mapping[Any, None],
    **credentials: Unpack[Credentials],
) -> File: ...


@overload
def open(  # noqa: A001
    path: str | Mapping[Any, str | None],
    **credentials: Unpack[Credentials],
) -> File | Tree | RNTuple | Any: ...


@taken
def open(  # noqa: A001
    path: Address | Mapping[Any, str | None],
    **credentials: Unpack[Credentials],
) -> Any:
    """Opens a file, or something in it.

    Credentials that are not named are looked for in the usual places:
    :func:`farroot.credentials` lists them.

    Args:
        path: A URL (``root://``, ``https://``, ``s3://``, ``osdf://``, ...) or a local path,
            with ``:object/path`` after it for something in the file; several URLs of the same
            file, with ``|`` between them, are read from at the same time; a path-like object,
            which is never split; or a dict of one file and the path in it.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Returns:
        A :class:`File`; with a path in it, the :class:`Tree`, :class:`RNTuple`,
        :class:`Directory`, :class:`Branch` or other object there, as ``file[path]`` gives it.

    Raises:
        NotFoundError: no such file.
        KeyInFileError: nothing of that name in the file.

    Example:
        >>> farroot.open("events.root").keys()
        ['pt;1', 'points;1', 'about;1', 'about/selection;1', 'Events;1']
        >>> farroot.open("events.root:Events").num_entries
        4
        >>> farroot.open({"events.root": "Events/Muon_pt"}).array()
        <Array [[30, 12], [], [45], [5]] type='4 * var * float64'>
    """
    url, within = split(path)
    url = Access(**credentials).added_to(url)
    _unfinished.warn_if_unfinished(url)
    if within is None:
        return File(url)
    try:
        return open_table(url, within)
    except (KeyInFileError, UnsupportedError):
        # Not a tree: a directory, a branch, or a name for which the file gives better advice.
        return File(url)[within]


class Directory(NothingToClose, Explained):
    """A mapping from names to the objects in a directory of a file.

    Keys are ``name;cycle`` or, below directories, ``directory/name;cycle``; without a cycle, it is
    the highest one.

    Example:
        >>> about = farroot.open("events.root:about")
        >>> about.keys()
        ['selection;1']
        >>> about["selection"]
        'all events'
    """

    def __init__(self, file: File, path: str) -> None:
        self._file = file
        self._path = path

    @property
    def file(self) -> File:
        """The file that the directory is in."""
        return self._file

    @property
    def object_path(self) -> str:
        """Where the directory is in the file: ``/one/two/``; at the top ``/``."""
        return f"/{self._path}/" if self._path else "/"

    @property
    def cache_key(self) -> str:
        """A text that identifies the directory: UUID (or URL) of its file, and its path."""
        return f"{self._file.uuid or self.url}:{self.object_path}"

    @property
    def url(self) -> str:
        """The file's address, without secrets."""
        return self._file._url_shown

    @property
    def file_path(self) -> str:
        """As :attr:`url`; uproot's name for it."""
        return self.url

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._file.closed

    def close(self) -> None:
        """Closes the file; trees that were taken from it can still be read."""
        self._file.close()

    def classnames(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> dict[str, str]:
        """Classes of the objects, by key.

        Args:
            recursive: Whether objects in directories below come too.
            cycle: Whether keys end with ``;cycle``.
            filter_name: None, a name, a glob, ``"/regex/flags"``, a function of a name, or
                several of these; tried on the key without its cycle.
            filter_classname: The same, for the class.
        """
        by_name, by_class = predicate(filter_name), predicate(filter_classname)
        prefix = f"{self._path}/" if self._path else ""
        found: dict[str, str] = {}
        for path, number, classname, *_ in self._file._keys():
            if not path.startswith(prefix):
                continue
            name = path[len(prefix) :]
            if (recursive or "/" not in name) and by_name(name) and by_class(classname):
                found.setdefault(f"{name};{number}" if cycle else name, classname)
        return found

    def keys(self, **filters: Any) -> list[str]:
        """Names of the objects; the arguments are those of :meth:`classnames`."""
        return list(self.classnames(**filters))

    def items(self, **filters: Any) -> list[tuple[str, Any]]:
        """Names and objects, all of which are read; arguments as for :meth:`classnames`.

        They are requested together: of a file that is far away, many cost as many round trips as
        one. ``filter_name=["this", "that/*"]`` names some of them.
        """
        return list(self.iteritems(**filters))

    def values(self, **filters: Any) -> list[Any]:
        """The objects, all of which are read: of each name the newest; see :meth:`items`."""
        return list(self.itervalues(**filters))

    def iterkeys(self, **filters: Any) -> Iterator[str]:
        """The names of :meth:`keys`, one by one."""
        return iter(self.keys(**filters))

    def itervalues(self, **filters: Any) -> Iterator[Any]:
        """The objects of :meth:`values`, one by one; the next ones are on their way."""
        return (value for _, value in self.iteritems(cycle=False, **filters))

    def iteritems(self, *, cycle: bool = True, **filters: Any) -> Iterator[tuple[str, Any]]:
        """The pairs of :meth:`items`, one by one; the next ones are on their way."""
        # Without its cycle a name is that of the newest.
        keys = self.keys(cycle=cycle, **filters)
        paths = [self._below(key) for key in keys]
        core = self._file._live()
        contents = core.contents(paths, opaque())
        source = self._source_of(core)
        for key, path in zip(keys, paths, strict=True):
            found = contents.next(make)
            if found is not None:
                yield key, self._made(path, *found, source)

    def iterclassnames(self, **filters: Any) -> Iterator[tuple[str, str]]:
        """The pairs of :meth:`classnames`, one by one."""
        return iter(self.classnames(**filters).items())

    def get(self, where: str, default: Any = None) -> Any:
        """As ``self[where]``, or the default where nothing has that name."""
        try:
            return self[where]
        except KeyInFileError:
            return default

    def classname_of(
        self,
        where: str,
        encoded: Literal[False] = False,
        version: None = None,
        recursive: bool = True,
    ) -> str:
        """The class of the object at a path, which is not read.

        Args:
            where: Its key or path.
            encoded, version: Classes have the names that the file gives them.
            recursive: Whether it may be in a directory below.

        Raises:
            KeyInFileError: nothing of that name.
        """
        below = self._below(where)
        if encoded or version is not None:
            raise ArgumentTypeError("classes have the names that the file gives them")
        if not recursive and "/" in where.strip("/"):
            raise KeyInFileError(f"{where!r} is not directly in the directory; in {self.url}")
        return self._file._live().class_at(below)

    def key(self, where: str) -> Key:
        """The key (``TKey``) of the object at a path; the object is not read.

        Raises:
            KeyInFileError: nothing of that name.
        """
        return Key.of(self._file._live().key(self._below(where)))

    def title_of(self, where: str, recursive: bool = True) -> str:
        """The title that the directory keeps with the object at a path, which is not read.

        Args:
            where, recursive: As for :meth:`classname_of`.

        Raises:
            KeyInFileError: nothing of that name.
        """
        # Its error names the objects that there are.
        self.classname_of(where, recursive=recursive)
        return self.key(where).fTitle

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories from the top to here; empty at the top."""
        return tuple(self._path.split("/")) if self._path else ()

    @property
    def parent(self) -> Directory | None:
        """The directory that this one is in; None at the top."""
        if not self._path:
            return None
        above = self._path.rpartition("/")[0]
        return Directory(self._file, above) if above else self._file

    def __getitem__(self, where: str) -> Any:
        """The tree, RNTuple, directory, branch or field (``tree/branch``) or object at a path.

        Histograms, graphs and objects of any other class that the file describes are
        :class:`~farroot.objects.Object`; collections of ROOT and strings are Python's own, those of
        the standard library are of :mod:`farroot.containers`.

        Raises:
            KeyInFileError: nothing of that name.
            UnsupportedError: an object that cannot be read, with the reason.
        """
        if isinstance(where, str) and ":" in where:
            try:
                return self._at(self._below(where))
            except KeyInFileError:
                # Not a name with a colon in it, but uproot's way to name an object within another.
                where = where.replace(":", "/")
        return self._at(self._below(where))

    def _below(self, where: str) -> str:
        if not isinstance(where, str):
            raise ArgumentTypeError(
                f"what is in a file has a name, and {where!r} is none; keys() lists the names"
            )
        path = "/".join(part for part in where.split("/") if part)
        return f"{self._path}/{path}" if self._path else path

    def _at(self, path: str) -> Any:
        """The object at a path of the file."""
        try:
            kind, value = self._file._live().content(path, make, opaque())
        except KeyInFileError:
            branch = self._branch_at(path)
            if branch is None:
                raise
            return branch
        return self._made(path, kind, value)

    def _source_of(self, core: _core.File) -> _Source:
        return Origin(self.url), (core.uuid, core.size)

    def _made(self, path: str, kind: str, value: Any, source: _Source | None = None) -> Any:
        """The object that the engine has found at a path, as it is handed out."""
        if kind == "table":
            return self._file._same(path, value)
        if kind == "directory":
            return Directory(self._file, uncycled(path))
        found = made(value)
        if isinstance(found, Object):
            core = self._file._live()
            origin, version = source or self._source_of(core)
            found.read_from(origin, Stored(self._file._url, path, version))
            return found
        return _contained(self._file._live().class_at(path), found)

    def _branch_at(self, path: str) -> Branch | Field | None:
        """The branch or field at a path that leads into a tree or an RNTuple."""
        core, parts = self._file._live(), path.split("/")
        for end in range(1, len(parts)):
            table, name = "/".join(parts[:end]), "/".join(parts[end:])
            try:
                classname = core.class_at(table)
            except KeyInFileError:
                continue
            if classname in TREE_CLASSES:
                tree: Tree = self._file._same(table, core.tree(table))
                return tree[name]
            if classname in NTUPLE_CLASSES:
                ntuple: RNTuple = self._file[table]
                # The name may be meant for an attribute set: then the engine's error stays.
                return None if name not in ntuple and ntuple.attributes else ntuple[name]
        return None

    def __contains__(self, where: object) -> bool:
        if not isinstance(where, str):
            return False
        try:
            self._file._live().class_at(self._below(where))
        except KeyInFileError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __bool__(self) -> bool:
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys(cycle=False)

    def _repr_html_(self) -> str:
        prefix = f"{self._path}/" if self._path else ""
        rows = [
            (f"{path.removeprefix(prefix)};{cycle}", classname, title)
            for path, cycle, classname, title, _ in self._file._keys()
            if path.startswith(prefix)
        ]
        left = len(rows) - _html.ROWS_MAX
        more = f"and {left:,} more: keys() lists all names" if left > 0 else ""
        shown = rows[: _html.ROWS_MAX]
        return _html.page(repr(self), _html.table(("name", "class", "title"), shown, more))

    def __repr__(self) -> str:
        return shown(f"<{type(self).__name__} {'/' + self._path!r} in {self.url}>")


def _contained(classname: str, value: Any) -> Any:
    """A collection of C++ as uproot's container; any other value unchanged."""
    if "<" not in classname:
        return value
    from .containers import of_class

    return of_class(classname, value)


class File(Directory):
    """An open ROOT file, which is also its top directory; a context manager.

    It survives ``pickle`` and ``os.fork`` by its address: in another process, it is opened again
    when first used.

    Example:
        >>> with farroot.open("events.root") as file:
        ...     print(file.keys(cycle=False))
        ...     arrays = file["Events"].arrays(["MET_pt"])
        ['pt', 'points', 'about', 'about/selection', 'Events']
    """

    def __init__(self, url: str) -> None:
        self._url_shown = url
        url = _core.for_others(url)
        self._take(_opened(url), url)

    @classmethod
    def of(cls, core: _core.File, url: str) -> File:
        """A file that is open already."""
        file = cls.__new__(cls)
        file._take(core, url)
        return file

    @property
    def _file(self) -> File:  # type: ignore[override]
        """Itself. An attribute would be a cycle, which keeps the file open until Python looks for
        those that it can drop."""
        return self

    def _take(self, core: _core.File | None, url: str) -> None:
        self._path = ""
        self._url = url
        self._url_shown = _core.shown_address(url) if core is None else core.url
        self._core: Live[_core.File] | None = Live(core, partial(_opened, url))
        self._known_keys: list[_Key] | None = None
        self._streamers: dict[str, dict[int, StreamerInfo]] | None = None
        self._source: Source | None = None
        #: Trees and RNTuples that the caller still refers to, by path and cycle.
        self._in_use: WeakValueDictionary[str, Any] = WeakValueDictionary()

    def _same(self, path: str, core: _core.Table) -> Any:
        """The tree or RNTuple at a path: one object for as long as the caller refers to it."""
        try:
            where = f"{uncycled(path)};{self._live().key(path).cycle}"
        except KeyInFileError:
            # An attribute set, which no directory lists.
            return as_table(core, self._url, path)
        if (known := self._in_use.get(where)) is not None:
            return known
        return self._in_use.setdefault(where, as_table(core, self._url, path))

    def _live(self) -> _core.File:
        """The engine's file, opened again after a fork."""
        if self._core is None:
            raise InvalidArgumentError(f"the file was closed: {self._url_shown}")
        return self._core.here()

    def _keys(self) -> list[_Key]:
        if self._known_keys is None:
            self._known_keys = self._live().keys(True)
            for path, *_, problem in self._known_keys:
                if problem is not None:
                    warn(f"{path} is not listed: {problem}", UnreadableWarning)
        return self._known_keys

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self._live().size

    def map(self) -> list[Record]:
        """Every record that the file's lists name, and the gaps between them, by offset.

        It costs a few round trips, however many records there are.
        """
        return [Record(*record) for record in self._live().map()]

    @property
    def uuid(self) -> UUID | None:
        """The number that the file has of its own; None where its head is cut."""
        number = self._live().uuid
        return None if number is None else UUID(int=number)

    @property
    def root_version_tuple(self) -> tuple[int, int, int]:
        """The version of ROOT that wrote the file, or the one that its writer claims to be
        like."""
        version = self._live().root_version
        return version // 10000, version // 100 % 100, version % 100

    @property
    def root_version(self) -> str:
        """The same as text: ``"6.28/06"``."""
        major, minor, patch = self.root_version_tuple
        return f"{major}.{minor:02d}/{patch:02d}"

    @property
    def streamers(self) -> dict[str, dict[int, StreamerInfo]]:
        """How the file describes its classes, by name and version."""
        if self._streamers is None:
            self._streamers = streamers_of(self._live().streamers())
        return self._streamers

    def show_streamers(self, classname: str | None = None, stream: Writable | None = None) -> None:
        """Prints how the file describes its classes.

        Args:
            classname: Which of them, after those that it is made of; None is all, by name.
            stream: Where to write, an object with a ``write(str)`` method; None is ``stdout``.

        Raises:
            KeyInFileError: for a class that the file does not describe.
        """
        if classname is None:
            described = sorted(self.streamers.items())
            texts = [info.text() for _, versions in described for info in versions.values()]
        else:
            known = dependencies(self.streamers, self._described(classname))
            texts = [info.text() for info in known]
        (stream or sys.stdout).write(shown_lines("\n".join(texts)))

    def streamer_named(
        self, classname: str, version: int | Literal["min", "max"] = "max"
    ) -> StreamerInfo | None:
        """How the file describes a class; None where it does not.

        Args:
            classname: Its name in C++.
            version: Which version of the class; ``"max"`` is the latest, ``"min"`` the first.
        """
        versions = self.streamers.get(classname, {})
        if version in ("min", "max"):
            return (
                versions[max(versions) if version == "max" else min(versions)] if versions else None
            )
        return versions.get(int(version))

    def streamers_named(self, classname: str) -> list[StreamerInfo]:
        """How the file describes each version of a class."""
        return list(self.streamers.get(classname, {}).values())

    def streamer_dependencies(
        self, classname: str, version: int | Literal["min", "max"] = "max"
    ) -> list[tuple[str, int]]:
        """The classes that a class is made of, and itself at last, each with its version.

        Raises:
            KeyInFileError: for a class that the file does not describe.
        """
        info = self._described(classname, version)
        return [(each.name, each.class_version) for each in dependencies(self.streamers, info)]

    def class_named(
        self, classname: str, version: int | Literal["min", "max"] | None = None
    ) -> OfCpp:
        """A Python class for a C++ class that the file describes, for ``isinstance``.

        Args:
            classname: Its name in C++.
            version: As for :meth:`streamer_named`; None is any version.

        Raises:
            KeyInFileError: for a class that the file does not describe.
        """
        from .interpretation.identify import model_named

        info = self._described(classname, "max" if version is None else version)
        return model_named(classname, None if version is None else info.class_version)

    def _described(
        self, classname: str, version: int | Literal["min", "max"] = "max"
    ) -> StreamerInfo:
        info = self.streamer_named(classname, version)
        if info is None:
            raise KeyInFileError(f"no class {classname!r} is described; in {self.url}")
        return info

    @property
    def closed(self) -> bool:
        return self._core is None

    def close(self) -> None:
        """Lets go of the file; trees that were taken from it can still be read."""
        self._core = None
        if self._source is not None:
            self._source.close()

    @property
    def source(self) -> Source:
        """The bytes of the file, as a source of uproot: ``source.chunk(0, 100).raw_data``.

        It opens the file once more, and has its own counters, such as ``num_requested_bytes``.

        Raises:
            NotInstalledError: without uproot, which :func:`farroot.open_bytes` does not need.
        """
        if self._source is None or self._source.closed:
            package("uproot", "'uproot>=5.2'")
            from .handler import Source

            self._source = Source(self._url)
        return self._source

    @property
    def root_directory(self) -> File:
        """The file itself; uproot's name for its top directory."""
        return self

    def report(self) -> IoReport:
        """The cost of reading the file so far: bytes, requests, round trips, time."""
        return IoReport(_core.report(self._live()))

    def timeline(self, path: str | os.PathLike[str] | None = None, *, width: int = 72) -> Timeline:
        """The requests for the file over time; see :meth:`Tree.timeline`."""
        return timeline(self._live(), path, width)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _later, (self._url,)


def _opened(url: str) -> _core.File:
    core = _core.open_file(url)
    warn_if_recovered(core)
    return core


def _later(url: str) -> File:
    """A file that is opened when it is first used."""
    file = File.__new__(File)
    file._take(None, url)
    return file


makes("file")(File.of)
