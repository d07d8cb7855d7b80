"""uproot's words that farroot does not have: one table of their replacements.

Arguments that would not change the arrays are taken, and a warning names once farroot's setting
for the same thing. All others are refused by an error of ours that names the replacement.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from ._ours import ours
from ._types import DEFAULTS, TOGETHER
from .errors import ArgumentTypeError, Error, IgnoredArgumentWarning, NoAttributeError, warn

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class Word(NamedTuple):
    """An argument of uproot's that farroot does not have."""

    #: The words to write, or the setting for it.
    instead: str
    #: Whether reading would give something else with it: it is refused then.
    is_refused: bool = False
    #: Values without effect, beside None.
    defaults: tuple[Any, ...] = ()
    #: Type of a value with an effect; values of other types are an error.
    kind: type = object

    def asks_for_nothing(self, value: Any) -> bool:
        """Whether a value is uproot's own default."""
        return value is None or value in self.defaults or type(value).__name__ in self.defaults


_THREADS = "farroot.config(decode_threads=...) sets the threads that decompress and decode"
_CONNECTIONS = "farroot.config(connections=...) sets the connections"

#: Arguments of uproot's that change no written data: room is taken as it is needed.
IGNORED_WHEN_WRITING = frozenset(
    ("initial_directory_bytes", "initial_streamers_bytes", "uuid_function")
)

#: Arguments of uproot's functions.
ARGUMENTS = {
    "ak_add_doc": Word(
        "arrays(..., ak_add_doc=True) has titles", is_refused=True, defaults=(False,)
    ),
    "allow_read_errors_with_report": Word(
        'farroot.map(function, partitions, on_error="report") goes on behind errors',
        is_refused=True,
        defaults=(False,),
    ),
    "array_cache": Word(
        "arrays are read anew each time and yours to keep", defaults=("inherit", "100 MB")
    ),
    "backend": Word(
        'arrays are in main memory: awkward.to_backend(array, "cuda") moves one',
        is_refused=True,
        defaults=("cpu",),
    ),
    "access_log": Word("arrays(virtual=True, access_log=[]) tells", is_refused=True),
    "begin_chunk_size": Word("the ends of a file come with its open", defaults=(403,)),
    "custom_classes": Word(
        "farroot.register(typename, dtype_or_function) says how a class is read", is_refused=True
    ),
    "decompression_executor": Word(_THREADS, defaults=("TrivialExecutor",)),
    "form_mapping": Word(
        "farroot.coffea.from_root arranges columns as coffea's schemas do", is_refused=True
    ),
    "full_paths": Word(
        "columns have the last part of their path as name", is_refused=True, defaults=(False,)
    ),
    "known_base_form": Word("the first file says which columns there are"),
    "recursive": Word("branches of branches are looked at, too", is_refused=True, defaults=(True,)),
    "handler": Word(
        "the address says how a file is read: root://, https://, s3:// or a path", kind=type
    ),
    "headers": Word(
        'token="..." is shown as a bearer token; other headers are not sent', is_refused=True
    ),
    "http_max_header_bytes": Word("headers are bounded by farroot itself", defaults=(21784,)),
    "initial_directory_bytes": Word("lists of keys take what they need"),
    "initial_streamers_bytes": Word("descriptions of classes take what they need"),
    "interpretation_executor": Word(_THREADS, defaults=("TrivialExecutor",)),
    "interpretation": Word("a field is read as its type says", is_refused=True),
    "interpreter": Word("farroot decodes by itself", defaults=("cpu",)),
    "language": Word(
        "formulas are Python's, as in uproot by default; those of a file's aliases are ROOT's",
        is_refused=True,
        defaults=("PythonLanguage",),
    ),
    "max_num_elements": Word("farroot decides how many ranges a request has"),
    "max_width": Word("columns are as wide as needed; show(limit=...) bounds rows", defaults=(80,)),
    "minimal_ttree_metadata": Word("what a tree needs is read with it", defaults=(True, False)),
    "num_fallback_workers": Word(_CONNECTIONS, defaults=(10,)),
    "num_workers": Word(_CONNECTIONS, defaults=(1,)),
    "object_cache": Word("objects are read anew each time and yours to keep", defaults=(100,)),
    "uuid_function": Word("reproducible=True leaves the file's own number out"),
    "timeout": Word(
        "farroot.config(connect_timeout=..., read_timeout=..., retry_timeout=...) "
        "sets how long servers are waited for",
        defaults=(30,),
    ),
    "use_threads": Word(_THREADS, defaults=(True,)),
    "version": Word(
        "file.streamers[classname][version] is one version", is_refused=True, defaults=("max",)
    ),
    "virtual": Word(
        'arrays("field", virtual=True) has columns that are read when they are looked at',
        is_refused=True,
        defaults=(False,),
    ),
}

