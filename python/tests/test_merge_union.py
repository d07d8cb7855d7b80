"""Branches that some inputs lack are filled there, for farroot, uproot and ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from . import filled
from .filled import ENTRIES, LISTS
from .root import by_root

#: Columns of every kind of branch, and the value of an entry that is lacking.
COLUMNS: filled.Columns = {"HLT_bit": (filled.BITS, False), **filled.COLUMNS}


def written(path: Path, names: tuple[str, ...], **how: Any) -> Path:
    chosen = {name: ak.Array(COLUMNS[name][0]) for name in names}
    with farroot.recreate(path) as file:
        file.mktree("Events", chosen, titles={name: f"its {name}" for name in names}, **how)
    return path


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "number"])
@pytest.mark.parametrize("lacks", [0, 1, 2])
def test_a_branch_that_one_of_three_inputs_lacks(tmp_path: Path, name: str, lacks: int) -> None:
    output, expected = filled.of_three(tmp_path, written, COLUMNS, name, lacks)
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            tree = file["Events"]
            assert ak.to_list(tree[name].array()) == expected
            assert tree[name].title == f"its {name}"
            assert tree["number"].array().tolist() == 3 * list(range(ENTRIES))


def test_items_that_a_counter_of_the_input_counts_are_zeros(tmp_path: Path) -> None:
    pt, eta = ak.Array(LISTS), ak.Array(LISTS) + 100
    few, more = tmp_path / "few.root", tmp_path / "more.root"
    for path, muons in ((few, {"pt": pt}), (more, {"pt": pt, "eta": eta})):
        with uproot.recreate(path) as file:
            zipped = {"Muon": ak.zip(muons)}
            file.mktree("Events", {"Muon": zipped["Muon"].type.content}).extend(zipped)
    for inputs in ([few, more], [more, few]):
        output = tmp_path / "all.root"
        farroot.merge(inputs, output, missing="union", overwrite=True)
        parts = [ak.to_list(eta) if path == more else ak.to_list(pt * 0) for path in inputs]
        for reader in (farroot, uproot):
            tree = reader.open(output)["Events"]
            assert tree["Muon_eta"].array().tolist() == parts[0] + parts[1]
            assert tree["Muon_pt"].array().tolist() == 2 * ak.to_list(pt)
            assert tree["nMuon"].array().tolist() == 2 * ak.num(pt).tolist()
        assert sorted(farroot.open(output)["Events"].keys()) == ["Muon_eta", "Muon_pt", "nMuon"]


def test_inputs_without_entries_lack_what_they_like(tmp_path: Path) -> None:
    empty = tmp_path / "empty.root"
    with uproot.recreate(empty) as file:
        file.mktree("Events", {"other": "f8"})
    full = written(tmp_path / "full.root", ("number", "list"))
    for inputs in ([empty, full], [full, empty], [full, empty, full, empty]):
        output = tmp_path / "all.root"
        farroot.merge(inputs, output, missing="union", overwrite=True)
        times = inputs.count(full)
        for reader in (farroot, uproot):
            tree = reader.open(output)["Events"]
            assert tree["list"].array().tolist() == times * LISTS
            assert tree["other"].array().tolist() == times * ENTRIES * [0.0]


def test_large_inputs_are_filled_in_several_baskets(tmp_path: Path) -> None:
    few, more, count = tmp_path / "few.root", tmp_path / "more.root", 200_000
    for path, columns in ((few, ["x"]), (more, ["x", "y"])):
        with farroot.recreate(path) as file:
            file.mktree("t", {name: np.arange(count, dtype="f8") for name in columns})
    farroot.merge([more, few], tmp_path / "all.root", missing="union", reproducible=True)
    y = farroot.open(tmp_path / "all.root")["t"]["y"]
    assert y.num_baskets > 3
    assert y.array().tolist() == [*range(count), *[0.0] * count]
    assert y.array(entry_start=count - 2, entry_stop=count + 2).tolist() == [
        count - 2,
        count - 1,
        0,
        0,
    ]


#: Reads all entries of a union, and prints their values.
BY_ROOT = """
import sys
import ROOT

names = ("HLT_bit", "number", "list", "nested")
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("Events")
    for at in range(tree.GetEntries()):
        assert tree.GetEntry(at) > 0
        nested = [list(item) for item in tree.nested]
        print(tree.HLT_bit, tree.number, list(tree.list), nested, sep=";")
    assert [tree.GetBranch(name).GetTitle() for name in names] == [f"its {name}" for name in names]
    assert tree.GetEntries('text == "xx"') == 1
"""


@pytest.mark.interop
def test_root_reads_what_was_filled(tmp_path: Path) -> None:
    names = ("HLT_bit", "number", "list", "text", "nested")
    few = written(tmp_path / "few.root", ("number",))
    columns = [filled.values(COLUMNS, name) for name in names if name != "text"]
    there = [";".join(str(column[at]) for column in columns) for at in range(ENTRIES)]
    lacking = [f"False;{at};[];[]" for at in range(ENTRIES)]
    outputs, expected = [], []
    for jagged in ("counter", "vector"):
        more = written(tmp_path / f"{jagged}.root", names, jagged=jagged)
        for first, second in ((few, more), (more, few)):
            output = tmp_path / f"{first.stem}-{second.stem}.root"
            farroot.merge([first, second], output, missing="union")
            outputs.append(output)
            expected += there + lacking if first == more else lacking + there
    assert by_root(BY_ROOT, *outputs).splitlines() == expected
