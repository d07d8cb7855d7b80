"""Files that are being written, in uproot's words."""

from __future__ import annotations

from . import identify
from ._report import WriteReport
from .dask import dask_write
from .directories import WritableDirectory
from .identify import as_TGraph
from .shared import SharedOutput
from .tables import (
    WritableAttributeSet,
    WritableBranch,
    WritableNTuple,
    WritableTable,
    WritableTree,
)
from .writable import WritableFile, create, recreate, update

__all__ = [
    "SharedOutput",
    "WritableAttributeSet",
    "WritableBranch",
    "WritableDirectory",
    "WritableFile",
    "WritableNTuple",
    "WritableTable",
    "WritableTree",
    "WriteReport",
    "as_TGraph",
    "create",
    "dask_write",
    "identify",
    "recreate",
    "update",
]
