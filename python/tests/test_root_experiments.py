"""Trees of the shapes in which experiments write, at each split level, object by object and member
by member, in small baskets and large ones, few clusters and many, with each compression."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import seeded
from .root import written_by

pytestmark = pytest.mark.interop

NAMES = {
    "experiments": ("cms", "atlas", "neutrinos", "objects"),
    "forms": ("forms",),
}
#: As many as the script has kinds of files.
KINDS = 6


@pytest.mark.parametrize("header", NAMES)
def test_shapes_of_experiments(tmp_path: Path, header: str) -> None:
    """A difference from the filled values, or from uproot, is printed with the file's name."""
    names = NAMES[header]
    files = sorted(written_by("experiments", tmp_path, header, *names).glob("*.root"))
    assert len(files) == KINDS * len(names)
    faults = [fault for path in files for fault in seeded.compare(path)]
    assert not faults, "\n".join(faults)
