"""Errors and warnings under uproot's name: those of :mod:`farroot.errors`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._uproot import no_name
from .errors import *  # noqa: F403
from .errors import __all__ as __all__

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_name(name, globals())
