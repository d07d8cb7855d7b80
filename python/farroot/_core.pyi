"""The engine, as thin as it can be: columns are read here, and given their shape in Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from ._core_columns import Column as Column
from ._core_columns import List as List
from ._core_columns import Numbers as Numbers
from ._core_columns import Optional as Optional
from ._core_columns import Record as Record
from ._core_columns import Regular as Regular
from ._core_columns import Strings as Strings
from ._core_columns import TreeIndex as TreeIndex
from ._core_columns import Union as Union
from ._core_columns import WithParameter as WithParameter
from ._core_ranges import ByteFile as ByteFile
from ._core_ranges import Ranges as Ranges
from ._core_ranges import listed as listed
from ._core_ranges import open_bytes as open_bytes
from ._core_ranges import servers as servers
from ._core_ranges import watch as watch
from ._core_requests import ColumnRequest as ColumnRequest
from ._core_requests import Decision as Decision
from ._core_requests import Formula as Formula
from ._core_requests import Formulas as Formulas
from ._core_requests import Held as Held
from ._core_requests import Mask as Mask
from ._core_requests import Program as Program
from ._core_requests import Request as Request
from ._core_requests import StepSize as StepSize
from ._core_writing import Array as Array
from ._core_writing import CopiedObject as CopiedObject
from ._core_writing import CopyProgress as CopyProgress
from ._core_writing import FileOptions as FileOptions
from ._core_writing import FileOutput as FileOutput
from ._core_writing import TableOutput as TableOutput
from ._core_writing import Upload as Upload
from ._core_writing import WritableObject as WritableObject
from ._core_writing import _TableChoice as _TableChoice

if TYPE_CHECKING:
    from .errors import Error

__version__: str

__all__ = [
    "Array",
    "Basket",
    "Batch",
    "Batches",
    "ByteFile",
    "ColumnInfo",
    "ColumnPages",
    "ColumnRequest",
    "Contents",
    "CopiedObject",
    "CopyProgress",
    "Decision",
    "File",
    "FileOptions",
    "FileOutput",
    "Formula",
    "Formulas",
    "Held",
    "Key",
    "Lazy",
    "List",
    "Mark",
    "Merging",
    "Numbers",
    "Opens",
    "Optional",
    "Parts",
    "PlannedColumn",
    "Presumed",
    "Program",
    "Ranges",
    "ReadPlan",
    "Record",
    "Regular",
    "Request",
    "Skipped",
    "SkippedColumn",
    "Source",
    "StepSize",
    "StoredBytes",
    "Strings",
    "Table",
    "TableLocation",
    "TableOutput",
    "TreeIndex",
    "Union",
    "Upload",
    "WithParameter",
    "WritableObject",
    "__version__",
    "begin_ending",
    "call_while_waiting",
    "chain",
    "configure",
    "copy",
    "credentials_found",
    "flush_cache",
    "for_others",
    "formula_functions",
    "is_glob",
    "listed",
    "main",
    "make_folder",
    "mark",
    "matching",
    "merge",
    "open_bytes",
    "open_file",
    "open_presumed",
    "open_table",
    "open_tables",
    "parts",
    "plain_address",
    "remember",
    "remembered",
    "remove",
    "remove_folder",
    "rename",
    "report",
    "servers",
    "shown",
    "shown_address",
    "shown_lines",
    "skim",
    "slices",
    "split_object",
    "strings",
    "timeline",
    "told_apart",
    "watch",
    "with_access",
    "without_secrets",
    "write_file",
    "write_private",
]

@final
class SkippedColumn:
    """A column that was not requested by name, and whose data cannot be read."""

    @property
    def reason(self) -> str: ...

#: Gives an object of a class and version, to be filled by the source, or already being filled.
_Make = Callable[[str, int, Source | None], Any]

@final
class Source:
    """Where the members of one object are."""

    def fill(self, instance: Any) -> None:
        """Calls the object's ``fill`` or ``lack``, once."""

    def find(self, name: str, apart: dict[int, Any], default: Any) -> Any:
        """A member, its own or that of a base class, without the others, which is kept in `apart`;
        the default where it is not there, or not without them."""

    @property
    def record(self) -> Any:
        """Where the record is that the object is in."""

    @property
    def position(self) -> int:
        """The object's position in its record."""

    def record_is(self, place: Any) -> None: ...

