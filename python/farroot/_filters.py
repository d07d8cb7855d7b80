"""Filters of names, as uproot spells them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from ._ours import called, function_of
from .errors import InvalidArgumentError

#: None, a name, a glob, ``"/regex/flags"``, a function of a name, or several of these.
Filter = str | Callable[[str], bool] | Iterable[str | Callable[[str], bool]] | None

#: A function of a branch or field, or None.
ColumnFilter = Callable[[Any], bool] | None

_REGEX = re.compile(r"^/(.*)/([iLmsux]*)$", re.DOTALL)


def predicate(wanted: Filter) -> Callable[[str], bool]:
    """A filter as a function; None accepts everything."""
    if wanted is None:
        return lambda _: True
    if isinstance(wanted, str):
        return _text_predicate(wanted)
    if callable(wanted):
        return called(wanted)
    if isinstance(wanted, Iterable):
        several = [predicate(each) for each in wanted]
        return lambda name: any(each(name) for each in several)
    raise InvalidArgumentError(
        "a filter is None, a name, a glob, a regular expression between slashes, a function, "
        f"or several of these, not {wanted!r}"
    )


def column_filter(filter_branch: Any, filter_field: Any) -> ColumnFilter:
    """The function of a branch or field, which goes by two names.

    Raises:
        ArgumentTypeError: for anything else.
    """
    wanted: ColumnFilter = filter_branch if filter_field is None else filter_field
    if wanted is not None:
        function_of(wanted, "filter_branch or filter_field")
    return wanted


def _text_predicate(text: str) -> Callable[[str], bool]:
    regex = _REGEX.match(text)
    if regex is not None:
        pattern, letters = regex.groups()
        flags = re.RegexFlag(0)
        for letter in letters:
            flags |= re.RegexFlag[letter.upper()]
        try:
            matcher = re.compile(pattern, flags)
        except (re.error, ValueError) as error:
            raise InvalidArgumentError(f"the regular expression {text!r}: {error}") from None
        return lambda name: matcher.match(name) is not None
    if _core.is_glob(text) or "[" in text:
        return lambda name: fnmatch.fnmatchcase(name, text)
    return lambda name: name == text
