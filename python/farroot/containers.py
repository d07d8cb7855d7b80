"""Containers of C++ as ``library="np"`` gives them, and as interpretations name them.

The names are uproot's. ``STLVector``, ``STLList``, ``STLSet``, ``STLMap`` and ``STLBitSet`` are
values; ``AsVector``, ``AsMap`` and their kin describe the content of a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from ._uproot import Public

__all__ = [
    "AsArray",
    "AsBitSet",
    "AsContainer",
    "AsDynamic",
    "AsList",
    "AsMap",
    "AsPointer",
    "AsRVec",
    "AsSet",
    "AsString",
    "AsVector",
    "Container",
    "ROOTRVec",
    "STLBitSet",
    "STLList",
    "STLMap",
    "STLSet",
    "STLVector",
]


class Container:
    """A container of C++ as one of Python."""

    def tolist(self) -> Any:
        """The same of Python's own types, at every depth."""
        raise NotImplementedError


def plain(value: Any) -> Any:
    """A value of Python's own types, at every depth; members of sets and keys can be hashed."""
    return value.tolist() if isinstance(value, (Container, np.ndarray, np.generic)) else value


def _hashed(value: Any) -> Any:
    """As :func:`plain`, of a key or a member of a set."""
    made = plain(value)
    if isinstance(made, list):
        return tuple(map(_hashed, made))
    return frozenset(made) if isinstance(made, set) else made


class _Listed(Container, Sequence[Any]):
    """A container with its items in an order."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._values: Any = (
            values if isinstance(values, (np.ndarray, list, tuple)) else list(values)
        )

    def __getitem__(self, where: Any) -> Any:
        return self._values[where]

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Sequence, np.ndarray)) or isinstance(other, str):
            return NotImplemented
        return bool(self.tolist() == plain_list(other))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._values, dtype=dtype)

    def tolist(self) -> list[Any]:
        """A list of Python's own types, at every depth."""
        return plain_list(self._values)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._values!s}>"


def plain_list(values: Iterable[Any]) -> list[Any]:
    """A list of Python's own types, at every depth."""
    return [plain(value) for value in values]


class STLVector(_Listed):
    """A ``std::vector``.

    Example:
        >>> tree = farroot.open("members.root:events")
        >>> tree["event/nested"].array(library="np", entry_stop=2)[1]
        <STLVector [<STLVector [1]>]>
    """


class STLList(_Listed):
    """A ``std::list``."""


class STLBitSet(_Listed):
    """A ``std::bitset``: a bool for each bit, the lowest first."""


class ROOTRVec(_Listed):
    """A ``ROOT::VecOps::RVec``."""


class STLSet(Container, Set[Any]):
    """A ``std::set``, in the order of the file.

    Example:
        >>> farroot.STLSet([3, 1]).tolist()
        {1, 3}
    """

    def __init__(self, keys: Iterable[Any]) -> None:
        self._keys = {_hashed(key): key for key in keys}

    def __contains__(self, key: object) -> bool:
        return _hashed(key) in self._keys

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys.values())

    def __len__(self) -> int:
        return len(self._keys)

    def tolist(self) -> set[Any]:
        """A set of Python's own types."""
        return set(self._keys)

    def __repr__(self) -> str:
        return f"<STLSet {{{', '.join(map(repr, self._keys))}}}>"


