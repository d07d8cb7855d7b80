"""Partitions with fewer columns, for libraries that find the columns that a computation uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awkward.forms import Form

    from .scaleout import Partition


def form_of(partition: Partition) -> Form:
    """The form of a partition's arrays; only metadata are read."""
    return replace(partition, entries=(0, 0), share=None).arrays().layout.form


def reduced(partition: Partition, form: Form, paths: Iterable[str]) -> Partition:
    """The partition with only those columns to which some paths in its form lead.

    Args:
        paths: Names of fields in fields, with dots between them. Names of columns may have dots.
    """
    wanted = list(paths)
    names = [
        name
        for name in form.fields
        if any(path == name or path.startswith(f"{name}.") for path in wanted)
    ]
    # Without a path the first column is read: how many entries pass a cut is not known otherwise.
    return replace(partition, expressions=tuple(names or form.fields[:1]))
