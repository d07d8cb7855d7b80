"""What writing a file has cost."""

from __future__ import annotations

from .._account import Account


class WriteReport(Account):
    """A mapping of figures; as text, a short account."""
