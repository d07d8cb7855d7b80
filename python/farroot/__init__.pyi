# The public names of the package: the content of `import farroot`, and the one list of them.
# Editors and type checkers read it as a stub, `__init__.py` as a table of where each name is.
# isort: skip_file

__all__: list[str]

from . import behaviors as behaviors
from . import compression as compression
from . import containers as containers
from . import errors as errors
from . import exceptions as exceptions
from . import executors as executors
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
from .awaiting import OpenMany as OpenMany
from .awaiting import aconcatenate as aconcatenate
from .awaiting import aopen as aopen
from .awaiting import open_many as open_many
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
from .deferred import dask as dask
from .deferred import graphed as graphed
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
from .executors import ThreadPoolExecutor as ThreadPoolExecutor
from .executors import TrivialExecutor as TrivialExecutor
from .file import Directory as Directory
from .file import File as File
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
from .mapping import map as map  # noqa: A004
from .merging import Merged as Merged
from .merging import merge as merge
from .ntuple import Field as Field
from .ntuple import RNTuple as RNTuple
from .objects import Graph as Graph
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
from .tree import Tree as Tree
from .writing import SharedOutput as SharedOutput
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

# uproot's names of them.
Model = Object
ReadOnlyDirectory = Directory
ReadOnlyFile = File
TBranch = Branch
TTree = Tree
