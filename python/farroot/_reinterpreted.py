"""The bytes of a branch as numbers of another type: ``branch.array(AsDtype(">u4"))``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import ArgumentTypeError, InvalidArgumentError
from .interpretation import Interpretation

if TYPE_CHECKING:
    from ._libraries import Library
    from ._protocols import Branch


def pairs(expressions: Any) -> dict[str, Interpretation | None] | None:
    """Names and interpretations, where expressions are a dict of these or a list of pairs.

    Raises:
        ArgumentTypeError: for anything but an interpretation.
        InvalidArgumentError: for two of one name.
    """
    if isinstance(expressions, Mapping):
        given = list(expressions.items())
    elif isinstance(expressions, (list, tuple)) and any(isinstance(e, tuple) for e in expressions):
        given = [each if isinstance(each, tuple) else (each, None) for each in expressions]
    else:
        return None
    found: dict[str, Interpretation | None] = {}
    for pair in given:
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise ArgumentTypeError(f"a pair is a name and an interpretation, not {pair!r}")
        name, wanted = pair[0], asked(pair[1])
        if found.setdefault(name, wanted) != wanted:
            raise InvalidArgumentError(f"{name!r} is asked for with two interpretations")
    return found


def asked(interpretation: Any) -> Interpretation | None:
    """The interpretation of an argument: itself, or that of the dtype of numbers (``">u4"``).

    Raises:
        ArgumentTypeError: for anything else.
    """
    if interpretation is None or isinstance(interpretation, Interpretation):
        return interpretation
    import numpy as np

    from .interpretation.numerical import AsDtype

    try:
        # Files are big-endian, whatever this machine is.
        return AsDtype(np.dtype(interpretation).newbyteorder(">"))
    except TypeError:
        raise ArgumentTypeError(
            f"an interpretation is one of farroot.interpretation or a dtype, not {interpretation!r}"
        ) from None


def check(branch: Branch, wanted: Interpretation) -> None:
    """Raises:
    InvalidArgumentError: where the bytes of the branch cannot be read so.
    """
    _plan(branch, wanted)


def stored(branch: Branch) -> Interpretation:
    """The interpretation that a branch has by its type, without registered ones."""
    from .interpretation.identify import stored_interpretation

    return stored_interpretation(branch)


def is_of_bytes(wanted: Interpretation) -> bool:
    """Whether an interpretation makes arrays of the bytes of entries itself."""
    from .interpretation.custom import OfBytes

    return isinstance(wanted, OfBytes)


def array(column: Any, branch: Branch, wanted: Any, into: Library, entries: tuple[int, int]) -> Any:
    """A column as the array that an interpretation makes of its bytes; of Awkward or NumPy.

    Args:
        entries: First and last entry (half open) of the column in the tree.

    Raises:
        InvalidArgumentError: as :func:`check`, and where an array to fill is too short.
    """
    import numpy as np

    from ._libraries.numpy import NumPy, to_numpy
    from .baskets import basket_of
    from .interpretation.numerical import AsDtypeInPlace

    if is_of_bytes(wanted):
        return wanted.array(basket_of(column, branch, entries), branch, into)

    own, new = _plan(branch, wanted)
    if isinstance(column, _core.List):
        return _jagged(column, own, new, branch)
    stored = np.ascontiguousarray(to_numpy(column).astype(own.from_dtype.base))
    values = stored.reshape(-1).view(new.from_dtype.base).reshape(-1, *new.from_dtype.shape)
    if not isinstance(new, AsDtypeInPlace):
        if isinstance(into, NumPy):
            return _cast(values, new.to_dtype.base, branch)
        return _of_awkward(_cast(values, new.to_dtype.base.newbyteorder("="), branch), branch)
    if not isinstance(into, NumPy):
        raise InvalidArgumentError('an array is filled with library="np" only')
    if len(new.to_fill) < len(values):
        raise InvalidArgumentError(
            f"an array of {len(new.to_fill)} cannot hold the {len(values)} entries of {branch!r}"
        )
    filled = new.to_fill[: len(values)]
    try:
        filled[...] = values
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{branch!r} has arrays of {values.dtype} and shape {values.shape}, which do not go "
            f"into one of {filled.dtype} and shape {filled.shape}: {error}"
        ) from None
    return filled


def _cast(values: Any, dtype: Any, branch: Branch) -> Any:
    """Values as another type."""
    try:
        return values.astype(dtype)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{branch!r} read as {values.dtype} cannot be handed out as {dtype}: {error}"
        ) from None


def _of_awkward(values: Any, branch: Branch) -> Any:
    """Values as those libraries take them that have no structures: records are of Awkward."""
    if values.dtype.names is None:
        if values.dtype.kind not in "biufc":
            raise InvalidArgumentError(
                f'{branch!r} as {values.dtype} is for library="np" only: they are no numbers'
            )
        return values
    from ._awkward import ak

    return ak.Array(_records(values, branch))


def _records(values: Any, branch: Branch) -> Any:
    """A structured array as an Awkward layout."""
    import numpy as np

    from ._awkward import ak
    from ._libraries.awkward import to_regular

    if values.dtype.names is None:
        return to_regular(np.ascontiguousarray(_of_awkward(values, branch)))
    layout: Any = ak.contents.RecordArray(
        [
            _records(values[name].reshape(values.size, *values[name].shape[values.ndim :]), branch)
            for name in values.dtype.names
        ],
        list(values.dtype.names),
        length=values.size,
    )
    for axis in range(values.ndim - 1, 0, -1):
        outer = int(np.prod(values.shape[:axis]))
        layout = ak.contents.RegularArray(layout, values.shape[axis], zeros_length=outer)
    return layout


def _jagged(column: Any, own: Any, new: Any, branch: Branch) -> Any:
    import numpy as np

    from ._awkward import ak
    from ._libraries.numpy import to_numpy

    stored = np.ascontiguousarray(to_numpy(column.content).astype(own.from_dtype.base))
    offsets = np.asarray(column.offsets) * own.itemsize
    stored = stored[: int(column.offsets[-1])]
    if (offsets % new.itemsize).any():
        raise InvalidArgumentError(
            f"lists of elements of {own.itemsize} bytes do not split into ones of {new.itemsize}"
        )
    values = stored.reshape(-1).view(new.from_dtype.base).reshape(-1, *new.from_dtype.shape)
    content = _records(_cast(values, new.to_dtype.base.newbyteorder("="), branch), branch)
    ends = ak.index.Index64(offsets // new.itemsize)
    return ak.Array(ak.contents.ListOffsetArray(ends, content))


def _plan(branch: Branch, wanted: Interpretation) -> tuple[Any, Any]:
    """The types in the file and of the array: ``AsDtype`` of an entry or of a list's content.

    Raises:
        InvalidArgumentError: where the one cannot be had of the other.
    """
    from .interpretation.jagged import AsJagged
    from .interpretation.numerical import AsDtype

    own = stored(branch)
    both = own, wanted
    if isinstance(own, AsJagged) and isinstance(wanted, AsJagged):
        both = own.content, wanted.content
    first, second = both
    if not isinstance(first, AsDtype) or not isinstance(second, AsDtype):
        raise InvalidArgumentError(
            f"{branch!r} is read as {own!r}, and its bytes cannot be read as {wanted!r}"
        )
    if first is own and first.itemsize != second.itemsize:
        raise InvalidArgumentError(
            f"an entry of {branch!r} has {first.itemsize} bytes, not the {second.itemsize} "
            f"of {wanted!r}"
        )
    if second.to_dtype.shape not in ((), second.from_dtype.shape):
        raise InvalidArgumentError(
            f"{wanted!r} reads arrays of shape {second.from_dtype.shape} and cannot hand out ones "
            f"of shape {second.to_dtype.shape}"
        )
    return first, second
