"""Awkward, whose import takes the better part of a second, in which users press Ctrl-C."""

from __future__ import annotations

from ._imports import uninterrupted

with uninterrupted():
    import awkward as ak

__all__ = ["ak"]
