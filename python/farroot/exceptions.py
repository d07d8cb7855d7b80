"""Errors and warnings under uproot's name: those of :mod:`farroot.errors`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._uproot import no_name
from .errors import (
    ArgumentTypeError,
    ChangedError,
    ConnectionFailedError,
    CorruptError,
    Error,
    IgnoredArgumentWarning,
    InvalidArgumentError,
    KeyInFileError,
    LimitReachedError,
    NoAttributeError,
    NotFoundError,
    PermissionDeniedError,
    ReadError,
    RecoveredWarning,
    SettingWarning,
    SkippedWarning,
    TimedOutError,
    UnauthenticatedError,
    UnreadableWarning,
    UnsupportedError,
)

__all__ = [
    "ArgumentTypeError",
    "ChangedError",
    "ConnectionFailedError",
    "CorruptError",
    "Error",
    "IgnoredArgumentWarning",
    "InvalidArgumentError",
    "KeyInFileError",
    "LimitReachedError",
    "NoAttributeError",
    "NotFoundError",
    "PermissionDeniedError",
    "ReadError",
    "RecoveredWarning",
    "SettingWarning",
    "SkippedWarning",
    "TimedOutError",
    "UnauthenticatedError",
    "UnreadableWarning",
    "UnsupportedError",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_name(name, globals())
