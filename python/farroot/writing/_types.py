"""Types of columns, from every way in which users give them, as types of Awkward."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._awkward import ak
from ..errors import ArgumentTypeError, InvalidArgumentError, UnsupportedError

#: A type of Awkward's, which has no annotations.
Type = Any

#: Kinds of NumPy's types that ROOT has numbers for.
_NUMBERS = "biuf"


def is_type(given: Any) -> bool:
    """Whether it is the type of a column, rather than its values. A text is one, also a misspelt
    one: no column is a text."""
    if isinstance(given, Mapping):
        return any(is_type(each) for each in given.values())
    if isinstance(given, (np.dtype, type, ak.types.Type, ak.types.ArrayType, ak.forms.Form)):
        return True
    if isinstance(given, str):
        return True
    # NumPy's types with a shape: ("f4", (3,)).
    return isinstance(given, tuple) and len(given) == 2 and _is_shaped(*given)


def _is_shaped(base: Any, shape: Any) -> bool:
    if isinstance(shape, tuple):
        is_base = isinstance(base, (str, type, np.dtype))
        return is_base and (all(isinstance(size, int) for size in shape) or _is_pair(base, shape))
    if not isinstance(shape, int):
        return False
    try:
        np.dtype(base)
    except (TypeError, ValueError):
        return isinstance(base, (np.dtype, type))
    return not isinstance(base, (int, float, type(None)))


def _is_pair(base: Any, other: Any) -> bool:
    """Whether they are a type of NumPy as two types of one size: ``("i4", ("i1", 4))``."""
    try:
        return np.dtype((base, other)).names is None
    except (TypeError, ValueError):
        return False


def to_type(given: Any) -> Type:
    """The type of a column's entries.

    Args:
        given: A NumPy type, also with a shape or fields; a type or form of Awkward, or how Awkward
            spells one (``"var * float32"``); ``str``; or a dict of such.

    Raises:
        ArgumentTypeError: for anything else.
        UnsupportedError: for types of NumPy that ROOT has none for.
    """
    if isinstance(given, ak.types.ArrayType):
        return plain(given.content)
    if isinstance(given, ak.types.Type):
        return plain(given)
    if isinstance(given, ak.forms.Form):
        return plain(given.type)
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str):
                raise ArgumentTypeError(f"the name of a field is a string, not {name!r}")
        return ak.types.RecordType([to_type(each) for each in given.values()], list(given))
    if given is str or given is bytes or (isinstance(given, str) and given in ("str", "string")):
        return STRING
    if isinstance(given, str):
        return _spelt(given)
    if given is None or not isinstance(given, (np.dtype, type, tuple)):
        raise _no_type(given)
    try:
        return of_dtype(np.dtype(given))
    except (TypeError, ValueError) as error:
        if isinstance(error, (ArgumentTypeError, UnsupportedError)):
            raise
        raise _no_type(given) from None


def _spelt(text: str) -> Type:
    """A type that NumPy or Awkward spells so."""
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError, SyntaxError):
        pass
    else:
        return of_dtype(dtype)
    try:
        spelt = ak.types.from_datashape(text, highlevel=False)
    except Exception:
        raise _no_type(text) from None
    return plain(spelt.content if isinstance(spelt, ak.types.ArrayType) else spelt)


def plain(type_: Type, has_options: bool = True) -> Type:
    """The same type as it is written: unknown types as reals, numbers as ROOT has them, tuples as
    records of numbered fields.

    Args:
        has_options: Whether values may be missing, or of several types.

    Raises:
        UnsupportedError: for numbers that ROOT has no type for.
    """
    if is_string(type_):
        return STRING
    match type_:
        case ak.types.UnknownType():
            return ak.types.NumpyType("float64")
        case ak.types.NumpyType():
            return ak.types.NumpyType(number(np.dtype(type_.primitive)).name)
        case ak.types.ListType():
            return ak.types.ListType(plain(type_.content, has_options))
        case ak.types.RegularType():
            return ak.types.RegularType(plain(type_.content, has_options), type_.size)
        case ak.types.OptionType():
            content = plain(type_.content, has_options)
            if has_options and isinstance(content, ak.types.UnionType):
                # As Awkward has it for arrays.
                return ak.types.UnionType([_optional(each) for each in content.contents])
            return _optional(content) if has_options else content
        case ak.types.RecordType():
            refuse_twice(type_.fields or ())
            contents = [plain(each, has_options) for each in type_.contents]
            names = type_.fields or [str(number) for number in range(len(contents))]
            return ak.types.RecordType(contents, names, parameters=type_.parameters)
        case ak.types.UnionType() if has_options:
            return ak.types.UnionType([plain(each) for each in type_.contents])
    message = f"values of several types in one column ({type_})"
    raise UnsupportedError(f"{message}: an RNTuple can hold them, a tree cannot")


def _optional(type_: Type) -> Type:
    return type_ if isinstance(type_, ak.types.OptionType) else ak.types.OptionType(type_)


def required(type_: Type) -> Type:
    """The type of values that cannot be missing."""
    return type_.content if isinstance(type_, ak.types.OptionType) else type_


def has_name(type_: Type) -> bool:
    """Whether C++ has a name for the type: not for records with names of fields or without any, nor
    for types that contain some. `is_typed` of the crate `rootfile` decides it for what is written.
    """
    match type_:
        case ak.types.RecordType():
            is_tuple = type_.fields == [str(at) for at in range(len(type_.contents))]
            return is_tuple and bool(type_.contents) and all(map(has_name, type_.contents))
        case ak.types.UnionType():
            return all(map(has_name, type_.contents))
        case ak.types.ListType() | ak.types.RegularType() | ak.types.OptionType():
            return has_name(type_.content)
    return True


def without_optional_records(type_: Type) -> Type:
    """The type without the options that ``std::optional`` cannot be: those of types without a name.

    Of a column that has such an option, and no missing value, nothing changes."""
    match type_:
        case ak.types.OptionType():
            content = without_optional_records(type_.content)
            return ak.types.OptionType(content) if has_name(content) else content
        case ak.types.ListType() if not is_string(type_):
            return ak.types.ListType(without_optional_records(type_.content))
        case ak.types.RegularType() if not is_string(type_):
            return ak.types.RegularType(without_optional_records(type_.content), type_.size)
        case ak.types.RecordType():
            contents = [without_optional_records(each) for each in type_.contents]
            return ak.types.RecordType(contents, type_.fields, parameters=type_.parameters)
        case ak.types.UnionType():
            contents = [without_optional_records(each) for each in type_.contents]
            if not all(isinstance(each, ak.types.OptionType) for each in contents):
                # Either all alternatives of a union may be missing, or none.
                contents = [required(each) for each in contents]
            return ak.types.UnionType(contents)
    return type_


def instead_of_missing(type_: Type) -> str:
    """Advice to who writes missing values into a column without options."""
    if has_name(type_):
        return f'fill them (ak.fill_none), or mkrntuple with the type "?{type_}" holds them'
    return "ROOT has no type for records that may be missing: ak.singletons(x) makes lists of them"


def of_dtype(dtype: np.dtype[Any]) -> Type:
    """The same of a type of NumPy."""
    if dtype.names is not None:
        fields = [of_dtype(dtype[name]) for name in dtype.names]
        return ak.types.RecordType(fields, list(dtype.names))
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        type_ = of_dtype(base)
        for length in reversed(shape):
            type_ = ak.types.RegularType(type_, length)
        return type_
    if dtype.kind in "US" or dtype.char == "T":
        return STRING
    return ak.types.NumpyType(number(dtype).name)


def number(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A number's type as it is written, in this machine's byte order.

    Raises:
        UnsupportedError: for those that ROOT has none for.
    """
    if dtype.kind == "b":
        return np.dtype(np.bool_)
    if dtype == np.float16:
        return np.dtype(np.float32)
    if dtype.kind not in _NUMBERS or dtype.itemsize > 8:
        raise UnsupportedError(f"ROOT has no type for NumPy's {dtype}{_instead(dtype)}")
    return dtype.newbyteorder("=")


