"""Arguments of functions that write."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._numbers import whole
from ..errors import ArgumentTypeError, InvalidArgumentError


def text(value: object, of: str) -> str:
    """A text that a file can have.

    Raises:
        ArgumentTypeError: for anything else.
        InvalidArgumentError: for a text that UTF-8 has no bytes for.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{of} is a text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{of} is no text that UTF-8 has: {value!r}") from None
    return value


def texts(value: object, of: str) -> dict[str, str]:
    """Texts by name, None for none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{of} is a dict of texts, not {value!r}")
    return {text(name, f"a name in {of}"): text(each, of) for name, each in value.items()}


def flag(value: object, of: str) -> bool:
    """True or False.

    Raises:
        ArgumentTypeError: for anything else: a text is true, whatever it says.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{of} is True or False, not {value!r}")
    return bool(value)


def count(value: object, of: str, least: int = 1) -> int:
    """A whole number that memory can have so many of.

    Raises:
        ArgumentTypeError: for anything else.
        InvalidArgumentError: for one that is too small, or too large.
    """
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{of} is a whole number, not {value!r}")
    number = whole(value, of)
    if not least <= number < 1 << 62:
        raise InvalidArgumentError(f"{of} is a number from {least} to 2**62, not {value}")
    return number
