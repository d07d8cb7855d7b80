"""Skims with a cut that take entries out of baskets as the bytes that they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .filled import ENTRIES
from .root import by_root
from .test_merge_remade import small_baskets
from .test_merge_union import COLUMNS, written


@pytest.mark.parametrize("jagged", ["counter", "vector"])
@pytest.mark.parametrize("cut", ["number > 12", "HLT_bit", "number >= 0", "number < 0"])
def test_every_kind_of_branch(tmp_path: Path, jagged: str, cut: str) -> None:
    one = written(tmp_path / "one.root", tuple(COLUMNS), jagged=jagged)
    output = tmp_path / "out.root"
    skimmed = farroot.skim([f"{one}:Events", f"{one}:Events"], output, cut=cut)
    mask = eval(cut, {name: COLUMNS[name][0] for name in ("number", "HLT_bit")})
    assert skimmed.sources == [(str(one), ENTRIES, int(mask.sum()))] * 2
    for reader in (farroot, uproot):
        tree = reader.open(output)["Events"]
        assert tree.num_entries == 2 * mask.sum()
        for name, (column, _) in COLUMNS.items():
            expected = ak.to_list(ak.Array(column)[mask])
            assert ak.to_list(tree[name].array()) == expected + expected
            assert tree[name].title == f"its {name}"


def test_whole_clusters_are_copied_undecoded(tmp_path: Path) -> None:
    path, output, numbers = tmp_path / "in.root", tmp_path / "out.root", np.random.default_rng(2)
    with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
        tree = file.mktree("t", {"n": "i4", "x": "f8"})
        for cluster in range(4):
            tree.extend({"n": np.full(20_000, cluster, "i4"), "x": numbers.random(20_000)})

    def baskets(path: Path, name: str) -> list[bytes]:
        branch, content = uproot.open(path)["t"][name], path.read_bytes()
        seeks, sizes = branch.member("fBasketSeek"), branch.member("fBasketBytes")
        places = [(int(seeks[at]), int(sizes[at])) for at in range(branch.num_baskets)]
        return [content[seek : seek + size] for seek, size in places]

    farroot.skim({path: "t"}, output, cut="(n == 1) | ((n == 2) & (x < 0.5)) | (n == 3)")
    before, after = baskets(path, "x"), baskets(output, "x")
    key = len(before[1]) - len(before[1][70:])
    assert [record[key:] for record in (after[0], after[-1])] == [
        record[key:] for record in (before[1], before[3])
    ]
    assert all(before[at][key:] not in output.read_bytes() for at in (0, 2))
    n, x = (uproot.open(path)["t"][name].array(library="np") for name in "nx")
    mask = (n == 1) | ((n == 2) & (x < 0.5)) | (n == 3)
    assert farroot.open(output)["t"]["x"].array().tolist() == x[mask].tolist()


def test_small_clusters_are_joined_and_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    inputs = [small_baskets(tmp_path / f"{at}.root", at * 400) for at in range(3)]
    outputs = [tmp_path / name / "out.root" for name in ("one", "two")]
    for output in outputs:
        output.parent.mkdir()
        sources = [f"{path}:t" for path in inputs]
        farroot.skim(sources, output, cut="bit", keep_rest=True, reproducible=True)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    with farroot.open(outputs[0]) as file:
        assert file["h"].values().sum() == 1200
        expected = list(range(0, 1200, 2))
        assert file["t/number"].array().tolist() == expected
        assert file["t/text"].array().tolist() == ["x" * (n % 7) for n in expected]
        assert file["t/nested"].array().tolist() == [[[n] * (n % 3), [n]] for n in expected]
        assert file["t/number"].num_baskets == 1


def test_a_nanoaod_keeps_what_its_users_need(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "nanoAOD_2015_CMS_Open_Data_ttbar.root"
    if not path.exists():
        pytest.skip(f"{path.name} is not in this corpus")
    output = tmp_path / "out.root"
    skimmed = farroot.skim(f"{path}:Events", output, cut="nMuon > 0", keep_rest=True)
    with farroot.open(path) as before, farroot.open(output) as after:
        assert after.keys(cycle=False) == before.keys(cycle=False)
        events, left = before["Events"], after["Events"]
        mask = events["nMuon"].array() > 0
        assert 0 < skimmed.entries == left.num_entries == ak.sum(mask) < events.num_entries
        assert left.keys() == events.keys()
        for name in left.keys():  # noqa: SIM118 - a tree gives its branches
            assert left[name].title == events[name].title
            assert left[name].typename == events[name].typename
            expected = events[name].array()[mask]
            assert str(ak.to_list(left[name].array())) == str(ak.to_list(expected))
        for other in ("Runs", "LuminosityBlocks"):
            if other in before:
                assert str(after[other].arrays().tolist()) == str(before[other].arrays().tolist())


#: Prints the entries of a skim.
BY_ROOT = """
import sys
import ROOT

