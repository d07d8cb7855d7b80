"""The forms of a table's columns as coffea's schemas take them, made from metadata alone.

The process keeps them, and the schemas made from them: files of one dataset have the same columns,
and each file has many chunks.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coffea.nanoevents.mapping.uproot import CannotBeNanoEvents, _lazify_form
from coffea.nanoevents.schemas import BaseSchema
from coffea.nanoevents.util import unquote

from .. import _core
from .._leaves import Leaf
from .._libraries.awkward import to_layout
from .._limits import KEPT_MAX
from .._locks import Lock
from .._virtual import says_all
from ..errors import ArgumentTypeError, UnreadableWarning, UnsupportedError, warn

if TYPE_CHECKING:
    from .._core import ColumnInfo
    from ..ntuple import RNTuple
    from ..tree import Tree


@dataclass(frozen=True)
class Columns:
    """The columns of a table that NanoEvents are made of."""

    #: Equal for tables whose columns have the same forms.
    key: Hashable
    #: The result of ``BaseSourceMapping._extract_base_form``, with ``typenames``. Do not change
    #: it.
    base_form: dict[str, Any]


class _Kept:
    """At most :data:`KEPT_MAX` values by key; the least recently used is dropped."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        with self._lock:
            if (value := self._values.get(key)) is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: Any) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > KEPT_MAX:
                self._values.popitem(last=False)


_FORMS, _SCHEMAS = _Kept(), _Kept()


def columns_of(table: Tree | RNTuple, options: Mapping[str, Any]) -> Columns:
    """The columns of a table; those of an earlier table if its columns were the same.

    Args:
        options: Filters of columns, as ``tree.items`` takes them.
    """
    key = _key_of(table, options)
    known: Columns | None = _FORMS.get(key)
    if known is None:
        known = Columns(key, _base_form(table, options))
        _FORMS.put(key, known)
    return known


def _key_of(table: Tree | RNTuple, options: Mapping[str, Any]) -> Hashable:
    types = tuple((info.path, info.typename, info.title, _shape(info)) for info in table._columns())
    core = table._live()
    return core.is_tree, core.title, _hashable(options), types


