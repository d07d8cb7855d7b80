"""Types of arguments and results of calls, for editors and type checkers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from ._filters import Filter
    from ._progress import Wanted
    from ._selection import Doc

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


#: The names of these arguments.
CREDENTIALS = frozenset(Credentials.__annotations__)


class Filters(TypedDict, total=False):
    """Arguments of ``items``."""

    filter_name: Filter
    filter_typename: Filter
    filter_branch: Callable[[Any], bool] | None
    filter_field: Callable[[Any], bool] | None
    recursive: bool
    full_paths: bool
    ignore_duplicates: bool


class Options(TypedDict, total=False):
    """Arguments of ``arrays`` that do not decide about the type of its result."""

    filter_name: Filter
    filter_typename: Filter
    filter_branch: Callable[[Any], bool] | None
    filter_field: Callable[[Any], bool] | None
    aliases: Mapping[str, str] | None
    entry_start: float | None
    entry_stop: float | None
    ak_add_doc: Doc
    virtual: bool
    access_log: list[Any] | None
    progress: Wanted
