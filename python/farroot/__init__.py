"""farroot reads ROOT data that is far away as if it were near.

>>> import farroot
>>> tree = farroot.open("root://eos.example//data/f.root:Events")  # doctest: +SKIP
>>> tree.arrays(["Muon_pt", "Jet_*"], entry_stop=10_000)  # doctest: +SKIP

The names are uproot's. NumPy, Awkward and pandas are imported when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._befriended import Link
from ._config import config
from ._core import __version__
from ._progress import Progress
from ._registry import register, unregister
from ._uproot import no_name
from .attributes import AttributeSet, AttributeSets
from .copying import Copied, copy
from .dataset import Files, Report, Skipped, Steps, chain, concatenate, iterate, num_entries
from .errors import (
    ArgumentTypeError,
    ConnectionFailedError,
    CorruptError,
    Error,
    IgnoredArgumentWarning,
    InvalidArgumentError,
    KeyInFileError,
    LimitReachedError,
    NoAttributeError,
    NotFoundError,
    PermissionDeniedError,
    ReadError,
    RecoveredWarning,
    SettingWarning,
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
from .report import ReadReport, Reporting, report, reporting
from .tree import Branch, Tree

if TYPE_CHECKING:
    from . import exceptions

#: As uproot calls them.
TTree, TBranch, RNTuple = Tree, Branch, Ntuple
ReadOnlyFile, ReadOnlyDirectory, Model = File, Directory, Object

#: Modules under uproot's names; each is imported when it is first asked for.
_MODULES = ("exceptions",)

__all__ = [
    "ArgumentTypeError",
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
    "IgnoredArgumentWarning",
    "Index",
    "InvalidArgumentError",
    "KeyInFileError",
    "LimitReachedError",
    "Link",
    "Model",
    "NoAttributeError",
    "NotFoundError",
    "Ntuple",
    "Object",
    "Parameter",
    "PermissionDeniedError",
    "Planned",
    "PlannedColumn",
    "Progress",
    "RNTuple",
    "ReadError",
    "ReadOnlyDirectory",
    "ReadOnlyFile",
    "ReadReport",
    "RecoveredWarning",
    "Report",
    "Reporting",
    "SettingWarning",
    "Skipped",
    "SkippedWarning",
    "Steps",
    "TBranch",
    "TTree",
    "TimedOutError",
    "Tree",
    "UnauthenticatedError",
    "UnreadableWarning",
    "UnsupportedError",
    "__version__",
    "chain",
    "concatenate",
    "config",
    "copy",
    "exceptions",
    "iterate",
    "num_entries",
    "open",
    "register",
    "report",
    "reporting",
    "unregister",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        raise no_name(name, __all__)
