"""The engine, as thin as it can be: columns are read here, and given their shape in Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .errors import Error

__version__: str

__all__ = [
    "Batches",
    "Contents",
    "CopyProgress",
    "File",
    "Lazy",
    "LeftOut",
    "List",
    "Mark",
    "Marked",
    "Ntuple",
    "Numbers",
    "Opens",
    "Optional",
    "Parts",
    "Record",
    "Regular",
    "Source",
    "Strings",
    "Tree",
    "Union",
    "__version__",
    "call_while_waiting",
    "chain",
    "configure",
    "copy",
    "main",
    "mark",
    "matching",
    "open_file",
    "open_table",
    "open_tables",
    "parse_bytes",
    "parts",
    "report",
    "slices",
    "split_tree",
    "strings",
    "timeline",
]

@final
class Numbers:
    """Numbers; the array's first dimension is the entry."""

    __match_args__ = ("array",)
    @property
    def array(self) -> NDArray[Any]: ...

@final
class List:
    """Entry ``i`` is ``content[offsets[i]:offsets[i + 1]]``."""

    __match_args__ = ("offsets", "content")
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def content(self) -> Column: ...

@final
class Strings:
    """Entry ``i`` is ``bytes[offsets[i]:offsets[i + 1]]``, in whatever encoding was written."""

    __match_args__ = ("offsets", "bytes")
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def bytes(self) -> NDArray[np.uint8]: ...

@final
class Record:
    """Fields of equal length."""

    __match_args__ = ("name", "length", "fields")
    @property
    def name(self) -> str | None:
        """The class; None for a leaf list."""

    @property
    def length(self) -> int: ...
    @property
    def fields(self) -> list[tuple[str, Column]]: ...

