"""Merges into a file that is there, and of chosen objects, as `hadd -a`, `-L` and `-Ltype`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .test_merge_ntuples import checked


def written(path: Path, first: int) -> Path:
    numbers = np.arange(first, first + 3)
    with farroot.recreate(path) as file:
        file.mktree("d/t", {"x": numbers})
        file.mkrntuple("n", {"x": numbers})
        file["d/h"] = np.histogram(numbers, bins=3, range=(0, 30))
        file["h"] = np.histogram(numbers, bins=3, range=(0, 30))
        file["note"] = f"from {first}"
    return path


def test_an_output_that_is_there_comes_first(tmp_path: Path) -> None:
    first, second = (written(tmp_path / f"{n}.root", n) for n in (0, 10))
    output = tmp_path / "all.root"
    # As with hadd, a file that is not there is made.
    farroot.merge(output, first, append=True)
    merged = farroot.merge(output, [second, first], append=True)
    assert (merged.sources, merged.tables) == (3, {"d/t": 9, "n": 9})
    with farroot.open(checked(output)) as file:
        for table in ("d/t", "n"):
            assert file[table]["x"].array().tolist() == [0, 1, 2, 10, 11, 12, 0, 1, 2]
        assert file["h"].values().tolist() == [6, 3, 0]
        assert file["note"] == "from 0"
    command = [sys.executable, "-m", "farroot", "merge", "-a", str(output), str(second)]
    subprocess.run(command, check=True, capture_output=True)
    assert farroot.open(output)["n"].num_entries == 12


def test_an_output_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    """With ``skip_bad``, the file that the others are added to would have been left out."""
    output = tmp_path / "all.root"
    good = written(tmp_path / "good.root", 0)
    bad = good.read_bytes()[:-200]
    for content in (b"no file of ROOT", bad):
        output.write_bytes(content)
        with pytest.raises(farroot.Error, match=r"all\.root"):
            farroot.merge(output, good, append=True, skip_bad=True)
        assert output.read_bytes() == content


def test_objects_are_chosen_by_path(tmp_path: Path) -> None:
    inputs = [written(tmp_path / f"{n}.root", n) for n in (0, 10)]
    output = tmp_path / "all.root"

    def keys(**chosen: Any) -> set[str]:
        farroot.merge(output, inputs, overwrite=True, **chosen)
        return set(farroot.open(output).keys(cycle=False))

    assert keys(only="d") == {"d", "d/t", "d/h"}
    assert keys(only=["d/t", "h"]) == {"h", "d", "d/t"}
    assert keys(only="*h") == {"h", "d", "d/h"}
    assert keys(without=["d/t", "n"]) == {"h", "note", "d", "d/h"}
    assert keys(only="d", without="d/h") == {"d", "d/t"}
    with pytest.raises(farroot.KeyInFileError, match='no input has an object "x'):
        keys(only=["d", "x*"])
    with pytest.raises(farroot.ArgumentTypeError, match="only has paths"):
        farroot.merge(output, inputs, only=[1])  # type: ignore[list-item]
