"""Text of files and servers, as a terminal may be given it."""

from __future__ import annotations

import re

#: Control characters, ends of lines and paragraphs, and marks of the direction of writing.
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")


def shown(text: str) -> str:
    """With an escape sequence for each control character, line ends among them."""
    return _CONTROL.sub(_escaped, text)


def shown_lines(text: str) -> str:
    """The same of text of several lines."""
    return "\n".join(map(shown, text.split("\n")))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
