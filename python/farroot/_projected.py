"""Partitions reduced to columns: for those that find out which ones a computation uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awkward.forms import Form

    from .scaleout import Partition


def form_of(partition: Partition) -> Form:
    """The form of the arrays of a partition, of which nothing but metadata is read."""
    return replace(partition, entries=(0, 0), share=None).arrays().layout.form


def reduced(partition: Partition, form: Form, paths: Iterable[str]) -> Partition:
    """The partition with the columns that are needed for some paths in its form.

    Args:
        paths: Names of fields in fields, with dots between them. Names of columns may have dots.
    """
    wanted = list(paths)
    names = [
        name
        for name in form.fields
        if any(path == name or path.startswith(f"{name}.") for path in wanted)
    ]
    # How many entries a cut leaves shows only when something is read.
    return replace(partition, expressions=tuple(names or form.fields[:1]))
