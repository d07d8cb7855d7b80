"""Writes the reference: a page for each public name, and a list of all."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import farroot

#: Public names by purpose. Names in no group form a last one, "Others".
GROUPS = {
    "Opening and reading": (
        *("open", "iterate", "concatenate", "num_entries", "chain", "open_bytes", "scan_polars"),
        *("open_many", "OpenMany", "aopen", "aconcatenate"),
        *("Steps", "Report", "Skipped", "Files"),
    ),
    "What is in files": (
        *("File", "Directory", "Tree", "Branch", "RNTuple", "Field", "Object", "Graph"),
        *("Parameter", "AttributeSet", "AttributeSets", "Friends", "Index", "ChainFile"),
        *("ByteFile", "Key", "Basket", "ColumnPages"),
    ),
    "Writing, merging, copying": (
        *("recreate", "create", "update", "WritableFile", "WritableDirectory", "WritableTree"),
        *(
            "WritableAttributeSet",
            "WritableBranch",
            "WritableNTuple",
            "SharedOutput",
            "WriteReport",
            "as_TGraph",
            "dask_write",
            "to_writable",
        ),
        *("ZLIB", "LZMA", "LZ4", "ZSTD"),
        *("merge", "Merged", "skim", "Skimmed", "copy", "Copied"),
    ),
    "Many machines": (
        *("partitions", "Partitions", "Partition", "map", "dask", "graphed", "Failed"),
        *("ThreadPoolExecutor", "TrivialExecutor"),
    ),
    "Where the time goes": (
        *("report", "reporting", "IoReport", "Reporting", "Timeline", "LiveTimeline", "Progress"),
        *("Plan", "Planned", "PlannedColumn"),
    ),
    "Settings, credentials, other programs": (
        *("config", "credentials", "with_credentials", "Credential", "install", "Installed"),
        *("Source", "register", "unregister", "__version__"),
        *("register_interpretation", "unregister_interpretation"),
        *("from_pyroot", "to_pyroot"),
    ),
    "Errors": (
        *("Error", "NotFoundError", "KeyInFileError", "PermissionDeniedError"),
        *("UnauthenticatedError", "TimedOutError", "ConnectionFailedError", "ReadError"),
        *("CorruptError", "ChangedError", "UnsupportedError", "LimitReachedError"),
        *("InvalidArgumentError", "ArgumentTypeError", "NoAttributeError", "exceptions"),
    ),
    "Warnings": (
        *("HiddenAliasWarning", "IgnoredArgumentWarning", "RecoveredWarning", "SettingWarning"),
        *("SkippedWarning", "UnfinishedWarning", "UnreadableWarning", "UploadWarning"),
    ),
    "How branches are read, and containers": (
        *("AsDtype", "AsDtypeInPlace", "AsDouble32", "AsFloat16", "AsJagged", "AsStrings"),
        *("AsGrouped", "AsObjects", "AsStridedObjects", "AsArray", "AsDynamic", "AsMap"),
        *("AsPointer", "AsRVec", "AsSet", "AsString", "AsVector"),
        *("AsBinary", "CustomInterpretation"),
        *("STLVector", "STLSet", "STLMap"),
    ),
    "Modules": (
        *("behaviors", "compression", "containers", "errors", "executors", "interpretation"),
        *("model", "pyroot", "reading", "writing"),
    ),
    "uproot's names": ("TTree", "TBranch", "ReadOnlyFile", "ReadOnlyDirectory", "Model"),
}

#: Classes that programs call; objects of all others are made by functions and methods.
CALLED = (*GROUPS["How branches are read, and containers"], "ZLIB", "LZMA", "LZ4", "ZSTD", "Source")

#: Names that are neither classes nor functions: their kind and description.
_NO_CLASSES = {
    "__version__": ("data", "The version of the package, a text."),
    "Files": (
        "type",
        "What :func:`farroot.iterate` and its like take as files: an address with a tree in it, "
        "an open tree, a list of these, or a dict of addresses and trees.",
    ),
}

#: Base classes whose methods are not documented again.
_BASES = (
    "object, Exception, BaseException, OSError, dict, list, str, tuple, Mapping, Source, Executor, "
    "ThreadPoolExecutor"
)


def write(folder: Path) -> None:
    """Writes all pages into a folder."""
    pages = {"index.rst": _index()}
    pages |= {f"{_where(name)}.rst": _page(name) for name in names()}
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names() -> list[str]:
    """All public names, in the order of the list."""
    return [name for group in _groups().values() for name in group]


def _groups() -> dict[str, list[str]]:
    public = {*farroot.__all__}
    found = {title: [name for name in group if name in public] for title, group in GROUPS.items()}
    others = public.difference(*found.values())
    return {**found, "Others": sorted(others)} if others else found


def _kind(name: str) -> str:
    if name in _NO_CLASSES:
        return _NO_CLASSES[name][0]
    one = getattr(farroot, name)
    if inspect.isclass(one):
        return "exception" if issubclass(one, BaseException) else "class"
    if inspect.ismodule(one):
        return "module"
    return "function"


def _where(name: str) -> str:
    """The path of a name's page; with the kind, since some names differ only in case."""
    return f"{_kind(name)}/{name.strip('_')}"


def _summary(name: str) -> str:
    """The first paragraph of the docstring of a name."""
    if name in _NO_CLASSES:
        return _NO_CLASSES[name][1]
    if (meant := _other_name(name)) is not None:
        return f"uproot's name of :class:`farroot.{meant}`."
    text = inspect.getdoc(getattr(farroot, name)) or ""
    # As text: short names in it resolve only on its own page.
    return re.sub(r":\w+:`~?([^`]+)`", r"``\1``", " ".join(text.split("\n\n")[0].split()))


def _other_name(name: str) -> str | None:
    """The class that a name of uproot refers to; None for names of farroot."""
    one = getattr(farroot, name)
    return one.__name__ if inspect.isclass(one) and one.__name__ != name else None


def _index() -> str:
    lines = ["Reference", "=========", "", ".. currentmodule:: farroot", ""]
    lines += ["All names that ``import farroot`` gives, each with a page.", ""]
    for title, group in _groups().items():
        lines += [title, "-" * len(title), "", ".. list-table::", "   :widths: 30 70", ""]
        for name in group:
            lines += [f"   * - :doc:`{name} <{_where(name)}>`", f"     - {_summary(name)}"]
        lines += ["", ".. toctree::", "   :hidden:", ""]
        lines += [f"   {name} <{_where(name)}>" for name in group]
        lines += [""]
    return "\n".join(lines)


def _page(name: str) -> str:
    title = f"farroot.{name}"
    head = [title, "=" * len(title), "", ".. currentmodule:: farroot", ""]
    return "\n".join([*head, *_body(name, _kind(name)), ""])


def _body(name: str, kind: str) -> list[str]:
    full = f"farroot.{name}"
    if name in _NO_CLASSES:
        return [f".. py:{kind}:: {name}", "", f"   {_summary(name)}"]
    if kind == "module":
        return [f".. automodule:: {full}"]
    if kind == "function":
        return [f".. autofunction:: {full}"]
    if _other_name(name) is not None:
        return [f".. py:class:: {name}", "", f"   {_summary(name)}"]
    special = "__getitem__, __len__, __iter__, __contains__, __call__"
    options = [":members:", ":undoc-members:", f":special-members: {special}"]
    options += [f":inherited-members: {_BASES}"]
    options += [":show-inheritance:"] if kind == "exception" else []
    return [f".. auto{kind}:: {full}", *(f"   {option}" for option in options)]
