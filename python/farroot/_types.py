"""Types of arguments and results of calls, for editors and type checkers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._limits import STEP_SIZE

if TYPE_CHECKING:
    from ._filters import Filter
    from ._progress import Wanted

#: Libraries of arrays.
LibraryName = Literal["ak", "awkward", "np", "numpy", "pd", "pandas", "pa", "arrow", "pyarrow"]
AwkwardName = Literal["ak", "awkward"]
NumPyName = Literal["np", "numpy"]
PandasName = Literal["pd", "pandas"]
ArrowName = Literal["pa", "arrow", "pyarrow"]


class Credentials(TypedDict, total=False):
    """Arguments of :func:`farroot.with_credentials` and of all functions that open files."""

    token: str | os.PathLike[str] | None
    proxy: str | os.PathLike[str] | None
    ticket_cache: str | None
    s3_profile: str | None
    auth: str | Iterable[str] | None
    insecure: bool
    near: bool | str | None


#: The names of these arguments.
CREDENTIALS = frozenset(Credentials.__annotations__)


#: Entries, or bytes with a unit (``"100 MB"``), that come at a time.
StepSize = float | str
#: Whether Awkward arrays carry titles as ``__doc__``; or which attributes of the tree the whole
#: carries under which names.
Doc = bool | Mapping[str, str]


class FilterOptions(TypedDict, total=False):
    """Which columns, where they are not named."""

    filter_name: Filter
    filter_typename: Filter
    filter_branch: Callable[[Any], bool] | None
    filter_field: Callable[[Any], bool] | None


#: The names of these arguments.
FILTERS = frozenset(FilterOptions.__annotations__)


class Filters(FilterOptions, total=False):
    """Arguments of ``items``."""

    recursive: bool
    full_paths: bool
    ignore_duplicates: bool


class ColumnOptions(FilterOptions, total=False):
    """Which columns are read, beside their names and a cut."""

    aliases: Mapping[str, str] | None


class EntryOptions(TypedDict, total=False):
    """Half-open range of entries."""

    entry_start: float | None
    entry_stop: float | None


class EstimateOptions(ColumnOptions, EntryOptions, total=False):
    """Arguments of ``num_entries_for``."""


class Options(EstimateOptions, total=False):
    """Arguments of ``arrays`` that do not decide about the type of its result."""

    ak_add_doc: Doc
    virtual: bool
    access_log: list[Any] | None
    progress: Wanted


class ReadOptions(Options, total=False):
    """Arguments of ``arrays``."""

    library: LibraryName
    how: Any


class StepOptions(ReadOptions, total=False):
    """Arguments of ``iterate`` of a tree."""

    step_size: StepSize
    report: bool
    on_error: Literal["raise", "report"]


class FilesOptions(ColumnOptions, Credentials, total=False):
    """Arguments of functions that read many files."""

    library: LibraryName
    how: Any
    ak_add_doc: Doc
    on_error: Literal["raise", "report"]
    allow_missing: bool
    friends: Mapping[str, Any] | None
    progress: Wanted


class IterateOptions(FilesOptions, total=False):
    """Arguments of :func:`farroot.iterate`."""

    step_size: StepSize
    report: bool


class ConcatenateOptions(FilesOptions, EntryOptions, total=False):
    """Arguments of :func:`farroot.concatenate`."""


class DaskOptions(FilterOptions, Credentials, total=False):
    """Arguments of :func:`farroot.dask` that others have, too."""


#: Defaults of these arguments that are not None.
DEFAULTS: dict[str, Any] = {
    "ak_add_doc": False,
    "allow_missing": False,
    "full_paths": True,
    "ignore_duplicates": False,
    "insecure": False,
    "library": "ak",
    "on_error": "raise",
    "recursive": True,
    "report": False,
    "step_size": STEP_SIZE,
    "virtual": False,
}

#: Arguments that functions take as ``**``, by the text of their annotation.
TOGETHER: dict[str, dict[str, Any]] = {
    f"Unpack[{kind.__name__}]": kind.__annotations__
    for kind in (
        *(EstimateOptions, ConcatenateOptions, Credentials, DaskOptions, Filters, IterateOptions),
        *(ReadOptions, StepOptions),
    )
}