_WRITES = "this file was opened for reading: farroot.recreate and farroot.update write"
_DASK = "farroot.partitions(files, names) plans a read, farroot.map and farroot.dask spread it"
_SOURCES = "the address says how a file is read: root://, https://, s3:// or a path"
_CACHES = "arrays and objects are yours to keep; farroot.config(memory=...) bounds reading ahead"
_TYPES = 'tree["branch"].typename and .interpretation say what a branch holds'
_CLASSES = "classes are read as the file describes them; farroot.register(typename, ...) adds to it"
_STREAMERS = "file.streamers has how the file describes its classes"
_INSIDE = "it is part of how uproot works inside"

#: Names in the module ``uproot``.
NAMES = {
    "sink": "the address says where a file is written: root://, https://, s3:// or a path",
    **dict.fromkeys(("graphed_head", "graphed_write"), _DASK),
    **dict.fromkeys(
        (
            *("FSSpecSource", "HTTPSource", "MemmapSource", "MultithreadedFileSource"),
            *("MultithreadedHTTPSource", "MultithreadedXRootDSource", "ObjectSource"),
            *("XRootDSource", "source"),
        ),
        _SOURCES,
    ),
    **dict.fromkeys(("LRUArrayCache", "LRUCache", "cache"), _CACHES),
    "AsSTLBits": _TYPES,
    **dict.fromkeys(
        (
            *("behavior", "behavior_of", "class_named", "classes"),
            *("classname_decode", "classname_encode", "has_class_named", "models"),
            *("reset_classes", "unknown_classes"),
        ),
        _CLASSES,
    ),
    **dict.fromkeys(("streamers", "serialization", "deserialization"), _STREAMERS),
    **dict.fromkeys(
        (
            *("Cursor", "ImplementsFormMapping", "ImplementsFormMappingInfo", "const", "dynamic"),
            "extras",
        ),
        _INSIDE,
    ),
    "DeserializationError": "bytes that contradict the format raise farroot.CorruptError",
    **dict.fromkeys(("coffea", "fsspec"), "it is a module: import farroot.coffea, farroot.fsspec"),
    "default_library": 'each call has its library="ak", "np", "pd" or "arrow"',
    "language": ARGUMENTS["language"].instead,
    "lazy": "tree.arrays(virtual=True) reads columns when they are looked at",
    "no_filter": "filter_name=None accepts every name",
    "version": "farroot.__version__ is a text",
}

_BASKETS = (
    "branch.entry_offsets, basket_entry_start_stop(n) and basket_record(n) say where they are, "
    "basket(n) has the bytes, "
    "file.map() lists every basket with its offset and its size; "
    'tree.plan(["branch"]) what a read would fetch'
)
_OBJECT = 'tree.member("fName") has the members of the TTree; file.map() what lies where'
_PAGES = (
    "ntuple.member(name) and page_link_list say where they are, file.map() names the field of "
    "each page; ntuple.plan() what is fetched"
)
_DATES = "directory.key(name).created_on says it of an object"