def _instead(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "mM":
        return ': write array.astype("int64"), and the unit into the title'
    if dtype.kind == "c":
        return ": write its real and imag as two columns"
    return ': write array.astype("float64")' if dtype.kind == "f" else ""


def with_field(record: Any, path: list[str], type_: Type) -> Type:
    """A record with a further field, at a path within it."""
    name, *rest = path
    fields = dict(zip(record.fields, record.contents, strict=True))
    fields[name] = with_field(fields[name], rest, type_) if rest else type_
    return ak.types.RecordType(list(fields.values()), list(fields), parameters=record.parameters)


def is_string(type_: Type) -> bool:
    return type_.parameter("__array__") in ("string", "bytestring")


def empty(type_: Type) -> Any:
    """A layout of no entries of this type."""
    return ak.forms.from_type(type_).length_zero_array(highlevel=False)


def zeros(type_: Type, entries: int) -> Any:
    """A layout of so many entries without a value: zeros, empty texts and empty lists, and missing
    values where there may be some."""
    match type_:
        case ak.types.NumpyType():
            return ak.contents.NumpyArray(np.zeros(entries, type_.primitive))
        case ak.types.RegularType():
            content = zeros(type_.content, entries * type_.size)
            return ak.contents.RegularArray(content, type_.size, entries)
        case ak.types.ListType():
            offsets = ak.index.Index64(np.zeros(entries + 1, np.int64))
            content = empty(type_.content)
            return ak.contents.ListOffsetArray(offsets, content, parameters=type_.parameters)
        case ak.types.RecordType():
            contents = [zeros(each, entries) for each in type_.contents]
            return ak.contents.RecordArray(contents, type_.fields, entries)
        case ak.types.OptionType():
            index = ak.index.Index64(np.full(entries, -1, np.int64))
            return ak.contents.IndexedOptionArray(index, empty(type_.content))
    raise UnsupportedError(f"entries so far have no value of {type_}: give the column their values")


def texts(offsets: Any, characters: Any) -> Any:
    """A layout of texts, of their bytes and where each begins and ends."""
    content = ak.contents.NumpyArray(characters, parameters={"__array__": "char"})
    parameters = {"__array__": "string"}
    return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content, parameters=parameters)


