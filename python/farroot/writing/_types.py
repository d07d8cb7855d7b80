"""What a column is to hold, from every way in which users say it, as types of Awkward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak
import numpy as np

from ..errors import ArgumentTypeError, UnsupportedError

#: A type of Awkward's, which has no annotations.
Type = Any

#: Kinds of NumPy's types that ROOT has numbers for.
_NUMBERS = "biuf"


def is_type(what: Any) -> bool:
    """Whether it says what a column is to hold, rather than being what it holds."""
    if isinstance(what, Mapping):
        return bool(what) and all(is_type(each) for each in what.values())
    if isinstance(what, (np.dtype, type, ak.types.Type, ak.types.ArrayType, ak.forms.Form)):
        return True
    if isinstance(what, (str, tuple)):
        try:
            to_type(what)
        except (TypeError, ValueError):
            return False
        return True
    return False


def to_type(what: Any) -> Type:
    """The type of a column's entries.

    Args:
        what: A NumPy type, also with a shape or fields; a type or form of Awkward, or how Awkward
            spells one (``"var * float32"``); ``str``; or a dict of such.

    Raises:
        ArgumentTypeError: for anything else.
        UnsupportedError: for types of NumPy that ROOT has none for.
    """
    if isinstance(what, ak.types.ArrayType):
        return plain(what.content)
    if isinstance(what, ak.types.Type):
        return plain(what)
    if isinstance(what, ak.forms.Form):
        return plain(what.type)
    if isinstance(what, Mapping):
        fields = [str(name) for name in what]
        return ak.types.RecordType([to_type(each) for each in what.values()], fields)
    if what is str or what is bytes or (isinstance(what, str) and what in ("str", "string")):
        return STRING
    if isinstance(what, str):
        return _spelt(what)
    try:
        return of_dtype(np.dtype(what))
    except (TypeError, ValueError) as error:
        if isinstance(error, (ArgumentTypeError, UnsupportedError)):
            raise
        raise _no_type(what) from None


def _spelt(text: str) -> Type:
    """A type that NumPy or Awkward spells so."""
    try:
        return of_dtype(np.dtype(text))
    except (TypeError, ValueError):
        pass
    try:
        spelt = ak.types.from_datashape(text, highlevel=False)
    except Exception:
        raise _no_type(text) from None
    return plain(spelt.content if isinstance(spelt, ak.types.ArrayType) else spelt)


def plain(type_: Type, has_options: bool = True) -> Type:
    """The same type as it is written: what is not known as reals, numbers as ROOT has them, tuples
    as records of numbered fields.

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
            return ak.types.OptionType(content) if has_options else content
        case ak.types.RecordType():
            contents = [plain(each, has_options) for each in type_.contents]
            names = type_.fields or [str(number) for number in range(len(contents))]
            return ak.types.RecordType(contents, names, parameters=type_.parameters)
        case ak.types.UnionType() if has_options:
            return ak.types.UnionType([plain(each) for each in type_.contents])
    what = f"values of several types in one column ({type_})"
    raise UnsupportedError(f"{what}: an RNTuple can hold them, a tree cannot")


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


def is_string(type_: Type) -> bool:
    return type_.parameter("__array__") in ("string", "bytestring")


def empty(type_: Type) -> Any:
    """A layout of no entries of this type."""
    return ak.forms.from_type(type_).length_zero_array(highlevel=False)


def _no_type(what: Any) -> ArgumentTypeError:
    said = "not a NumPy dtype, a type of Awkward, or how Awkward spells one"
    return ArgumentTypeError(f"{said}: {what!r}")


STRING = ak.types.ListType(
    ak.types.NumpyType("uint8", parameters={"__array__": "char"}),
    parameters={"__array__": "string"},
)
