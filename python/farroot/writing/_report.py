"""Sizes of a file that was written, and the times of its parts."""

from __future__ import annotations

from .._account import Account


class WriteReport(Account):
    """A mapping of figures; as text, a short account."""
