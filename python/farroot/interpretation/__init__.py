"""Interpretations of a branch's bytes: ``branch.interpretation``, by uproot's names.

An interpretation can be printed and compared. Those of numbers are also arguments of ``array`` and
``arrays``: the same bytes as numbers of another type (see :mod:`farroot.interpretation.numerical`).
"""

from __future__ import annotations

from typing import Any

from farroot._uproot import Public
from farroot.errors import InvalidArgumentError


class Interpretation(Public):
    """How the bytes of a branch are read; equal where it says the same."""

    def _state(self) -> tuple[Any, ...]:
        """The values that are compared."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(repr(self))

    #: The branch whose interpretation this is.
    _of: Any = None

    def awkward_form(self, file: Any = None, context: Any = None, **_: Any) -> Any:
        """The form of the Awkward arrays that the branch is read as; no basket is read for it.

        Raises:
            InvalidArgumentError: for an interpretation that is of no branch.
        """
        if self._of is None:
            raise InvalidArgumentError(f"{self!r} is of no branch, which would say what it gives")
        return self._of.array(entry_stop=0).layout.form
