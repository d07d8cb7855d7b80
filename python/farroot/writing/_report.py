"""Sizes of a file that was written, and the times of its parts."""

from __future__ import annotations

from .._account import Account


class WriteReport(Account):
    """A mapping of figures; as text, a short account.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     file["x"] = "a text"
        >>> report = file.file.report
        >>> sorted(report)[:3]
        ['address', 'array_bytes', 'carrying_s']
    """