class STLMap(Container, Mapping[Any, Any]):
    """A ``std::map``, in the order of the file.

    Example:
        >>> farroot.STLMap(["one", "two"], [1, 2])["two"]
        2
    """

    def __init__(self, keys: Iterable[Any], values: Iterable[Any]) -> None:
        pairs = zip(keys, values, strict=True)
        self._pairs = {_hashed(key): value for key, value in pairs}

    def __getitem__(self, key: Any) -> Any:
        return self._pairs[_hashed(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def keys(self) -> Any:
        """The keys as a NumPy array, as uproot has them."""
        return _array(list(self._pairs))

    def values(self) -> Any:
        """The values as a NumPy array, as uproot has them."""
        return _array(list(self._pairs.values()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        theirs = {_hashed(key): plain(value) for key, value in other.items()}
        return bool(self.tolist() == theirs)

    __hash__ = None  # type: ignore[assignment]

    def tolist(self) -> dict[Any, Any]:
        """A dict of Python's own types."""
        return {key: plain(value) for key, value in self._pairs.items()}

    def __repr__(self) -> str:
        return f"<STLMap {self.tolist()!r}>"


def _array(values: list[Any]) -> Any:
    """As an array of numbers or texts; of anything else, of objects."""
    if not any(isinstance(value, (Container, np.ndarray, tuple)) for value in values):
        return np.asarray(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


#: The containers of C++ collections whose elements have an order.
_IN_ORDER = {"vector": STLVector, "list": STLList, "bitset": STLBitSet, "RVec": ROOTRVec}


def of_class(classname: str, value: Any) -> Any:
    """The value of an object of a C++ class as uproot's container, or unchanged if the class is no
    collection."""
    kind = classname.partition("<")[0].rpartition("::")[2]
    if kind in _IN_ORDER and isinstance(value, (np.ndarray, list)):
        return _IN_ORDER[kind](value)
    if kind in ("map", "unordered_map") and isinstance(value, dict):
        return STLMap(value.keys(), value.values())
    if kind in ("set", "unordered_set") and isinstance(value, (np.ndarray, list)):
        return STLSet(value)
    return value


# -- contents of branches
# --------------------------------------------------------------------------


def _content(content: Any) -> Any:
    return content if isinstance(content, (AsContainer, type)) else np.dtype(content)


def shown(content: Any) -> str:
    """As an interpretation shows its content: a class by its name."""
    return content.__name__ if isinstance(content, type) else repr(content)


class AsContainer(Public):
    """A container in the bytes of a branch; equal where it is of the same kind and contents."""

    def __init__(self, header: bool = True, *contents: Any) -> None:
        self._header = bool(header)
        self._contents = contents

    @property
    def header(self) -> bool:
        """Whether a version and a length stand before the contents."""
        return self._header

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def _state(self) -> tuple[Any, ...]:
        return (self._header, *self._contents)

    def __repr__(self) -> str:
        said = [repr(self._header), *map(shown, self._contents)]
        return f"{type(self).__name__}({', '.join(said)})"


class _AsListed(AsContainer):
    def __init__(self, header: bool, values: Any) -> None:
        super().__init__(header, _content(values))

    @property
    def values(self) -> Any:
        """The type of its content."""
        return self._contents[0]


class AsVector(_AsListed):
    """A ``std::vector``.

    Example:
        >>> farroot.AsVector(True, np.dtype(">f4"))
        AsVector(True, dtype('>f4'))
    """


class AsList(_AsListed):
    """A ``std::list``."""


class AsRVec(_AsListed):
    """A ``ROOT::VecOps::RVec``.

    Example:
        >>> farroot.AsRVec(False, np.dtype(">f4"))
        AsRVec(False, dtype('>f4'))
    """


class AsSet(AsContainer):
    """A ``std::set``.

    Example:
        >>> farroot.AsSet(True, np.dtype(">i4"))
        AsSet(True, dtype('>i4'))
    """

    def __init__(self, header: bool, keys: Any) -> None:
        super().__init__(header, _content(keys))

    @property
    def keys(self) -> Any:
        """The type of its content."""
        return self._contents[0]


class AsBitSet(AsContainer):
    """A ``std::bitset``."""

    def __init__(self, header: bool, num_bits: Any = None) -> None:
        super().__init__(header, np.dtype(np.bool_))
        self.num_bits = num_bits if isinstance(num_bits, int) else None


class AsMap(AsContainer):
    """A ``std::map``.

    Example:
        >>> farroot.AsMap(True, np.dtype(">i4"), farroot.AsString(False))
        AsMap(True, dtype('>i4'), AsString(False))
    """

    def __init__(self, header: bool, keys: Any, values: Any) -> None:
        super().__init__(header, _content(keys), _content(values))

    @property
    def keys(self) -> Any:
        """The type of its keys."""
        return self._contents[0]

    @property
    def values(self) -> Any:
        """The type of its values."""
        return self._contents[1]


class AsString(AsContainer):
    """A string within something else; of its own it is ``interpretation.strings.AsStrings``.

    Example:
        >>> farroot.AsString(True)
        AsString(True)
    """

    def __init__(
        self, header: bool, length_bytes: str = "1-5", typename: str | None = None
    ) -> None:
        super().__init__(header)
        #: Whether the length takes one byte or five (``"1-5"``), or always four (``"4"``).
        self.length_bytes = length_bytes

    def _state(self) -> tuple[Any, ...]:
        return self._header, self.length_bytes

    def __repr__(self) -> str:
        more = "" if self.length_bytes == "1-5" else f", length_bytes={self.length_bytes!r}"
        return f"AsString({self._header}{more})"


class AsArray(AsContainer):
    """An array of C: of classes, as of numbers it is ``interpretation.jagged.AsJagged``.

    Example:
        >>> farroot.AsArray(False, False, farroot.AsString(False))
        AsArray(False, False, AsString(False), ())
    """

    def __init__(
        self, header: bool, speedbump: bool, values: Any, inner_shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__(header, _content(values))
        self.speedbump, self.inner_shape = speedbump, inner_shape

    @property
    def values(self) -> Any:
        """The type of its content."""
        return self._contents[0]

    def _state(self) -> tuple[Any, ...]:
        return (self._header, self.speedbump, *self._contents, self.inner_shape)

    def __repr__(self) -> str:
        inner = self.inner_shape
        return f"AsArray({self._header}, {self.speedbump}, {shown(self.values)}, {inner})"


class AsPointer(AsContainer):
    """A pointer.

    Example:
        >>> farroot.AsPointer()
        AsPointer()
    """

    def __init__(self, pointee: Any = None) -> None:
        super().__init__(True, pointee)

    @property
    def pointee(self) -> Any:
        """The type that it points to; None where that is not known."""
        return self._contents[0]

    def __repr__(self) -> str:
        return f"AsPointer({'' if self.pointee is None else shown(self.pointee)})"


class AsDynamic(AsContainer):
    """An object that says itself of which class it is.

    Example:
        >>> farroot.AsDynamic()
        AsDynamic()
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__(True, model)

    @property
    def model(self) -> Any:
        """The class that the tree names."""
        return self._contents[0]

    def __repr__(self) -> str:
        return "AsDynamic()" if self.model is None else f"AsDynamic(model={shown(self.model)})"
