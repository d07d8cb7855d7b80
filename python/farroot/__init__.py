"""farroot reads ROOT data that is far away as if it were near.

>>> import farroot
>>> tree = farroot.open("root://eos.example//data/f.root:Events")  # doctest: +SKIP
>>> tree.arrays(["Muon_pt", "Jet_*"], entry_stop=10_000)  # doctest: +SKIP

The names are uproot's. NumPy, Awkward and pandas are imported when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._config import config
from ._core import __version__
from ._credentials import Credential, credentials, with_credentials
from ._places import ChainFile
from ._progress import Progress
from ._registry import (
    register,
    register_interpretation,
    unregister,
    unregister_interpretation,
)
from ._uproot import no_name
from .attributes import AttributeSet, AttributeSets
from .copying import Copied, copy
from .dataset import Files, Report, Skipped, Steps, chain, concatenate, iterate, num_entries
from .errors import (
    ArgumentTypeError,
    ChangedError,
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
    UnfinishedWarning,
    UnreadableWarning,
    UnsupportedError,
)
from .file import Directory, File, open  # noqa: A004
from .friends import Friends, Index
from .merging import Merged, merge
from .ntuple import Field, RNTuple
from .objects import Graph, Object, Parameter
from .plans import Plan, Planned, PlannedColumn
from .ranges import ByteFile, open_bytes
from .reports import IoReport, LiveTimeline, Reporting, Timeline, report, reporting
from .skimming import Skimmed, skim
from .tree import Branch, Tree

if TYPE_CHECKING:
    from . import behaviors as behaviors
    from . import compression as compression
    from . import containers as containers
    from . import exceptions
    from . import interpretation as interpretation
    from . import model as model
    from . import pyroot as pyroot
    from . import reading as reading
    from . import writing as writing
    from .baskets import Basket as Basket
    from .compression import LZ4 as LZ4
    from .compression import LZMA as LZMA
    from .compression import ZLIB as ZLIB
    from .compression import ZSTD as ZSTD
    from .containers import AsArray as AsArray
    from .containers import AsDynamic as AsDynamic
    from .containers import AsMap as AsMap
    from .containers import AsPointer as AsPointer
    from .containers import AsRVec as AsRVec
    from .containers import AsSet as AsSet
    from .containers import AsString as AsString
    from .containers import AsVector as AsVector
    from .containers import STLMap as STLMap
    from .containers import STLSet as STLSet
    from .containers import STLVector as STLVector
    from .handler import Source as Source
    from .installing import Installed as Installed
    from .installing import install as install
    from .interpretation.custom import AsBinary as AsBinary
    from .interpretation.custom import CustomInterpretation as CustomInterpretation
    from .interpretation.grouped import AsGrouped as AsGrouped
    from .interpretation.jagged import AsJagged as AsJagged
    from .interpretation.numerical import AsDouble32 as AsDouble32
    from .interpretation.numerical import AsDtype as AsDtype
    from .interpretation.numerical import AsDtypeInPlace as AsDtypeInPlace
    from .interpretation.numerical import AsFloat16 as AsFloat16
    from .interpretation.objects import AsObjects as AsObjects
    from .interpretation.objects import AsStridedObjects as AsStridedObjects
    from .interpretation.strings import AsStrings as AsStrings
    from .keys import Key as Key
    from .mapping import Failed as Failed
    from .mapping import dask as dask
    from .mapping import graphed as graphed
    from .mapping import map as map  # noqa: A004
    from .pages import ColumnPages as ColumnPages
    from .pyroot import from_pyroot as from_pyroot
    from .pyroot import to_pyroot as to_pyroot
    from .scaleout import Partition as Partition
    from .scaleout import Partitions as Partitions
    from .scaleout import partitions as partitions
    from .tables import scan_polars as scan_polars
    from .writing import WritableBranch as WritableBranch
    from .writing import WritableDirectory as WritableDirectory
    from .writing import WritableFile as WritableFile
    from .writing import WritableNTuple as WritableNTuple
    from .writing import WritableTree as WritableTree
    from .writing import WriteReport as WriteReport
    from .writing import as_TGraph as as_TGraph
    from .writing import create as create
    from .writing import recreate as recreate
    from .writing import update as update
    from .writing.identify import to_writable as to_writable

#: As uproot calls them.
TTree, TBranch = Tree, Branch
ReadOnlyFile, ReadOnlyDirectory, Model = File, Directory, Object

#: Modules under uproot's names; each is imported when it is first asked for.
_MODULES = (
    *("behaviors", "compression", "containers", "exceptions", "interpretation", "model"),
    *("pyroot", "reading", "writing"),
)

#: Names in these and in others, each of which is imported when it is first asked for.
_IN_MODULES = {
    **dict.fromkeys(
        (
            *("AsArray", "AsDynamic", "AsMap", "AsPointer", "AsRVec", "AsSet", "AsString"),
            *("AsVector", "STLMap", "STLSet", "STLVector"),
        ),
        "containers",
    ),
    **dict.fromkeys(
        ("AsDouble32", "AsDtype", "AsDtypeInPlace", "AsFloat16"), "interpretation.numerical"
    ),
    **dict.fromkeys(("AsBinary", "CustomInterpretation"), "interpretation.custom"),
    "AsGrouped": "interpretation.grouped",
    "AsJagged": "interpretation.jagged",
    **dict.fromkeys(("AsObjects", "AsStridedObjects"), "interpretation.objects"),
    "AsStrings": "interpretation.strings",
    **dict.fromkeys(("LZ4", "LZMA", "ZLIB", "ZSTD"), "compression"),
    "Basket": "baskets",
    "ColumnPages": "pages",
    "Key": "keys",
    "Source": "handler",
    **dict.fromkeys(("Installed", "install"), "installing"),
    **dict.fromkeys(("Failed", "dask", "graphed", "map"), "mapping"),
    **dict.fromkeys(("from_pyroot", "to_pyroot"), "pyroot"),
    **dict.fromkeys(("Partition", "Partitions", "partitions"), "scaleout"),
    "scan_polars": "tables",
    **dict.fromkeys(
        (
            *("WritableBranch", "WritableDirectory", "WritableFile", "WritableNTuple"),
            *("WritableTree", "WriteReport", "as_TGraph", "create", "recreate", "update"),
        ),
        "writing",
    ),
    "to_writable": "writing.identify",
}

__all__ = [
    "ArgumentTypeError",
    "AttributeSet",
    "AttributeSets",
    "Branch",
    "ByteFile",
    "ChainFile",
    "ChangedError",
    "ConnectionFailedError",
    "Copied",
    "CorruptError",
    "Credential",
    "Directory",
    "Error",
    "Failed",
    "Field",
    "File",
    "Files",
    "Friends",
    "Graph",
    "IgnoredArgumentWarning",
    "Index",
    "Installed",
    "InvalidArgumentError",
    "IoReport",
    "KeyInFileError",
    "LimitReachedError",
    "LiveTimeline",
    "Merged",
    "Model",
    "NoAttributeError",
    "NotFoundError",
    "Object",
    "Parameter",
    "Partition",
    "Partitions",
    "PermissionDeniedError",
    "Plan",
    "Planned",
    "PlannedColumn",
    "Progress",
    "RNTuple",
    "ReadError",
    "ReadOnlyDirectory",
    "ReadOnlyFile",
    "RecoveredWarning",
    "Report",
    "Reporting",
    "SettingWarning",
    "Skimmed",
    "Skipped",
    "SkippedWarning",
    "Steps",
    "TBranch",
    "TTree",
    "TimedOutError",
    "Timeline",
    "Tree",
    "UnauthenticatedError",
    "UnfinishedWarning",
    "UnreadableWarning",
    "UnsupportedError",
    "__version__",
    "chain",
    "concatenate",
    "config",
    "copy",
    "create",
    "credentials",
    "dask",
    "exceptions",
    "from_pyroot",
    "graphed",
    "install",
    "iterate",
    "map",
    "merge",
    "num_entries",
    "open",
    "open_bytes",
    "partitions",
    "recreate",
    "register",
    "register_interpretation",
    "report",
    "reporting",
    "scan_polars",
    "skim",
    "to_pyroot",
    "unregister",
    "unregister_interpretation",
    "update",
    "with_credentials",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in _IN_MODULES:
            return getattr(import_module(f"{__name__}.{_IN_MODULES[name]}"), name)
        raise no_name(name, __all__)
