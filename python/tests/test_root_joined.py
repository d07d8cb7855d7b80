"""RNTuples of several hands: parallel writers, and mergers of files with different fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import farroot

from .root import written_by

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `joined_ntuples.py`."""
    return written_by("joined_ntuples.py", tmp_path_factory.mktemp("joined"))


def test_clusters_of_a_parallel_writer(written: Path) -> None:
    ntuple = farroot.open(f"{written}/parallel.root:events")
    entries = ntuple.arrays().to_list()
    assert sorted(entry["number"] for entry in entries) == list(range(300))
    assert [entry["number"] for entry in entries] != list(range(300))
    for entry in entries:
        i = entry["number"]
        assert entry["points"] == [{"x": 0.5 * i, "id": i}] * (i % 3)
        assert entry["text"] == "t" * (i % 4)


def part(number: int) -> list[dict[str, Any]]:
    """What `part` fills."""

    def entry(n: int) -> dict[str, Any]:
        both = {
            "i": 5_000_000_000 * n,
            "text": "m" * (n % 5),
            "points": [{"x": 0.25 * n, "id": -n}] * (n % 3),
            "fixed": [n, 2 * n, 3 * n],
            "either": 0.5 * n if n % 2 else "e" * (n % 4),
            "n_points": n % 3,
        }
        if number == 0:
            return {**both, "real": n / 3}
        return {**both, "lists": [[n] * (n % 2)] * (n % 3), "maybe": n if n % 3 else None}

    return [entry(100 * number + k) for k in range(60)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [("union", [0, 1, 0]), ("union_as_first", [1, 0]), ("filter", [0, 0])],
)
def test_files_that_were_merged(written: Path, name: str, parts: list[int]) -> None:
    """Where a file had a field and another had not, it is zero."""
    zeros = {"real": 0.0, "lists": [], "maybe": None}
    ntuple = farroot.open(f"{written}/{name}.root:events")
    expected = [entry for number in parts for entry in part(number)]
    names = {key for entry in expected for key in entry}
    assert set(ntuple.keys(recursive=False)) == names
    for key in names:
        wanted = [entry.get(key, zeros.get(key)) for entry in expected]
        assert ntuple[key].array().to_list() == wanted, key
        assert ntuple[key].array(entry_start=50, entry_stop=130).to_list() == wanted[50:130], key


def test_sets_of_attributes_are_passed_over(written: Path) -> None:
    """They are linked from the footer alone; beside them are two RNTuples of one name."""
    file = farroot.open(written / "attributes.root")
    assert set(file.keys()) == {"events;1", "events;2"}
    for cycle in (1, 2):
        numbers = file[f"events;{cycle}"]["number"].array().to_list()
        assert numbers == [1000 * cycle + k for k in range(10)] * 2
    assert file["events"]["number"].array().to_list() == numbers