file = ROOT.TFile(sys.argv[1])
tree = file.Get("Events")
for entry in range(tree.GetEntries()):
    assert tree.GetEntry(entry) > 0
    print(tree.HLT_bit, tree.number, list(tree.list), [list(item) for item in tree.nested], sep=";")
assert tree.GetEntries('text == "xxxx"') == 1
"""


@pytest.mark.interop
@pytest.mark.parametrize("jagged", ["counter", "vector"])
def test_root_reads_what_was_taken(tmp_path: Path, jagged: str) -> None:
    names: tuple[Any, ...] = ("HLT_bit", "number", "list", "text", "nested")
    one = written(tmp_path / "one.root", names, jagged=jagged)
    farroot.skim(f"{one}:Events", tmp_path / "out.root", cut="HLT_bit")
    columns = [ak.to_list(ak.Array(COLUMNS[name][0])) for name in names if name != "text"]
    expected = [";".join(str(column[at]) for column in columns) for at in range(0, ENTRIES, 2)]
    assert by_root(BY_ROOT, tmp_path / "out.root").splitlines() == expected


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("table", ["t", "n"])
@pytest.mark.parametrize("cut", ["x > 3", "x >= 0", "x < 0"])
def test_the_rest_is_copied_beside_a_cut(tmp_path: Path, inputs: int, table: str, cut: str) -> None:
    """Their baskets were joined as those of the cut, and their trees led to none."""
    x, lists = np.arange(40), ak.Array([[n] * (n % 3) for n in range(40)])
    names = ("t", "n", "Runs", "d/Lumi", "d/m")
    paths = [tmp_path / f"{number}.root" for number in range(inputs)]
    for path in paths:
        with farroot.recreate(path) as file:
            for name in names:
                make = file.mkrntuple if name in ("n", "d/m") else file.mktree
                made = make(name, {"x": "int64", "y": "var * int64"})
                for part in range(4):
                    ten = slice(10 * part, 10 * part + 10)
                    made.extend({"x": x[ten], "y": lists[ten]})
    output = tmp_path / "out.root"
    farroot.skim([f"{path}:{table}" for path in paths], output, cut=cut, keep_rest=True)
    mask = eval(cut, {"x": x})
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            for name in names:
                taken = mask if name == table else np.full(40, True)
                for column, values in (("x", x), ("y", lists)):
                    expected = ak.to_list(values[taken]) * inputs
                    assert ak.to_list(file[name][column].array()) == expected, (name, column)
    command = [sys.executable, "-m", "farroot", "check", str(output)]
    assert subprocess.run(command, check=False, capture_output=True, text=True).stdout == ""


def test_a_branch_without_its_baskets_is_found(tmp_path: Path) -> None:
    """Such trees were left by skims, and a check said no more than that baskets are of no use."""
    path = tmp_path / "t.root"
    with farroot.recreate(path, compression=None) as file:
        file.mktree("t", {"x": np.arange(6, dtype="i4")})
    with uproot.open(path) as file:
        seek = file["t"]["x"].member("fBasketSeek")[:1].astype(">i8").tobytes()
    content = path.read_bytes()
    # fWriteBasket of the branch, behind fBasketSize and fEntryOffsetLen.
    head = content.index(np.array([32000, 0, 1], ">i4").tobytes())
    content = content[: head + 8] + bytes(4) + content[head + 12 :]
    # The basket's own key has the number, too.
    before, _, behind = content.rpartition(seek)
    path.write_bytes(before + bytes(8) + behind)
    command = [sys.executable, "-m", "farroot", "check", str(path)]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "x: 6 entries, no baskets" in checked.stdout
