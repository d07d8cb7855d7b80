"""Classes whose bytes only the user understands: those with streamers written by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ._ours import called
from ._uproot import taken
from .errors import ArgumentTypeError, CorruptError, InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._core import Column
    from ._protocols import Branch
    from .interpretation import Interpretation

#: Gives an array of one element an entry.
Decoder = Callable[["Column | _Stored"], Any]

_decoders: dict[str, Decoder] = {}
#: The same by the names of classes in files: without ``std::``.
_of_objects: dict[str, Decoder] = {}
#: Classes that match branches by ``match_branch``, in the order of their registration.
_interpretations: list[type[Any]] = []


class _Stored(NamedTuple):
    """One entry, as a branch would have it."""

    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@taken
def register(typename: str, decode: Any, *, skip: int = 0, single: bool = False) -> None:
    """Registers a decoder of a type, for every file and every way to read.

    It reads branches, and single objects: those of a key, and those in other objects and their
    collections. These count as one entry, and the decoder's result stands where the object would.

    Args:
        typename: The type as :attr:`Branch.typename` or :meth:`File.classname_of` spells it. The
            decoder goes before farroot's own of the type; a second one replaces the first.
        decode: Anything that NumPy takes as a dtype, for objects of fixed size: entries are as
            many of them as there are bytes for. ``">i4"`` is a big-endian number, as ROOT writes
            them; a list of names and types is a record, in which ``"V6"`` leaves out six bytes.

            Or a function, for everything else. It is called for each run of entries with a list of
            their bytes as they are in the file, headers included, and gives a NumPy or Awkward
            array of as many elements.
        skip: Bytes in front of each entry to leave out, with a dtype: 10 for the header and the
            count of a ``std::vector``, 6 for the header of an object.
        single: Whether an entry is exactly one object, and not a list of them; with a dtype.

    It holds for this process: others (``multiprocessing`` without a fork) register for themselves.

    Raises:
        InvalidArgumentError: for anything but a function or a dtype.

    Example:
        >>> farroot.register("TVector2", np.dtype([("x", ">f8"), ("y", ">f8")]))
        >>> farroot.unregister("TVector2")
    """
    if callable(decode) and not isinstance(decode, type):
        if skip or single:
            raise InvalidArgumentError("skip and single go with a dtype; a function gets all bytes")
        _decoders[typename] = _by_function(called(decode))
    else:
        _decoders[typename] = _by_dtype(typename, decode, skip, single)
    _of_objects[_in_files(typename)] = _decoders[typename]


@taken
def unregister(typename: str) -> None:
    """Forgets a type.

    Example:
        >>> farroot.register("Hit", lambda data: len(data))
        >>> farroot.unregister("Hit")
    """
    _decoders.pop(typename, None)
    _of_objects.pop(_in_files(typename), None)


@taken
def register_interpretation(interpretation: type[Interpretation]) -> None:
    """Makes farroot read the branches that a class matches by this class, in every file.

    Args:
        interpretation: A class that derives from
            :class:`farroot.interpretation.custom.CustomInterpretation`. Of several classes that
            match a branch, the one that was registered first reads it.

    It holds for this process. For a program that needs only the bytes of each entry,
    :func:`farroot.register` with a function does the same.

    Raises:
        ArgumentTypeError: for anything but such a class.

    Example:
        >>> class Metres(farroot.CustomInterpretation):
        ...     @classmethod
        ...     def match_branch(cls, branch, context, simplify):
        ...         return branch.name == "length"
        >>> farroot.register_interpretation(Metres)
        >>> farroot.unregister_interpretation(Metres)
    """
    if not isinstance(interpretation, type) or not hasattr(interpretation, "match_branch"):
        raise ArgumentTypeError(
            "what is registered is a class that derives from "
            f"farroot.interpretation.custom.CustomInterpretation, not {interpretation!r}"
        )
    if interpretation in _interpretations:
        message = f"{interpretation} is registered already, and stays at its place in the order"
        warnings.warn(message, UserWarning, stacklevel=2)
        return
    _interpretations.append(interpretation)


@taken
def unregister_interpretation(interpretation: type[Interpretation]) -> None:
    """Forgets a class; nothing happens where it was not registered.

    Example:
        >>> class Metres(farroot.CustomInterpretation):
        ...     @classmethod
        ...     def match_branch(cls, branch, context, simplify):
        ...         return branch.name == "length"
        >>> farroot.register_interpretation(Metres)
        >>> farroot.unregister_interpretation(Metres)
    """
    if interpretation in _interpretations:
        _interpretations.remove(interpretation)


def has_interpretations() -> bool:
    """Whether any class is registered."""
    return bool(_interpretations)


def custom_interpretation(branch: Branch) -> Interpretation | None:
    """The interpretation of a branch by the first class that matches it, or None."""
    for interpretation in _interpretations:
        if called(interpretation.match_branch)(branch, {}, True):
            found: Interpretation = interpretation(branch, {}, True)
            return found
    return None


def _in_files(typename: str) -> str:
    return typename.replace("std::", "")


def opaque() -> set[str]:
    """Classes whose objects are left as bytes."""
    return set(_of_objects)


def is_opaque(classname: str) -> bool:
    """Whether objects of a class are left as bytes."""
    return classname in _of_objects


def decoded(classname: str, stored: bytes) -> Any:
    """One object of a class, by its registered decoder."""
    import numpy as np

    offsets = np.array([0, len(stored)])
    found = _of_objects[classname](_Stored(np.frombuffer(stored, dtype=np.uint8), offsets))
    if len(found) != 1:
        message = f"what is registered for {classname} gives {len(found)} elements for one object"
        raise InvalidArgumentError(message)
    return found[0]


def registered(typename: Callable[[], str]) -> Decoder | None:
    """The registered decoder of a type, whose name is made only where there are decoders."""
    return _decoders.get(typename()) if _decoders else None


def _by_function(decode: Callable[[list[bytes]], Any]) -> Decoder:
    def of_column(column: Any) -> Any:
        stored = bytes(column.bytes)
        bounds = column.offsets.tolist()
        return decode([stored[start:stop] for start, stop in pairwise(bounds)])

    return of_column


def _by_dtype(typename: str, dtype: Any, skip: int, single: bool) -> Decoder:
    import numpy as np

    try:
        item = np.dtype(dtype)
    except TypeError as error:
        message = f"{dtype!r} for {typename} is neither a function nor a dtype: {error}"
        raise InvalidArgumentError(message) from error
    if item.itemsize == 0 or item.hasobject or skip < 0:
        raise InvalidArgumentError(f"objects of {item} behind {skip} bytes, for {typename}")

    def of_column(column: Any) -> Any:
        from ._awkward import ak

        starts, stops = column.offsets[:-1], column.offsets[1:]
        there = stops > starts
        lengths = np.where(there, stops - starts - skip, 0)
        counts, rest = np.divmod(lengths, item.itemsize)
        if rest.any() or (lengths < 0).any() or (single and (counts != 1).any()):
            entry = int(np.argmax((rest != 0) | (lengths < 0) | (single & (counts != 1))))
            size = int(stops[entry] - starts[entry])
            raise CorruptError(
                f"{typename} is registered as {item.itemsize} bytes behind {skip}; "
                f"an entry has {size} bytes"
            )
        stored = column.bytes
        if skip and there.any():
            kept = np.ones(len(stored), dtype=bool)
            kept[(starts[there, np.newaxis] + np.arange(skip)).reshape(-1)] = False
            stored = stored[kept]
        items = ak.Array(_layout(stored[: int(counts.sum()) * item.itemsize].view(item)))
        return items if single else ak.unflatten(items, counts)

    return of_column


def _layout(items: Any) -> Any:
    """NumPy's records as Awkward's, in the byte order of the machine."""
    from ._awkward import ak

    if items.dtype.names is None:
        return ak.from_numpy(items.astype(items.dtype.newbyteorder("=")), regulararray=True).layout
    kinds = {name: items.dtype[name].base for name in items.dtype.names}
    kept = [name for name, kind in kinds.items() if kind.kind != "V" or kind.names is not None]
    fields = [_layout(items[name]) for name in kept]
    return ak.contents.RecordArray(fields, kept, length=len(items))
