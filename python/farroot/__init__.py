"""farroot reads ROOT data that is far away as if it were near.

>>> import farroot
>>> tree = farroot.open("root://eos.example//data/f.root:Events")  # doctest: +SKIP
>>> tree.arrays(["Muon_pt", "Jet_*"], entry_stop=10_000)  # doctest: +SKIP

The names are uproot's. NumPy, Awkward and pandas are imported when they are first needed.
"""

from __future__ import annotations

from ._befriended import Link
from ._config import config
from ._registry import register, unregister
from .attributes import AttributeSet, AttributeSets
from .copying import Copied, copy
from .dataset import Files, Report, Skipped, Steps, chain, concatenate, iterate, num_entries
from .errors import (
    ConnectionFailedError,
    CorruptError,
    Error,
    InvalidArgumentError,
    KeyInFileError,
    LimitReachedError,
    NotFoundError,
    PermissionDeniedError,
    ReadError,
    RecoveredWarning,
    SkippedWarning,
    TimedOutError,
    UnauthenticatedError,
    UnreadableWarning,
    UnsupportedError,
)
from .file import Directory, File, open  # noqa: A004
from .friends import Friends, Index
from .ntuple import Field, Ntuple
from .objects import Graph, Object, Parameter
from .plans import Planned, PlannedColumn
from .report import ReadReport, report
from .tree import Branch, Tree

__all__ = [
    "AttributeSet",
    "AttributeSets",
    "Branch",
    "ConnectionFailedError",
    "Copied",
    "CorruptError",
    "Directory",
    "Error",
    "Field",
    "File",
    "Files",
    "Friends",
    "Graph",
    "Index",
    "InvalidArgumentError",
    "KeyInFileError",
    "LimitReachedError",
    "Link",
    "NotFoundError",
    "Ntuple",
    "Object",
    "Parameter",
    "PermissionDeniedError",
    "Planned",
    "PlannedColumn",
    "ReadError",
    "ReadReport",
    "RecoveredWarning",
    "Report",
    "Skipped",
    "SkippedWarning",
    "Steps",
    "TimedOutError",
    "Tree",
    "UnauthenticatedError",
    "UnreadableWarning",
    "UnsupportedError",
    "chain",
    "concatenate",
    "config",
    "copy",
    "iterate",
    "num_entries",
    "open",
    "register",
    "report",
    "unregister",
]
