"""Entry points give the same values: a row for each, so that no two of them can drift apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .entry_points import ENTRY_POINTS, cases, differences, served

SEEDS = range(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that is served, for files with cases."""
    path = tmp_path_factory.mktemp("cases")
    with served(path):
        yield path


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_entry_point_reads_all_cases(name: str, folder: Path) -> None:
    read = {name: ENTRY_POINTS[name]}
    expressed, wrong = 0, []
    for seed in SEEDS:
        for case in cases(folder, seed):
            for _, difference in differences(case, read):
                expressed += 1
                if difference is not None:
                    wrong.append(f"{case}: {difference}")
    assert not wrong, "\n".join(wrong)
    assert expressed, "no case can be read so"
