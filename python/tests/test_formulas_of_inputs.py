"""Formulas over several files mean the same in whichever way the files are read: each file computes
them by its own types, and the results get a common type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

#: Whole numbers in one file and floats in the other, or other whole numbers.
TYPES = [("i4", "f8"), ("f8", "i4"), ("i1", "i4"), ("u1", "i8"), ("f4", "f8"), ("i2", "f4")]
FORMULAS = ["x * x", "x // 2", "x % 7", "x + 100", "-x", "x * 0.5", "sqrt(x)"]


def _files(folder: Path, types: tuple[str, str]) -> list[str]:
    for name, dtype in zip("ab", types, strict=True):
        values = np.array([1, 3, 7, 50, 100, 126]).astype(dtype)
        with farroot.recreate(folder / f"{name}.root") as file:
            file["t"] = {"x": values, "n": np.arange(6, dtype="i4")}
    return [f"{folder}/{name}.root:t" for name in "ab"]


@pytest.mark.parametrize("types", TYPES, ids="-".join)
@pytest.mark.parametrize("text", FORMULAS)
def test_a_chain_computes_as_its_files_do(
    tmp_path: Path, types: tuple[str, str], text: str
) -> None:
    """The formulas of a chain were computed from columns that had been converted."""
    files = _files(tmp_path, types)
    alone = [farroot.open(file).arrays(["f"], aliases={"f": text})["f"] for file in files]
    expected = ak.to_list(ak.concatenate([ak.values_astype(each, "f8") for each in alone]))
    chain = farroot.chain(files)
    ways: dict[str, Any] = {
        "arrays": chain.arrays([text])[text],
        "alias": chain.arrays(["f", "n", "x"], aliases={"f": text})["f"],
        "steps": ak.concatenate([step[text] for step in chain.iterate([text], step_size=4)]),
        "concatenate": farroot.concatenate(files, [text])[text],
        "chains": farroot.concatenate([chain], [text])[text],
        "on_error": ak.concatenate(
            [step[text] for step in chain.iterate([text], on_error="report")]
        ),
    }
    for way, found in ways.items():
        assert ak.to_list(ak.values_astype(found, "f8")) == expected, way
    assert (
        chain.arrays(["x"])["x"].type.content
        == ak.concatenate([farroot.open(file)["x"].array() for file in files]).type.content
    )


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_a_cut_of_a_chain_decides_by_each_files_types(
    tmp_path: Path, types: tuple[str, str]
) -> None:
    files = _files(tmp_path, types)
    chain = farroot.chain(files)
    for cut in ("x * x < 0", "x // 2 == 1.5", "x + 100 > 120"):
        alone = [farroot.open(file).arrays(["n", "x * 3"], cut) for file in files]
        for found in (
            chain.arrays(["n", "x * 3"], cut),
            farroot.concatenate(files, ["n", "x * 3"], cut),
        ):
            for name in ("n", "x * 3"):
                expected = [value for one in alone for value in ak.to_list(one[name])]
                assert ak.to_list(found[name]) == expected, (cut, name)


def test_a_skim_of_several_files_computes_as_they_do(tmp_path: Path) -> None:
    """Where columns were encoded again, new ones were computed from converted columns."""
    files = _files(tmp_path, ("i4", "i1"))
    expected = ak.to_list(farroot.concatenate(files, ["x * x"])["x * x"])
    target = tmp_path / "tree.root"
    farroot.skim(files, target, ["n", "x"], define={"y": "x * x"}, format="tree")
    found = farroot.open(f"{target}:t").arrays(["y", "x"])
    assert ak.to_list(found["y"]) == expected
    assert found["x"].type.content.primitive == "int32"


def test_types_without_a_common_one_are_an_error(tmp_path: Path) -> None:
    """No whole number of 64 bits is rounded for the floats of another file."""
    files = _files(tmp_path, ("i8", "f8"))
    with pytest.raises(farroot.UnsupportedError, match="no type holds both exactly"):
        farroot.chain(files).arrays(["x + n"])
    with pytest.raises(farroot.UnsupportedError, match="no type holds both exactly"):
        farroot.concatenate(files, ["x + n"])
    assert len(farroot.chain(files).arrays(["sqrt(x)"])) == 12


def test_the_shell_computes_as_the_files_do(tmp_path: Path) -> None:
    files = _files(tmp_path, ("i1", "i4"))
    farroot.skim(files[:1], tmp_path / "one.root", ["x"])
    command = [sys.executable, "-m", "farroot", "cat", files[0], "-c", "x * x", "--csv"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    own = farroot.open(files[0]).arrays(["x * x"])["x * x"]
    assert shown.split()[-6:] == [str(each) for each in ak.to_list(own)]
