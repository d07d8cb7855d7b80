"""Text as it may leave the package: without secrets, and as a terminal may be given it."""

from __future__ import annotations

from typing import Any

_core: Any
try:
    from . import _core
except ImportError as error:
    # Where the engine cannot be loaded, the error that says so is none of its.
    if "interpreter" not in str(error):
        raise
    _core = None


def shown(text: str) -> str:
    """Without secrets, and with an escape sequence for each control character."""
    return text if _core is None else str(_core.shown(text))


def shown_lines(text: str) -> str:
    """The same of text of several lines."""
    return text if _core is None else str(_core.shown_lines(text))


def without_secrets(text: str) -> str:
    """Without passwords, tokens and signatures, wherever they stand in it."""
    return text if _core is None else str(_core.without_secrets(text))
