"""farroot reads ROOT data that is far away as if it were near.

>>> import farroot
>>> tree = farroot.open("root://eos.example//data/f.root:Events")  # doctest: +SKIP
>>> tree.arrays(["Muon_pt", "Jet_*"], entry_stop=10_000)  # doctest: +SKIP

The names are uproot's. Each is imported when it is first used, as are NumPy, Awkward and pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import behaviors as behaviors
    from . import compression as compression
    from . import containers as containers
    from . import exceptions as exceptions
    from . import interpretation as interpretation
    from . import model as model
    from . import pyroot as pyroot
    from . import reading as reading
    from . import writing as writing
    from ._config import config as config
    from ._core import __version__ as __version__
    from ._credentials import Credential as Credential
    from ._credentials import credentials as credentials
    from ._credentials import with_credentials as with_credentials
    from ._places import ChainFile as ChainFile
    from ._progress import Progress as Progress
    from ._registry import register as register
    from ._registry import register_interpretation as register_interpretation
    from ._registry import unregister as unregister
    from ._registry import unregister_interpretation as unregister_interpretation
    from .attributes import AttributeSet as AttributeSet
    from .attributes import AttributeSets as AttributeSets
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
    from .copying import Copied as Copied
    from .copying import copy as copy
    from .dataset import Files as Files
    from .dataset import Report as Report
    from .dataset import Skipped as Skipped
    from .dataset import Steps as Steps
    from .dataset import chain as chain
    from .dataset import concatenate as concatenate
    from .dataset import iterate as iterate
    from .dataset import num_entries as num_entries
    from .errors import ArgumentTypeError as ArgumentTypeError
    from .errors import ChangedError as ChangedError
    from .errors import ConnectionFailedError as ConnectionFailedError
    from .errors import CorruptError as CorruptError
    from .errors import Error as Error
    from .errors import HiddenAliasWarning as HiddenAliasWarning
    from .errors import IgnoredArgumentWarning as IgnoredArgumentWarning
    from .errors import InvalidArgumentError as InvalidArgumentError
    from .errors import KeyInFileError as KeyInFileError
    from .errors import LimitReachedError as LimitReachedError
    from .errors import NoAttributeError as NoAttributeError
    from .errors import NotFoundError as NotFoundError
    from .errors import NotInstalledError as NotInstalledError
    from .errors import OutOfRangeError as OutOfRangeError
    from .errors import PermissionDeniedError as PermissionDeniedError
    from .errors import ReadError as ReadError
    from .errors import RecoveredWarning as RecoveredWarning
    from .errors import SettingWarning as SettingWarning
    from .errors import SkippedWarning as SkippedWarning
    from .errors import TimedOutError as TimedOutError
    from .errors import UnauthenticatedError as UnauthenticatedError
    from .errors import UnfinishedWarning as UnfinishedWarning
    from .errors import UnreadableWarning as UnreadableWarning
    from .errors import UnsupportedError as UnsupportedError
    from .file import Directory as Directory
    from .file import Directory as ReadOnlyDirectory
    from .file import File as File
    from .file import File as ReadOnlyFile
    from .file import open as open  # noqa: A004
    from .friends import Friends as Friends
    from .friends import Index as Index
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
    from .merging import Merged as Merged
    from .merging import merge as merge
    from .ntuple import Field as Field
    from .ntuple import RNTuple as RNTuple
    from .objects import Graph as Graph
    from .objects import Object as Model
    from .objects import Object as Object
    from .objects import Parameter as Parameter
    from .pages import ColumnPages as ColumnPages
    from .plans import Plan as Plan
    from .plans import Planned as Planned
    from .plans import PlannedColumn as PlannedColumn
    from .pyroot import from_pyroot as from_pyroot
    from .pyroot import to_pyroot as to_pyroot
    from .ranges import ByteFile as ByteFile
    from .ranges import open_bytes as open_bytes
    from .reports import IoReport as IoReport
    from .reports import LiveTimeline as LiveTimeline
    from .reports import Reporting as Reporting
    from .reports import Timeline as Timeline
    from .reports import report as report
    from .reports import reporting as reporting
    from .scaleout import Partition as Partition
    from .scaleout import Partitions as Partitions
    from .scaleout import partitions as partitions
    from .skimming import Skimmed as Skimmed
    from .skimming import skim as skim
    from .tables import scan_polars as scan_polars
    from .tree import Branch as Branch
    from .tree import Branch as TBranch
    from .tree import Tree as TTree
    from .tree import Tree as Tree
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

#: Modules under uproot's names; each is imported when it is first asked for.
_MODULES = (
    *("behaviors", "compression", "containers", "exceptions", "interpretation", "model"),
    *("pyroot", "reading", "writing"),
)

#: Public names by the module that has them, which is imported when one of them is first asked for.
_NAMES = {
    "_config": ("config",),
    "_core": ("__version__",),
    "_credentials": ("Credential", "credentials", "with_credentials"),
    "_places": ("ChainFile",),
    "_progress": ("Progress",),
    "_registry": ("register", "register_interpretation", "unregister", "unregister_interpretation"),
    "attributes": ("AttributeSet", "AttributeSets"),
    "baskets": ("Basket",),
    "compression": ("LZ4", "LZMA", "ZLIB", "ZSTD"),
    "containers": (
        "AsArray",
        "AsDynamic",
        "AsMap",
        "AsPointer",
        "AsRVec",
        "AsSet",
        "AsString",
        "AsVector",
        "STLMap",
        "STLSet",
        "STLVector",
    ),
    "copying": ("Copied", "copy"),
    "dataset": (
        "Files",
        "Report",
        "Skipped",
        "Steps",
        "chain",
        "concatenate",
        "iterate",
        "num_entries",
    ),
    "errors": (
        "ArgumentTypeError",
        "ChangedError",
        "ConnectionFailedError",
        "CorruptError",
        "Error",
        "HiddenAliasWarning",
        "IgnoredArgumentWarning",
        "InvalidArgumentError",
        "KeyInFileError",
        "LimitReachedError",
        "NoAttributeError",
        "NotFoundError",
        "NotInstalledError",
        "OutOfRangeError",
        "PermissionDeniedError",
        "ReadError",
        "RecoveredWarning",
        "SettingWarning",
        "SkippedWarning",
        "TimedOutError",
        "UnauthenticatedError",
        "UnfinishedWarning",
        "UnreadableWarning",
        "UnsupportedError",
    ),
    "file": ("Directory", "File", "open"),
    "friends": ("Friends", "Index"),
    "handler": ("Source",),
    "installing": ("Installed", "install"),
    "interpretation.custom": ("AsBinary", "CustomInterpretation"),
    "interpretation.grouped": ("AsGrouped",),
    "interpretation.jagged": ("AsJagged",),
    "interpretation.numerical": ("AsDouble32", "AsDtype", "AsDtypeInPlace", "AsFloat16"),
    "interpretation.objects": ("AsObjects", "AsStridedObjects"),
    "interpretation.strings": ("AsStrings",),
    "keys": ("Key",),
    "mapping": ("Failed", "dask", "graphed", "map"),
    "merging": ("Merged", "merge"),
    "ntuple": ("Field", "RNTuple"),
    "objects": ("Graph", "Object", "Parameter"),
    "pages": ("ColumnPages",),
    "plans": ("Plan", "Planned", "PlannedColumn"),
    "pyroot": ("from_pyroot", "to_pyroot"),
    "ranges": ("ByteFile", "open_bytes"),
    "reports": ("IoReport", "LiveTimeline", "Reporting", "Timeline", "report", "reporting"),
    "scaleout": ("Partition", "Partitions", "partitions"),
    "skimming": ("Skimmed", "skim"),
    "tables": ("scan_polars",),
    "tree": ("Branch", "Tree"),
    "writing": (
        "WritableBranch",
        "WritableDirectory",
        "WritableFile",
        "WritableNTuple",
        "WritableTree",
        "WriteReport",
        "as_TGraph",
        "create",
        "recreate",
        "update",
    ),
    "writing.identify": ("to_writable",),
}

#: What uproot calls them.
_ALIASES = {
    "Model": "Object",
    "ReadOnlyDirectory": "Directory",
    "ReadOnlyFile": "File",
    "TBranch": "Branch",
    "TTree": "Tree",
}

_IN_MODULES = {name: module for module, names in _NAMES.items() for name in names}

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
    "HiddenAliasWarning",
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
    "NotInstalledError",
    "Object",
    "OutOfRangeError",
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


def _module(name: str) -> Any:
    from importlib import import_module

    from ._imports import uninterrupted

    try:
        with uninterrupted():
            return import_module(f"{__name__}.{name}")
    except ImportError as error:
        if "interpreter" not in str(error):
            raise
        from .errors import UnsupportedError

        what = "farroot works in a process's main interpreter only; use processes, or threads"
        raise UnsupportedError(what) from error


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return _module(name)
        here = _ALIASES.get(name, name)
        if here in _IN_MODULES:
            value = getattr(_module(_IN_MODULES[here]), here)
            # The next use finds it without this function.
            return globals().setdefault(name, value)
        if name.startswith("_"):
            # `from . import _core` asks for it before it imports the module.
            raise AttributeError(name)
        from ._uproot import no_name

        raise no_name(name, __all__)