def _hashable(value: Any) -> Hashable:
    """Options as part of a key; functions are compared by identity."""
    if isinstance(value, Mapping):
        return tuple((name, _hashable(each)) for name, each in sorted(value.items()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(map(_hashable, value))
    hashed: Hashable = value
    return hashed


def _shape(info: ColumnInfo) -> str | None:
    """The type of an entry in Awkward's spelling; None for groups, and for unreadable columns."""
    try:
        return info.datashape()
    except UnsupportedError:
        return None


def _base_form(table: Tree | RNTuple, options: Mapping[str, Any]) -> dict[str, Any]:
    forms: dict[str, Any] = {}
    made = _Forms(table)
    for name, column in table.items(**options):
        info = column._info
        if not info.is_branch and ("." in info.path or info.path.startswith("_collection")):
            # Subfields belong to their field; lists replace the counts that ROOT's importer adds.
            continue
        if name in forms or not _can_be_named(table, name):
            continue
        form = made.of(info)
        if form is None:
            _warn(table, name, f"{info.typename} has no form that the file's metadata tell")
            continue
        try:
            forms[name] = _lazify_form(
                form, f"{name},!load", docstr=info.title, typestr=info.typename
            )
        except (CannotBeNanoEvents, ValueError, AssertionError) as error:
            # ValueError and AssertionError are raised for types with missing values.
            _warn(table, name, str(error))
    return {
        "class": "RecordArray",
        "contents": list(forms.values()),
        "fields": list(forms),
        "parameters": {"__doc__": table._live().title},
        "form_key": None,
        "typenames": table.typenames(),
    }


def _can_be_named(table: Tree | RNTuple, name: str) -> bool:
    """Whether the name can be in coffea's form keys: names and ``!`` commands between commas."""
    if "," in name or "!" in name:
        _warn(table, name, "NanoEvents can have no name with a comma or an exclamation mark")
        return False
    return True


def _warn(table: Tree | RNTuple, name: str, why: str) -> None:
    warn(f"left out of NanoEvents: {name!r}: {why}; in {table.address}", UnreadableWarning)


class _Forms:
    """Forms of the columns of one table, kept as JSON by type: many columns share few types."""

    def __init__(self, table: Tree | RNTuple) -> None:
        self._table = table
        self._by_shape: dict[str, str | None] = {}

    def of(self, info: ColumnInfo) -> dict[str, Any] | None:
        """A new copy of the form of a column; None if it is known only from the data."""
        if info.is_group:
            return self._grouped(info)
        leaf = Leaf(info)
        if leaf.shape is None:
            return None
        if leaf.shape not in self._by_shape:
            self._by_shape[leaf.shape] = self._read(leaf)
        text = self._by_shape[leaf.shape]
        form = None if text is None else json.loads(text)
        return None if form is None or _is_not_coffeas(form, info) else form

    def _read(self, leaf: Leaf) -> str | None:
        request = _core.Request([leaf.request()])
        empty = self._table._live().lazy(request, 0, 0, _core.StepSize.whole()).empty(0)
        if not says_all(empty):
            return None
        text: str = to_layout(empty).form.to_json()
        return text

    def _grouped(self, info: ColumnInfo) -> dict[str, Any] | None:
        """The form of a branch that only groups others: a record of them."""
        children = info.children()
        forms = [self.of(child) for child in children]
        if any(form is None for form in forms):
            return None
        return {
            "class": "RecordArray",
            "fields": [child.name for child in children],
            "contents": forms,
            "parameters": {},
            "form_key": None,
        }


def _is_not_coffeas(form: Mapping[str, Any], info: ColumnInfo) -> bool:
    """Whether a column holds objects without members for which coffea has no form.

    uproot has forms of such objects in ``std::`` containers and by themselves, but neither of base
    classes (:func:`uproot.interpretation.identify.interpretation_of` finds no interpretation of
    their branches) nor of other collections, such as ``DataVector``.
    """
    item = form
    while "content" in item:
        item = item["content"]
    if item["class"] != "RecordArray" or item["fields"]:
        return False
    is_base = info.parent is not None and info.name.endswith(info.typename)
    return is_base or (item is not form and not info.typename.startswith("std::"))


class _Watched(dict[str, Any]):
    """Metadata of a chunk; records whether a schema reads them, and the entries that it writes."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.is_read = False
        self.written: dict[str, Any] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        self.written[name] = value
        super().__setitem__(name, value)

    def _reading(method: Any) -> Any:  # noqa: N805, a decorator of the class
        @functools.wraps(method)
        def read(self: _Watched, *args: Any) -> Any:
            self.is_read = True
            return method(self, *args)

        return read

    __getitem__ = _reading(dict.__getitem__)
    __contains__ = _reading(dict.__contains__)
    __iter__ = _reading(dict.__iter__)
    __len__ = _reading(dict.__len__)
    get = _reading(dict.get)
    items = _reading(dict.items)
    keys = _reading(dict.keys)
    values = _reading(dict.values)
    pop = _reading(dict.pop)
    setdefault = _reading(dict.setdefault)
    update = _reading(dict.update)
    copy = _reading(dict.copy)


def schema_of(
    columns: Columns,
    schemaclass: Any,
    metadata: Mapping[str, Any] | None,
    podio_types: Mapping[str, str] | None,
) -> BaseSchema:
    """The schema that coffea's schema class makes from columns and the metadata of a chunk.

    It is made once for all chunks, unless the class reads the metadata.

    Args:
        podio_types: The type of each collection, for files of EDM4HEP.
    """
    key = (columns.key, schemaclass, _hashable(podio_types or {}), metadata is None)
    known: tuple[BaseSchema, dict[str, Any]] | None = _SCHEMAS.get(key)
    if known is None:
        watched = _Watched(metadata or {})
        given = None if metadata is None else watched
        schema = _made(columns, schemaclass, given, podio_types)
        known = schema, watched.written
        if not watched.is_read:
            _SCHEMAS.put(key, known)
    schema, written = known
    again: BaseSchema = copy.copy(schema)
    own = schema._form["parameters"].get("metadata", {}) if metadata is None else metadata
    parameters = {**schema._form["parameters"], "metadata": {**own, **written}}
    again._form = {**schema._form, "parameters": parameters}
    return again


def _made(
    columns: Columns, schemaclass: Any, metadata: Any, podio_types: Mapping[str, str] | None
) -> BaseSchema:
    if not callable(schemaclass):
        raise ArgumentTypeError(f"a schema class is one of coffea.nanoevents, not {schemaclass!r}")
    # Schema classes change the form that they receive.
    base_form = copy.deepcopy(columns.base_form)
    if metadata is not None:
        base_form["parameters"]["metadata"] = metadata
    if podio_types is not None:
        base_form["podio_collection_types"] = podio_types
    schema = schemaclass(base_form)
    if not isinstance(schema, BaseSchema):
        raise ArgumentTypeError(f"{schemaclass!r} gives no schema of coffea, but {schema!r}")
    return schema


def names_in(form: Mapping[str, Any]) -> set[str]:
    """The columns that a schema's form uses, from the ``!load`` commands in its form keys."""
    names: set[str] = set()
    if (key := form.get("form_key")) is not None:
        commands = unquote(key).split(",")
        names.update(
            name for name, command in itertools.pairwise(commands) if command.startswith("!load")
        )
    for content in [*form.get("contents", []), *filter(None, [form.get("content")])]:
        names |= names_in(content)
    return names
