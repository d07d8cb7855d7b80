"""Text as it may leave the package: without secrets, and as a terminal may be given it."""

from __future__ import annotations

from . import _core


def shown(text: str) -> str:
    """Without secrets, and with an escape sequence for each control character."""
    return _core.shown(text)


def shown_lines(text: str) -> str:
    """The same of text of several lines."""
    return _core.shown_lines(text)


def without_secrets(text: str) -> str:
    """Without passwords, tokens and signatures, wherever they stand in it."""
    return _core.without_secrets(text)