@final
class File:
    @property
    def url(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def is_recovered(self) -> bool: ...
    def sources(self) -> list[str]: ...
    def keys(self, recursive: bool) -> list[tuple[str, int, str, str, str | None]]:
        """Path, cycle, class and title of each key, and why a directory could not be listed."""

    def map(self) -> list[tuple[int, int, str, str, float | None]]:
        """Offset, stored bytes, class, name and compression of every record, gaps included."""

    def tree(self, path: str) -> Table: ...
    def table(self, path: str) -> Table: ...
    @property
    def root_version(self) -> int: ...
    @property
    def uuid(self) -> int | None:
        """The file's own number; None where its head is cut."""

    def streamers(
        self,
    ) -> list[tuple[str, int, int, list[tuple[str, str, str, str, int, list[int], int]]]]: ...
    def class_at(self, path: str) -> str: ...
    def key(self, path: str) -> Key:
        """The key at a path, from the list of its directory."""

    def object(self, path: str, make: _Make, opaque: set[str]) -> Any:
        """The object that ``make(classname, version, source)`` gives for the one of that path.

        Objects of opaque classes are left as bytes.
        """

    def content(self, path: str, make: _Make, opaque: set[str]) -> tuple[str, Any]:
        """The content of a path: ``"table"`` and a tree or RNTuple, ``"directory"`` and None, or
        ``"object"`` and the result of ``make`` for the one of that path."""

    def contents(self, paths: list[str], opaque: set[str]) -> Contents:
        """The content of each of these paths, requested together."""

@final
class Key:
    """An object's key (``TKey``), as its directory lists it."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def classname(self) -> str: ...
    @property
    def cycle(self) -> int: ...
    @property
    def offset(self) -> int:
        """Offset of the record in the file."""

    @property
    def stored_bytes(self) -> int:
        """Bytes of the record."""

    @property
    def key_bytes(self) -> int:
        """Bytes of the key at the beginning of the record."""

    @property
    def object_bytes(self) -> int:
        """Bytes of the object, uncompressed."""

    @property
    def directory_offset(self) -> int: ...
    @property
    def written(self) -> int:
        """Time of writing, packed as in ROOT's ``TDatime``."""

@final
class Contents:
    def next(self, make: _Make) -> tuple[str, Any] | None:
        """As :meth:`File.content`, of the next path; None behind the last."""

@final
class StoredBytes:
    """Bytes of baskets in a file, as it keeps them."""

    @property
    def compressed(self) -> int: ...
    @property
    def uncompressed(self) -> int: ...
    @property
    def baskets(self) -> int: ...

@final
class Basket:
    """Where a basket is."""

    @property
    def entry_start(self) -> int: ...
    @property
    def entry_stop(self) -> int: ...
    @property
    def record(self) -> tuple[int, int] | None:
        """First and last byte, key included; None where the tree's own record has it."""

@final
class ColumnInfo:
    """A branch of a tree or a field of an RNTuple, of the table itself or of a friend."""

    @property
    def number(self) -> int:
        """Its position among all columns of its table."""

    @property
    def friend(self) -> str | None:
        """The name of the friend that has it."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str:
        """Names from the top to here, with the friend's in front."""

    @property
    def address(self) -> str:
        """Its name in a request: its path, and of several of one path which of them."""

    @property
    def parent(self) -> int | None:
        """Position of the column that it is in."""

    def children(self) -> list[ColumnInfo]:
        """The columns directly in it."""

    @property
    def is_branch(self) -> bool: ...
    @property
    def members(self) -> list[str]:
        """Members of its records that a formula names, each in the one before."""

    @property
    def counts_objects(self) -> bool:
        """Whether it has the number of objects whose members are in branches of their own."""

    @property
    def is_group(self) -> bool:
        """Whether it is a branch that only groups others, and has no entries of its own."""

    @property
    def title(self) -> str:
        """Title of a branch, description of a field."""

    @property
    def typename(self) -> str: ...
    def datashape(self, keep: Sequence[str] | None = None) -> str:
        """The type of an entry, in Awkward's spelling; UnsupportedError where there is none."""

    @property
    def num_entries(self) -> int: ...
    def stored(self) -> StoredBytes: ...
    def baskets(self) -> list[Basket]: ...

@final
class ColumnPages:
    """The pages of a column in a cluster."""

    @property
    def pages(self) -> list[tuple[int, bool, int, int]]:
        """Of each: elements, whether a checksum follows, offset, stored bytes with checksum."""

    @property
    def first_element(self) -> int:
        """Number of the column's elements in all earlier clusters."""

    @property
    def is_suppressed(self) -> bool:
        """Whether another column of the field has the values in this cluster."""

    @property
    def compression(self) -> int:
        """Compression of the pages as ROOT's number: algorithm * 100 + level."""

@final
class PlannedColumn:
    """The ranges that would be fetched for one column."""

    @property
    def name(self) -> str: ...
    @property
    def pieces(self) -> int: ...
    @property
    def stored_bytes(self) -> int: ...
    @property
    def decoded_bytes(self) -> int: ...
    @property
    def span(self) -> tuple[int, int] | None:
        """First and last byte in the file."""

@final
class ReadPlan:
    """The ranges that would be fetched of one tree or RNTuple."""

    @property
    def url(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def columns(self) -> list[PlannedColumn]: ...
    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of bytes (half open) in the file's order."""

@final
class Table:
    """A tree, an RNTuple, or a chain of either, with the friends that were added to it."""

    def with_friends(self, friends: Sequence[tuple[str, Table]]) -> Table:
        """The same with friends, which come before those in its file."""

    @property
    def is_tree(self) -> bool:
        """Whether it is made of branches, not of fields."""

    @property
    def file(self) -> File: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str:
        """Title of a tree, description of an RNTuple."""

    @property
    def path(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    @property
    def aliases(self) -> list[tuple[str, str]]: ...
    def chain_files(self) -> list[tuple[str, str, int, int]] | None:
        """Of each file of a chain the values of its `ChainFile`; None of other tables."""

    def stored(self) -> StoredBytes:
        """Bytes of all baskets of a tree."""

    def index(self) -> TreeIndex | None: ...
    def friend_names(self) -> list[str]:
        """Names of the friends that its file names."""

    def friend(self, name: str) -> Table:
        """Opens a friend that its file names."""

    def attribute_sets(self) -> list[str]:
        """Names of the attribute sets that are linked to it; of a chain none is."""

    def attribute_set(self, name: str) -> Table:
        """Opens an attribute set; KeyInFileError where there is none of that name."""

    def anchor(self) -> list[tuple[str, int]]:
        """The members of an RNTuple's anchor, by ROOT's names."""

    def page_lists(self) -> list[list[ColumnPages]]:
        """The pages of each column of an RNTuple, cluster by cluster."""

    def cluster_starts(self) -> list[int]:
        """First entries of an RNTuple's clusters."""

    def schema_version(self) -> tuple[int, int]:
        """Of an attribute set, which version its fields have: major and minor."""

    def ranges(self) -> NDArray[np.int64]:
        """Of an attribute set, first and last entry (half open) that each entry is about."""

    def columns(self) -> list[ColumnInfo]:
        """Its branches or fields, each followed by those in it."""

    def find(self, text: str, below: int | None = None) -> int | None:
        """Position of the column of that path or last name, below one of them."""

    def require(self, text: str, below: int | None = None) -> int:
        """As :meth:`find`; KeyInFileError with the names that come near."""

    def resolve(self, text: str, below: int | None = None) -> list[ColumnInfo]:
        """The columns that a text means, of the table or of friends: one or, of a glob, all that
        match; none where it is a formula or an alias. KeyInFileError where nothing has the
        name."""

    def has_column(self, name: str, below: int | None = None) -> bool:
        """Whether a column, also of a friend, has a name, which it hides from aliases."""

    def column(self, name: str, below: int | None = None, *, of_root: bool = False) -> ColumnInfo:
        """The column of a name in a formula, in which dots may stand for slashes; in ROOT's grammar
        also of a member without its column."""

    def columns_read_by(self, program: str) -> list[str]:
        """Columns that the program of this name read in its last run from a table with the same
        column names; empty if the store has none."""

    def keep_columns_read_by(self, program: str, columns: Sequence[str]) -> None:
        """Stores the columns that the program of this name has read, for its next run."""

    def read(self, request: Request, start: int, stop: int) -> Batch: ...
    def batches(self, request: Request, start: int, stop: int, step: StepSize) -> Batches: ...
    def lazy(self, request: Request, start: int, stop: int, step: StepSize) -> Lazy:
        """Batches of which nothing is read before it is requested."""

    def plan(self, request: Request, start: int, stop: int) -> list[ReadPlan]:
        """The plan of a read, table by table."""

    def histogram(
        self, axes: list[Any], weight: str | None, cut: str | None, start: int, stop: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Sums of weights and of their squares, the bins beyond the axes included."""

@final
class Batch:
    """Entries that have been read."""

    @property
    def table(self) -> int:
        """Number of the table among many."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def survivors(self) -> NDArray[np.int64] | None:
        """First and last entry (half open) of each run that a cut has left; None without a cut."""

    @property
    def columns(self) -> list[Column | SkippedColumn]: ...

@final
class Lazy:
    def next(self) -> tuple[int, int] | None:
        """First and last entry (half open) of the next batch; None after the last one."""

    def get(self, column: int, start: int, stop: int) -> Column:
        """The values of the column at a position: of the present batch, or for themselves."""

    def empty(self, column: int) -> Column:
        """The column at a position without entries."""

@final
class Batches:
    @property
    def steps(self) -> int | None:
        """How many there are in all, where that is known beforehand."""

    def next(self) -> Batch | None:
        """None after the last one."""

@final
class Opens:
    def next(self) -> Table | None: ...

@final
class Skipped:
    """Entries that have been left out."""

    @property
    def table(self) -> int:
        """Number of the table among many."""

    @property
    def path(self) -> str | None: ...
    @property
    def entries(self) -> tuple[int, int] | None:
        """First and last entry (half open), where they are known."""

    @property
    def error(self) -> Error: ...

@final
class Parts:
    def next(self) -> Batch | None:
        """None after the last one."""

    def skipped(self) -> list[Skipped]:
        """Ranges that have been skipped since the last call."""

@final
class Presumed:
    """A table made from stored metadata, which can be read before its file is open."""

    @property
    def table(self) -> Table: ...
    def confirm(self) -> bool:
        """Waits for the server's answer; False if it is another file: discard the data."""

@final
class TableLocation:
    """Where a table is, or the open one itself; which of its entries, if not all; its friends."""

    def __new__(
        cls,
        url: str,
        path: str | None,
        *,
        table: Table | None = None,
        entries: tuple[int, int] | None = None,
        friends: Sequence[tuple[str, TableLocation]] = ...,
    ) -> TableLocation: ...

def chain(places: Sequence[TableLocation]) -> Table:
    """The tables of many places as one, those without a known number of entries opened."""

def formula_functions() -> list[str]:
    """Names of the functions that formulas may have."""

def told_apart(members: list[tuple[str, list[str]]]) -> list[tuple[int, str]]:
    """Other names for members of one name, by position; each with the base classes that it came
    through, the nearest first."""

def is_glob(text: str) -> bool:
    """Whether a name is meant as a glob. Square brackets alone are not: names have them."""

def matching(pattern: str) -> list[str]: ...
def open_file(url: str) -> File: ...
def open_table(url: str, path: str | None) -> Table:
    """Without a path, the only one there is."""

def open_presumed(url: str, path: str | None) -> Presumed | None:
    """A table made from the stored metadata of a file; None if they do not suffice for it."""

def remembered(url: str) -> tuple[bytes, str | None] | None:
    """The stored metadata of a file, and the notes about its server; None if there are none."""

def remember(url: str, metadata: bytes, server: str | None) -> None:
    """Stores the metadata of a file that another machine has read."""

def open_tables(places: Sequence[tuple[str, str | None]]) -> Opens: ...
def shown(text: str) -> str:
    """Text without secrets, and with an escape sequence for each control character."""

def shown_lines(text: str) -> str:
    """The same of text of several lines."""

def without_secrets(text: str) -> str:
    """Text without passwords, tokens and signatures."""

def shown_address(address: str) -> str:
    """An address as it may be shown, without secrets."""

def slices(offsets: NDArray[np.int64], content: NDArray[Any]) -> NDArray[Any]: ...
def split_object(address: str) -> tuple[str, str | None]: ...
def parts(
    places: Sequence[TableLocation],
    request: Request,
    step: StepSize,
    *,
    on_error_report: bool = False,
    have_common_types: bool = False,
) -> Parts: ...
def copy(
    sources: Sequence[str],
    target: str,
    overwrite: bool,
    verify: bool,
    in_place: bool,
    recursive: bool,
    update: bool,
    checksum: str | None,
    progress: CopyProgress | None,
) -> list[tuple[str, Path, int, int, str | None, bool] | Error]: ...
def make_folder(address: str) -> None: ...
def remove(address: str) -> None: ...
def remove_folder(address: str) -> None: ...
def rename(source: str, target: str) -> None: ...
def write_file(target: str, content: bytes) -> None: ...
def write_private(target: str, content: bytes) -> None: ...

@final
class Merging:
    def __new__(cls) -> Merging: ...
    def now(self) -> tuple[int, int, int, int]:
        """Inputs that have been read, and all; bytes that have been copied, and all."""

def merge(
    output: str, inputs: Sequence[str], choice: Any, progress: Merging
) -> tuple[Any, ...]: ...
def skim(
    places: Sequence[TableLocation], target: str, choice: Any, progress: Merging
) -> tuple[Any, ...]: ...
def credentials_found() -> list[str]:
    """Places that are searched for credentials, and those found, a line of JSON a place."""

def with_access(
    address: str,
    token: str | None,
    token_file: str | None,
    proxy: str | None,
    ccache: str | None,
    s3_profile: str | None,
    order: list[str] | None,
    insecure: bool,
    left_out: bool,
    near: str | None,
) -> str:
    """An address with its caller's choice of credentials."""

def for_others(address: str) -> str:
    """An address as it may go to other processes: without secrets."""

def plain_address(address: str) -> str:
    """An address without its caller's word about credentials and where entries are selected."""

def configure(**settings: Any) -> dict[str, Any]: ...
def begin_ending() -> None:
    """Says that the interpreter is about to end; waits for calls of Python's functions."""

def flush_cache() -> None:
    """Waits until all bytes that were read are in the cache on the disk, where there is one."""

@final
class Mark:
    def since(self) -> tuple[str, str]:
        """Figures of the work since, as JSON and as text."""

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
