"""Interpretations that a program defines: its own code makes arrays of a branch's bytes.

A class that derives from :class:`CustomInterpretation` and is given to
:func:`farroot.register_interpretation` reads the branches that its ``match_branch`` names.
:class:`AsBinary` gives the bytes themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farroot._libraries import named
from farroot._ours import by_caller
from farroot.errors import InvalidArgumentError
from farroot.interpretation import Interpretation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from farroot._libraries import Library
    from farroot.baskets import Basket

__all__ = ["AsBinary", "CustomInterpretation", "OfBytes"]


class OfBytes(Interpretation):
    """An interpretation that makes arrays of the bytes of entries itself."""

    def _state(self) -> tuple[Any, ...]:
        return (id(self),)

    def basket_array(
        self,
        data: NDArray[np.uint8],
        byte_offsets: NDArray[np.int64] | None,
        basket: Basket,
        branch: Any,
        context: Mapping[str, Any],
        cursor_offset: int,
        library: Library,
        interp_options: Mapping[str, Any],
    ) -> Any:
        """The array of some entries, with one element for each; subclasses define it.

        It is called once for the entries that are read together, which may be those of several
        baskets or of a part of one.

        Args:
            data: The bytes of the entries, as in the file.
            byte_offsets: Offset of each entry in ``data``, and the end of the last entry; None
                where all entries have the same length.
            basket: The bytes, their offsets and the range of entries in one object.
            branch: The branch that is read; of several files, the branch of the first.
            context, interp_options: Empty.
            cursor_offset: 0; in uproot, the number of bytes in front of ``data``.
            library: The library of the array; its ``name`` is ``"ak"``, ``"np"`` or ``"pd"``.
        """
        raise NotImplementedError

    def final_array(
        self,
        basket_arrays: Mapping[int, Any],
        entry_start: int,
        entry_stop: int,
        entry_offsets: Sequence[int],
        library: Library,
        branch: Any,
        options: Mapping[str, Any],
    ) -> Any:
        """The array that is returned to the caller: by default, that of :meth:`basket_array`.

        Args:
            basket_arrays: The array of :meth:`basket_array`, with the key 0.
            entry_start, entry_stop: 0 and the number of entries.
            entry_offsets: The same two.
            library, branch, options: As for :meth:`basket_array`.
        """
        return basket_arrays[0]

    def array(self, basket: Basket, branch: Any, into: Library) -> Any:
        """The array of some entries.

        Raises:
            InvalidArgumentError: if its length is not the number of entries.
        """
        data, offsets, entries = basket.data, basket.byte_offsets, basket.num_entries
        # Arrow arrays are made from Awkward arrays.
        library = named("ak") if into.name == "pa" else into
        with by_caller():
            made = self.basket_array(data, offsets, basket, branch, {}, 0, library, {})
            array = self.final_array({0: made}, 0, entries, [0, entries], library, branch, {})
        if len(array) != entries:
            raise InvalidArgumentError(
                f"{self!r} gives {len(array)} elements for {entries} entries of {branch!r}"
            )
        return array


class CustomInterpretation(OfBytes):
    """The base of interpretations that a program defines and registers.

    Args:
        branch: The branch that is read.
        context: Empty.
        simplify: True.

    Example:
        >>> class Metres(farroot.CustomInterpretation):
        ...     @classmethod
        ...     def match_branch(cls, branch, context, simplify):
        ...         return branch.name == "length"
        >>> farroot.register_interpretation(Metres)
        >>> farroot.unregister_interpretation(Metres)
    """

    def __init__(self, branch: Any, context: Mapping[str, Any], simplify: bool) -> None:
        self._branch, self._context, self._simplify = branch, context, simplify

    @classmethod
    def match_branch(cls, branch: Any, context: Mapping[str, Any], simplify: bool) -> bool:
        """Whether this class reads a branch; subclasses define it. Arguments as of the class."""
        raise NotImplementedError

    @property
    def typename(self) -> str:
        """The C++ type of the branch."""
        return str(self._branch.typename)

    def __repr__(self) -> str:
        return type(self).__name__


class AsBinary(OfBytes):
    """The bytes of each entry, as they are in the file: ``branch.array(AsBinary())``.

    NumPy arrays have one row for each entry, and need entries of equal length.

    Example:
        >>> branch = farroot.open("events.root:Events")["run"]
        >>> branch.array(farroot.AsBinary(), entry_stop=1).tolist()
        [[0, 0, 0, 1]]
    """

    def basket_array(
        self,
        data: NDArray[np.uint8],
        byte_offsets: NDArray[np.int64] | None,
        basket: Basket,
        branch: Any,
        context: Mapping[str, Any],
        cursor_offset: int,
        library: Library,
        interp_options: Mapping[str, Any],
    ) -> Any:
        lengths = np.diff(byte_offsets) if byte_offsets is not None else None
        if library.name == "ak":
            from .._awkward import ak

            if lengths is not None:
                return ak.unflatten(data, lengths)
            return ak.from_numpy(_rows(data, basket.num_entries), regulararray=True)
        if lengths is not None and (lengths != lengths[:1]).any():
            raise InvalidArgumentError(
                f'entries of {branch!r} differ in length: library="ak" has an array of them'
            )
        return _rows(data, basket.num_entries)

    def __repr__(self) -> str:
        return "AsBinary()"


def _rows(data: NDArray[np.uint8], entries: int) -> NDArray[np.uint8]:
    return data.reshape(entries, len(data) // max(entries, 1))
