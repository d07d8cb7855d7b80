"""Ranges of entries, and steps through them."""

from __future__ import annotations

import operator

from . import _core
from .errors import InvalidArgumentError

#: Entries, or bytes with a unit (``"100 MB"``), that come at a time.
StepSize = int | str


def entry_range(entries: int, entry_start: int | None, entry_stop: int | None) -> tuple[int, int]:
    """Entries as a half-open range within ``0..entries``; negative ones count from the end."""

    def position(given: int | None, default: int) -> int:
        if given is None:
            return default
        try:
            given = operator.index(given)
        except TypeError:
            raise InvalidArgumentError(f"an entry is a whole number, not {given!r}") from None
        return min(entries, max(0, given + entries if given < 0 else given))

    start = position(entry_start, 0)
    return start, max(start, position(entry_stop, entries))


def step(step_size: StepSize) -> dict[str, int]:
    """A step as the engine's arguments."""
    if isinstance(step_size, str):
        return {"step_bytes": _core.parse_bytes(step_size)}
    try:
        entries = operator.index(step_size)
    except TypeError:
        entries = 0
    if entries <= 0:
        raise InvalidArgumentError(
            f'a step is a number of entries or a size as "100 MB", not {step_size!r}'
        )
    return {"step_entries": entries}
