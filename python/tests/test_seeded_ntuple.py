"""RNTuples of types that are made up, filled with values that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import seeded_ntuple

pytestmark = pytest.mark.interop

#: As many as make a dictionary that ROOT compiles in some seconds.
SEEDS = 5


def test_made_up_types(tmp_path: Path) -> None:
    """Differences are printed with the file's name, which begins with the seed."""
    files = seeded_ntuple.write(tmp_path, 0, SEEDS)
    assert len(files) >= 2 * SEEDS
    faults = [fault for path in files for fault in seeded_ntuple.compare(path)]
    assert not faults, "\n".join(faults)
