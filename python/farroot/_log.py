"""Events of reads, as records of ``logging.getLogger("farroot")``; the engine calls this."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("farroot")
# A program that sets up no logging sees nothing of it.
LOGGER.addHandler(logging.NullHandler())


def threshold() -> int:
    """The least level of which anyone may want to know."""
    return LOGGER.getEffectiveLevel()


def deliver(lines: list[tuple[int, float, str]]) -> None:
    """Hands on lines, each with its level and its age in seconds."""
    for level, age, text in lines:
        if LOGGER.isEnabledFor(level):
            record = LOGGER.makeRecord("farroot", level, "", 0, text, (), None)
            # Records have the time at which it happened, and not that of their delivery.
            record.created -= age
            record.msecs = record.created % 1 * 1000
            LOGGER.handle(record)