#: Attributes of uproot's files, directories, trees, branches, RNTuples and fields.
ATTRIBUTES = {
    **dict.fromkeys(
        (
            *("basket_chunk_cursor", "basket_compressed_bytes", "basket_key"),
            *("basket_uncompressed_bytes", "embedded_baskets", "entries_to_ranges_or_baskets"),
        ),
        _BASKETS,
    ),
    **dict.fromkeys(
        (
            *("cluster_summaries", "column_records", "field_records", "footer", "header"),
            *("read_col_page", "read_pagedesc", "read_cluster_range"),
        ),
        _PAGES,
    ),
    **dict.fromkeys(("created_on", "modified_on", "fDatimeC", "fDatimeM"), _DATES),
    **dict.fromkeys(("debug", "debug_array"), 'branch.array(library="np") gives the values'),
    **dict.fromkeys(
        ("class_of", "streamer_of"),
        "directory.classname_of(key) names the class, file.streamer_named(name) describes it",
    ),
    **dict.fromkeys(("streamer", "streamer_rules"), _STREAMERS),
    **dict.fromkeys(("object_cache", "array_cache"), _CACHES),
    **dict.fromkeys(("decompression_executor", "interpretation_executor"), _THREADS),
    **dict.fromkeys(("custom_classes", "remove_class_definition"), _CLASSES),
    **dict.fromkeys(("mktree", "mkdir", "mkrntuple", "extend", "copy_from"), _WRITES),
    **dict.fromkeys(
        (
            *("fBEGIN", "fEND", "fNbytesFree", "fNbytesInfo", "fNbytesKeys", "fNbytesName"),
            *("fSeekDir", "fSeekFree", "fSeekInfo", "fSeekKeys", "fSeekParent", "fUnits"),
            *("fVersion", "nfree"),
        ),
        "file.map() lists the file's records, key lists among them, with their offsets",
    ),
    **dict.fromkeys(
        ("context", "postprocess", "descent_into_path", "begin_chunk", "detached", "is_64bit"),
        _INSIDE,
    ),
    **dict.fromkeys(
        ("field_id", "in_variant", "is_anonymous", "record"),
        "field.name, .path, .typename and .parent say what a field is",
    ),
    "compression": "branch.compression_ratio, compressed_bytes and uncompressed_bytes are there",
    "count_branch": 'counts are a branch of their own, or awkward.num(tree["branch"].array())',
    "count_leaf": 'counts are a branch of their own, or awkward.num(tree["branch"].array())',
    "to_akform": "tree.arrays(entry_stop=0).layout.form is the form",
    "source": _SOURCES,
    "lazy": NAMES["lazy"],
    "num_baskets": (
        "baskets are cut as entries come, branch by branch: when the file is closed, "
        "farroot.open(path)[tree][branch].num_baskets is their number"
    ),
    **dict.fromkeys(
        ("uuid", "hex_uuid", "fUUID", "root_version", "root_version_tuple"),
        "it is known when the file is closed: farroot.open(path).uuid and .root_version",
    ),
    **dict.fromkeys(("initial_directory_bytes", "uuid_function"), "room is taken as it is needed"),
    "sink": NAMES["sink"],
    "num_entries_for": "ntuple.num_entries_for(size, [field.path]) tells it of a field",
    "path": "object_path says where it is in the file",
    "pandas": 'tree.arrays(library="pd") gives a DataFrame',
    "numentries": "num_entries is the number of entries",
}