@final
class Regular:
    """Entry ``i`` is ``content[i * size:(i + 1) * size]``."""

    __match_args__ = ("size", "length", "content")
    @property
    def size(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def content(self) -> Column: ...

@final
class Optional:
    """Entry ``i`` is ``content[index[i]]``, or missing where that is -1."""

    __match_args__ = ("index", "content")
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def content(self) -> Column: ...

@final
class Union:
    """Entry ``i`` is ``contents[tags[i]][index[i]]``, or missing where the tag is -1."""

    __match_args__ = ("tags", "index", "contents")
    @property
    def tags(self) -> NDArray[np.int8]: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def contents(self) -> list[Column]: ...

@final
class Marked:
    """The same entries as ``content``, with a meaning: Awkward's parameter ``__array__``."""

    __match_args__ = ("mark", "content")
    @property
    def mark(self) -> str: ...
    @property
    def content(self) -> Column: ...

Column = Numbers | List | Strings | Record | Regular | Optional | Union | Marked

#: A field in the lists that it is in or, with fields to keep, one at the top with only those.
FieldKey = tuple[int, Sequence[int] | None]
#: A column of a friend: that one's name, the path in it and, of a field, those in it to keep.
FriendKey = tuple[str, str] | tuple[str, str, Sequence[str] | None]
BranchKey = int | FriendKey
AnyFieldKey = FieldKey | FriendKey
#: Friends that are open, by name.
NamedFriends = Sequence[tuple[str, "Tree | Ntuple"]]
#: Address and path of a table; of each column its name, pieces, stored and decoded bytes, first and
#: last byte; the ranges of bytes.
Outline = tuple[
    str,
    str,
    list[tuple[str, int, int, int, tuple[int, int] | None]],
    list[tuple[int, int]],
]
#: Address and path of a table, and itself where it is open.
Where = tuple[str, str | None, "Tree | Ntuple | None"]
#: The same, which of its entries, if not all, and its friends.
Located = tuple[
    str, str | None, "Tree | Ntuple | None", tuple[int, int] | None, Sequence[tuple[str, Where]]
]
#: From the deciding columns and the number of entries to which of these stay; called on any thread.
Mask = Callable[[list[Column], int], NDArray[np.bool_]]
#: First and last entry (half open) of each run of entries that a cut has left; None without a cut.
Survivors = NDArray[np.int64] | None

@final
class LeftOut:
    """A column that nobody has named and whose data cannot be read."""

    @property
    def reason(self) -> str: ...

#: Gives an object of a class and version, to be filled by the source, or already being filled.
_Make = Callable[[str, int, Source | None], Any]

@final
class Source:
    """Where the members of one object are."""

    def fill(self, instance: Any) -> None:
        """Calls the object's ``fill`` or ``lack``, once."""

@final
class File:
    @property
    def url(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def is_recovered(self) -> bool:
        """The file was never closed, and has what had been saved before."""

    def keys(self, recursive: bool) -> list[tuple[str, int, str, str, str | None]]:
        """Path, cycle, class and title of each key, and why a directory could not be listed."""

    def map(self) -> list[tuple[int, int, str, str, float | None]]:
        """Offset, stored bytes, class, name and compression of every record, gaps included."""

    def tree(self, path: str) -> Tree: ...
    def table(self, path: str) -> Tree | Ntuple: ...
    @property
    def root_version(self) -> int: ...
    @property
    def uuid(self) -> int | None:
        """The file's own number; None where its head is cut."""

    def streamers(
        self,
    ) -> list[tuple[str, int, int, list[tuple[str, str, str, str, int, list[int], int]]]]: ...
    def class_at(self, path: str) -> str: ...
    def object(self, path: str, make: _Make, opaque: set[str]) -> Any:
        """The object that ``make(classname, version, source)`` gives for the one of that path.

        Objects of opaque classes are left as bytes.
        """

    def content(self, path: str, make: _Make, opaque: set[str]) -> tuple[str, Any]:
        """What is at a path: ``"table"`` and a tree or RNTuple, ``"directory"`` and None, or
        ``"object"`` and what ``make`` gives for the one of that path."""

    def contents(self, paths: list[str], opaque: set[str]) -> Contents:
        """What is at each of these paths, asked for together."""

@final
class Contents:
    def next(self, make: _Make) -> tuple[str, Any] | None:
        """As :meth:`File.content`, of the next path; None behind the last."""

@final
class Tree:
    @property
    def file(self) -> File: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    @property
    def aliases(self) -> list[tuple[str, str]]: ...
    def branches(self) -> list[tuple[str, int | None]]:
        """Name and parent of each branch, by number, in the tree's depth-first order."""

    def bytes(self) -> tuple[int, int]:
        """Compressed and uncompressed bytes of all baskets."""

    def branch_title(self, branch: int) -> str: ...
    def branch_bytes(self, branch: int) -> tuple[int, int, int]:
        """Compressed and uncompressed bytes, and number of baskets."""

    def baskets(self, branch: int) -> list[tuple[int, int, tuple[int, int] | None]]:
        """Of each basket its entries (half open), and its record in the file (half open)."""

    def branch_entries(self, branch: int) -> int: ...
    def typename(self, branch: int) -> str: ...
    def read_as_bytes(self, branch: int) -> None:
        """From now on the branch is a column of strings, the bytes of its entries."""

    def friend_places(self) -> list[tuple[str, str, str]]:
        """Name, path in its file and file of each friend; no file for the tree's own."""

    def friend(self, name: str) -> Tree | Ntuple:
        """Opens a friend."""

    def links(self) -> list[tuple[str, str, int, int]] | None:
        """Address, path and entries (half open) of each tree of a chain."""

    def index(
        self,
    ) -> tuple[str, str, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Expressions of the major and the minor number, these, and their entries."""

    def is_group(self, branch: int) -> bool: ...
    def datashape(self, branch: int) -> str:
        """The type of an entry, in Awkward's spelling; UnsupportedError where there is none."""

    def read(
        self,
        branches: Sequence[tuple[BranchKey, bool]],
        start: int,
        stop: int,
        cut: tuple[Sequence[BranchKey], Mask] | None = None,
        *,
        friends: NamedFriends = ...,
    ) -> tuple[Survivors, list[Column | LeftOut]]:
        """Survivors and columns of branches, each with whether it may be left out."""

    def batches(
        self,
        branches: Sequence[tuple[BranchKey, bool]],
        start: int,
        stop: int,
        cut: tuple[Sequence[BranchKey], Mask] | None = None,
        *,
        friends: NamedFriends = ...,
        step_entries: int | None = None,
        step_bytes: int | None = None,
    ) -> Batches: ...
    def lazy(
        self,
        branches: Sequence[BranchKey],
        start: int,
        stop: int,
        *,
        friends: NamedFriends = ...,
        step_entries: int | None = None,
        step_bytes: int | None = None,
    ) -> Lazy:
        """Batches of which nothing is read before it is asked for."""

    def plan(
        self,
        branches: Sequence[tuple[BranchKey, bool]],
        start: int,
        stop: int,
        *,
        friends: NamedFriends = ...,
    ) -> list[Outline]:
        """What reading would fetch, table by table."""

@final
class Lazy:
    def next(self) -> tuple[int, int] | None:
        """First and last entry (half open) of the next batch; None after the last one."""

    def get(self, column: int, start: int, stop: int) -> Column:
        """The values of the column at a position: of the present batch, or for themselves."""

    def empty(self, column: int) -> Column:
        """What the column at a position looks like without entries."""

@final
class Ntuple:
    @property
    def file(self) -> File: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    def fields(self) -> list[tuple[str, int | None, str, str]]:
        """Name, number of the one above, C++ type and description of each field."""

    def attribute_sets(self) -> list[str]:
        """Names of the attribute sets that are linked to it; of a chain none is."""

    def attribute_set(self, name: str) -> Ntuple:
        """Opens an attribute set; KeyInFileError where there is none of that name."""

    def schema_version(self) -> tuple[int, int] | None:
        """Of an attribute set, which version its fields have: major and minor."""

    def ranges(self) -> NDArray[np.int64]:
        """Of an attribute set, first and last entry (half open) that each entry is about."""

    def datashape(self, column: FieldKey) -> str:
        """The type of an entry, in Awkward's spelling; UnsupportedError where there is none."""

    def read(
        self,
        wanted: Sequence[AnyFieldKey],
        start: int,
        stop: int,
        cut: tuple[Sequence[AnyFieldKey], Mask] | None = None,
        *,
        friends: NamedFriends = ...,
    ) -> tuple[Survivors, list[Column]]: ...
    def batches(
        self,
        wanted: Sequence[AnyFieldKey],
        start: int,
        stop: int,
        cut: tuple[Sequence[AnyFieldKey], Mask] | None = None,
        *,
        friends: NamedFriends = ...,
        step_entries: int | None = None,
        step_bytes: int | None = None,
    ) -> Batches: ...
    def lazy(
        self,
        wanted: Sequence[AnyFieldKey],
        start: int,
        stop: int,
        *,
        friends: NamedFriends = ...,
        step_entries: int | None = None,
        step_bytes: int | None = None,
    ) -> Lazy:
        """Batches of which nothing is read before it is asked for."""

    def plan(
        self,
        wanted: Sequence[AnyFieldKey],
        start: int,
        stop: int,
        *,
        friends: NamedFriends = ...,
    ) -> list[Outline]:
        """What reading would fetch, table by table."""

    def links(self) -> list[tuple[str, str, int, int]] | None:
        """Address, path and entries (half open) of each RNTuple of a chain."""

@final
class Batches:
    @property
    def steps(self) -> int | None:
        """How many there are in all, where that is known beforehand."""

    def next(self) -> tuple[int, int, Survivors, list[Column | LeftOut]] | None:
        """First and last entry (half open), survivors and columns; None after the last batch."""

@final
class Opens:
    def next(self) -> Tree | Ntuple | None: ...

@final
class Parts:
    def next(self) -> tuple[int, int, int, Survivors, list[Column | LeftOut]] | None:
        """Number of the place, entries (half open) in its tree, survivors and columns."""

    def skipped(self) -> list[tuple[int, str | None, tuple[int, int] | None, Error]]:
        """What has been left out since this was asked last."""

def chain(places: Sequence[Located]) -> Tree | Ntuple:
    """The tables of many places as one, those without a known number of entries opened."""

def matching(pattern: str) -> list[str]: ...
def open_file(url: str) -> File: ...
def open_table(url: str, path: str | None) -> Tree | Ntuple:
    """Without a path, the only one there is."""

def open_tables(places: Sequence[tuple[str, str | None]]) -> Opens: ...
def slices(offsets: NDArray[np.int64], content: NDArray[Any]) -> NDArray[Any]: ...
def split_tree(address: str) -> tuple[str, str | None]: ...
def parts(
    places: Sequence[Located],
    columns: Sequence[tuple[str, bool, bool, Sequence[str] | None]],
    cut: tuple[Sequence[str], Mask] | None = None,
    *,
    on_error_report: bool = False,
    step_entries: int | None = None,
    step_bytes: int | None = None,
) -> Parts: ...

@final
class CopyProgress:
    def __new__(cls) -> CopyProgress: ...
    def files(self) -> list[tuple[int, int] | None]:
        """Bytes that are here and in all, of each file that has been begun."""

def copy(
    sources: Sequence[str],
    target: str,
    overwrite: bool,
    verify: bool,
    progress: CopyProgress | None,
) -> list[tuple[str, Path, int, int, str | None] | Error]: ...
def parse_bytes(text: str) -> int: ...
def configure(**settings: Any) -> dict[str, Any]: ...

@final
class Mark:
    def since(self) -> tuple[str, str]:
        """Figures of what has been done since, as JSON and as text."""

    def received(self) -> int:
        """Bytes received since."""

def mark(file: File | None) -> Mark:
    """The present moment, for one file or for all that this process reads."""

def call_while_waiting(function: Callable[[], object] | None) -> Callable[[], object] | None:
    """Has a function called now and then while this thread waits; gives the one before."""

def report(file: File | None) -> tuple[str, str]:
    """Figures as JSON, and the same as text."""

def strings(offsets: NDArray[np.int64], encoded: NDArray[np.uint8]) -> NDArray[Any]: ...
def timeline(file: File, width: int) -> tuple[str, str]:
    """SVG, and text of ``width`` characters a line."""

def main(argv: Sequence[str]) -> int: ...
