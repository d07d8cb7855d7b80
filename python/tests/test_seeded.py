"""Trees of classes that are made up, filled with values that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import seeded

pytestmark = pytest.mark.interop

#: As many as make a dictionary that ROOT compiles in some seconds.
SEEDS = 6


def test_made_up_classes(tmp_path: Path) -> None:
    """Differences are printed with the file's name, which begins with the seed."""
    files = seeded.write(tmp_path, 0, SEEDS)
    assert len(files) == 4 * SEEDS
    faults = [fault for path in files for fault in seeded.compare(path)]
    assert not faults, "\n".join(faults)