def taken(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with uproot's further arguments taken or refused in words.

    Arguments that do not fit its own signature are an :class:`ArgumentTypeError`, and every error
    is farroot's (:func:`ours`).
    """
    named, takes_any = _keywords(function)
    checked = ours(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not takes_any and not named.issuperset(kwargs):
            for name in kwargs.keys() - named:
                _take(function, name, kwargs.pop(name), named)
        return checked(*args, **kwargs)

    return call


#: Methods of Python's own that a caller reaches by brackets, loops and calls.
_CALLED = frozenset(
    (
        *("__call__", "__contains__", "__delitem__", "__getitem__", "__iter__", "__next__"),
        "__setitem__",
    )
)


def public(made: type[C]) -> type[C]:
    """The class, each of whose public methods is :func:`taken`."""
    for name, method in list(vars(made).items()):
        if name in HELPERS or (name.startswith("_") and name not in _CALLED):
            continue
        if isinstance(method, FunctionType):
            setattr(made, name, taken(method))
        elif isinstance(method, (classmethod, staticmethod)):
            setattr(made, name, type(method)(taken(method.__func__)))
    return made


def _keywords(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The names of a function's arguments, and whether it takes keywords of other names."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    named = frozenset(code.co_varnames[:count])
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return named, False
    rest = code.co_varnames[count + bool(code.co_flags & inspect.CO_VARARGS)]
    together = TOGETHER.get(function.__annotations__.get(rest, ""))
    if together is None:
        return named, True
    _spell(function, rest, together)
    return named | together.keys(), False


def _spell(function: Any, rest: str, together: dict[str, Any]) -> None:
    """Has ``help()`` name each of the arguments that a function takes together."""
    signature = inspect.signature(function)
    before = [each for each in signature.parameters.values() if each.name != rest]
    function.__signature__ = signature.replace(
        parameters=before
        + [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=DEFAULTS.get(name),
                annotation=getattr(type_, "__forward_arg__", type_),
            )
            for name, type_ in together.items()
        ]
    )


def _take(function: Callable[..., Any], name: str, value: Any, named: frozenset[str]) -> None:
    """Takes an argument that the function does not have.

    Raises:
        ArgumentTypeError: where it is not one of uproot's, or would change the arrays.
    """
    word = ARGUMENTS.get(name)
    called = f"{function.__name__}({name}=...)"
    if word is None:
        near = difflib.get_close_matches(name, sorted(named - {"self"}), n=3)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(named))}"
        )
        raise ArgumentTypeError(f"there is no {called}; {hint}")
    if word.asks_for_nothing(value):
        return
    if not isinstance(value, word.kind):
        raise ArgumentTypeError(f"{called} is a {word.kind.__name__}, not {value!r}")
    if word.is_refused:
        raise ArgumentTypeError(f"{called} is uproot's and not there: {word.instead}")
    if name not in _warned:
        _warned.add(name)
        warn(f"{called} is uproot's and changes nothing: {word.instead}", IgnoredArgumentWarning)


#: Arguments that have had a warning in this process.
_warned: set[str] = set()


def no_name(name: str, known: Iterable[str]) -> NoAttributeError:
    """The error for a name that the module ``farroot`` does not have."""
    if name in NAMES:
        return NoAttributeError(f"farroot has no {name}: {NAMES[name]}")
    near = difflib.get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return NoAttributeError(f"farroot has no {name}{hint}")


#: Attributes for the package's own modules only.
HELPERS = frozenset(
    (
        *("chosen", "decoder", "fill", "find", "itself", "lack", "leaf", "no_such", "of_friend"),
        *("read_from", "stored"),
    )
)


class Public:
    """The base of classes of which callers have objects: each is :func:`public`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] == __package__:  # And not a subclass of a caller's.
            public(cls)


class Explaining:
    """Something whose missing attributes are explained."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)


class Explained(Public, Explaining):
    """Something whose missing attributes are explained, and whose helpers are not listed."""

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in HELPERS]


def no_attribute(one: Any, name: str) -> NoAttributeError:
    """The error for an attribute that an object does not have."""
    kind = type(one).__name__
    error = NoAttributeError(f"a {kind} has no attribute {name!r}")
    # Python and its tools look for names with underscores; none of them is a column.
    if name.startswith("_"):
        return error
    if name in ATTRIBUTES:
        return NoAttributeError(f"a {kind} has no {name}: {ATTRIBUTES[name]}")
    try:
        is_inside = name in one
    except (Error, TypeError):
        is_inside = False
    if is_inside:
        return NoAttributeError(f'{name!r} is in this {kind}, under ["{name}"]: not .{name}')
    public = [each for each in dir(type(one)) if not each.startswith("_")]
    near = difflib.get_close_matches(name, public, n=3)
    if near:
        error = NoAttributeError(f"{error}; did you mean {' or '.join(near)}?")
    return error