def refuse_twice(names: Iterable[str]) -> None:
    """
    Raises:
        InvalidArgumentError: for fields of one name, of which only one would be written.
    """
    known: set[str] = set()
    for name in names:
        if name in known:
            raise InvalidArgumentError(f"two fields have the name {name!r}: rename one")
        known.add(name)


def _no_type(given: Any) -> ArgumentTypeError:
    said = "not a NumPy dtype, a type of Awkward, or how Awkward spells one"
    return ArgumentTypeError(f"{said}: {given!r}{_meant(given)}")


def _meant(given: Any) -> str:
    """The type that a user may have meant by a text that is none."""
    if not isinstance(given, str):
        return ""
    spelt = given.strip()
    for begin in ("std::", "ROOT::VecOps::", "ROOT::"):
        spelt = spelt.replace(begin, "")
    if found := re.fullmatch(r"(vector|RVec|array|optional)<(.*?)(?:,\s*(\d+))?>", spelt):
        outer = {"optional": "?", "array": f"{found[3]} * "}.get(found[1], "var * ")
        inner = _meant_number(found[2].strip())
        return f'; did you mean "{outer}{inner}"?' if inner else ""
    inner = _meant_number(spelt)
    if inner:
        return f'; did you mean "{inner}"?'
    words = re.findall(r"[A-Za-z_]\w*", spelt)
    known = [*_NAMES, "var", "string", "union", "option"]
    for word in words:
        near = difflib.get_close_matches(word, known, n=1)
        if word not in known and near:
            return f'; did you mean "{spelt.replace(word, near[0])}"?'
    return ""


def _meant_number(spelt: str) -> str:
    """NumPy's name of a type of numbers or texts that C++ or ROOT calls otherwise."""
    spelt = spelt.removesuffix("_t") if spelt.removesuffix("_t") in _NAMES else spelt
    return spelt if spelt in _NAMES else _CPP.get(spelt, "")


_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)
#: Names of C++ and ROOT.
_CPP = {
    **{"float": "float32", "Float_t": "float32", "double": "float64", "Double_t": "float64"},
    **{"char": "int8", "Char_t": "int8", "unsigned char": "uint8", "UChar_t": "uint8"},
    **{"short": "int16", "Short_t": "int16", "unsigned short": "uint16", "UShort_t": "uint16"},
    **{"int": "int32", "Int_t": "int32", "unsigned int": "uint32", "UInt_t": "uint32"},
    **{"long": "int64", "Long64_t": "int64", "long long": "int64", "unsigned long": "uint64"},
    **{"ULong64_t": "uint64", "unsigned long long": "uint64", "Bool_t": "bool"},
    **{"string": "string", "TString": "string", "char*": "string", "text": "string"},
}


STRING = ak.types.ListType(
    ak.types.NumpyType("uint8", parameters={"__array__": "char"}),
    parameters={"__array__": "string"},
)
