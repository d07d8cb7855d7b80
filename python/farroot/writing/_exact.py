"""Numbers as those of another type: where none of them changes, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, InvalidArgumentError


def cast(numbers: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers as those of another type. Reals may be rounded, as far as they do not become
    infinite, or zero.

    Raises:
        InvalidArgumentError: where a number would be another one.
    """
    if numbers.dtype == dtype:
        return numbers
    with np.errstate(all="ignore"):
        converted = numbers.astype(dtype)
        if np.can_cast(numbers.dtype, dtype) and not _may_round(numbers.dtype, dtype):
            return converted
        changes = _changes(numbers, converted)
    if changes.any():
        changed = numbers[changes].flat[0]
        raise InvalidArgumentError(f"{changed} of {numbers.dtype} does not fit into {dtype}")
    return converted


def reals(values: Any, of: str) -> NDArray[np.float64]:
    """Numbers of an object that ROOT keeps as reals.

    Args:
        of: Their owner, for the error.

    Raises:
        InvalidArgumentError: for values that are missing, that would be rounded, or that are no
            numbers.
    """
    numbers = whole(values, of)
    if numbers.dtype.kind not in "biuf":
        if numbers.size == 0:
            return numbers.astype(np.float64)
        raise ArgumentTypeError(f"{of}: numbers are wanted, not {numbers.dtype}")
    if numbers.dtype.itemsize > 8:
        converted = numbers.astype(np.float64)
        is_same = (converted == numbers) | np.isnan(numbers)
        if not is_same.all():
            changed = numbers[~is_same].flat[0]
            said = 'write array.astype("float64") if it may be rounded'
            raise InvalidArgumentError(f"{of}: {changed} does not fit into float64: {said}")
        return converted
    try:
        return np.asarray(cast(numbers, np.dtype(np.float64)))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{of}: {error}") from None


def whole(values: Any, of: str) -> NDArray[Any]:
    """An array of NumPy of which no value is missing, of any type.

    Raises:
        InvalidArgumentError: where values are missing.
        ArgumentTypeError: for anything of which NumPy makes no array.
    """
    if np.ma.isMaskedArray(values):
        if np.ma.is_masked(values):
            count = int(np.ma.getmaskarray(values).sum())
            raise InvalidArgumentError(f"{of}: {count} masked values: .filled(...) gives them one")
        values = np.ma.getdata(values)
    try:
        numbers = np.asarray(values)
        if numbers.dtype.kind == "O":
            numbers = _of_objects(numbers)
    except Exception as error:
        kind = type(values).__name__
        raise ArgumentTypeError(f"{of}: a {kind} is no array of numbers: {error}") from None
    if isinstance(values, (list, tuple)):
        _refuse_rounded(values, numbers, of)
    return numbers


def _of_objects(objects: NDArray[Any]) -> NDArray[Any]:
    """Numbers of an array of objects: Python's integers may have any size."""
    numbers = np.asarray(objects.tolist())
    if numbers.dtype.kind == "O":
        raise ValueError("its items are no numbers, or too large")
    _refuse_rounded(objects.tolist(), numbers, "an array of objects")
    return numbers


def _refuse_rounded(items: Any, numbers: NDArray[Any], of: str) -> None:
    """NumPy makes reals of integers that are among reals, or too large for a type of integers."""
    if numbers.dtype.kind != "f" or numbers.ndim != 1:
        return
    for item, number in zip(items, numbers, strict=True):
        if isinstance(item, (int, np.integer)) and int(number) != int(item):
            raise InvalidArgumentError(f"{of}: {item} does not fit into {numbers.dtype}")


def whole_number(value: Any, of: str) -> int:
    """One integer.

    Raises:
        ArgumentTypeError: for anything else, also for reals with a fraction.
    """
    number = single(value, of)
    if not np.isfinite(number) or int(number) != number:
        raise ArgumentTypeError(f"{of} is a whole number, not {value!r}")
    return int(value)


def single(value: Any, of: str) -> float:
    """One number, as a real.

    Raises:
        ArgumentTypeError: for anything but a number.
        InvalidArgumentError: for one that would be rounded, or that is missing.
    """
    numbers = reals(value, of)
    if numbers.size != 1:
        raise ArgumentTypeError(f"{of} is a number, not {value!r}")
    return float(numbers.flat[0])


def _may_round(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether NumPy calls a conversion safe that rounds: that of large integers to reals."""
    if source.kind not in "iu" or target.kind != "f":
        return False
    return source.itemsize * 8 > np.finfo(target).nmant


def _changes(numbers: NDArray[Any], converted: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are others after a conversion."""
    source, target = numbers.dtype.kind, converted.dtype
    if source == "f" and target.kind == "f":
        is_lost = np.isinf(converted) & np.isfinite(numbers)
        return np.asarray(is_lost | ((converted == 0) & (numbers != 0)))
    if source in "iu" and target.kind == "f":
        return _rounded(numbers, np.finfo(target).nmant + 1)
    if source == "f" and target.kind in "iu":
        # Both bounds are powers of two, or zero, and so are exact as reals.
        limits = np.iinfo(target)
        fits = (numbers >= float(limits.min)) & (numbers < float(limits.max + 1))
        return np.asarray(~(fits & (np.trunc(numbers) == numbers)))
    if source in "iu" and target.kind in "iu":
        limits, own = np.iinfo(target), np.iinfo(numbers.dtype)
        low = np.array(max(limits.min, own.min), numbers.dtype)
        high = np.array(min(limits.max, own.max), numbers.dtype)
        return np.asarray((numbers < low) | (numbers > high))
    return np.asarray(converted != numbers)


def _rounded(integers: NDArray[Any], digits: int) -> NDArray[np.bool_]:
    """Which integers have more binary digits, zeros at the end not counted."""
    if integers.dtype.kind == "i":
        signed = integers.astype(np.int64)
        magnitudes = np.where(signed < 0, -signed, signed).view(np.uint64)
    else:
        magnitudes = integers.astype(np.uint64)
    lowest = magnitudes & (~magnitudes + np.uint64(1))
    return np.asarray(magnitudes // np.maximum(lowest, np.uint64(1)) >= np.uint64(1 << digits))
