"""The index of a tree (`TTreeIndex`) in merges and skims: ROOT finds the same entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import farroot

from .root import by_root

pytestmark = pytest.mark.interop

#: In each file a tree with a friend whose entries are in the reverse order, and has an index.
WRITE = r"""
import sys
from array import array
import ROOT
run, event, y = array("i", [0]), array("l", [0]), array("d", [0])
for number, path in enumerate(sys.argv[1:]):
    file = ROOT.TFile(path, "RECREATE")
    tree, friend = ROOT.TTree("t", "t"), ROOT.TTree("g", "g")
    for one in (tree, friend):
        one.Branch("run", run, "run/I")
        one.Branch("event", event, "event/L")
    friend.Branch("y", y, "y/D")
    for at in range(20):
        run[0], event[0] = number, -at
        tree.Fill()
    for at in reversed(range(0, 20, 3)):
        run[0], event[0], y[0] = number, -at, number * 100 + at
        friend.Fill()
    if "without" not in path:
        friend.BuildIndex("run", "event")
    tree.BuildIndex("event + 0", "run" if "other" not in path else "run * 2")
    tree.AddFriend(friend)
    tree.Write()
    friend.Write()
    file.Close()
"""
#: Of each pair of numbers the entry that the index gives, and what the tree has there.
READ = r"""
import json
import sys
import ROOT
file = ROOT.TFile.Open(sys.argv[1])
found = {}
for name in ("t", "g"):
    tree = file.Get(name)
    index = tree.GetTreeIndex() if tree else None
    if index:
        found[name] = []
        for at in range(index.GetN()):
            entry = index.GetIndex()[at]
            tree.GetEntry(entry)
            numbers = [index.GetIndexValues()[at], index.GetIndexValuesMinor()[at]]
            found[name].append([entry, numbers, tree.GetEntryNumberWithIndex(*numbers),
                                int(tree.run), int(tree.event)])
print(json.dumps(found))
"""


def written(folder: Path, *names: str) -> list[str]:
    paths = [str(folder / name) for name in names]
    by_root(WRITE, *paths)
    return paths


def indexes(path: Path) -> dict[str, list[list[object]]]:
    return dict(json.loads(by_root(READ, path)))


def test_merges_and_skims_have_the_index_of_all_entries(tmp_path: Path) -> None:
    """A friend's values were those of other entries after a merge: its index was left out."""
    paths = written(tmp_path, "a.root", "b.root", "c.root")
    expected = farroot.concatenate([f"{path}:t" for path in paths], ["run", "event", "g.y"])
    merged = tmp_path / "merged.root"
    report = farroot.merge(paths, merged)
    assert not any("index" in note for note in report.notes)
    got = farroot.open(f"{merged}:t").arrays(["run", "event", "g.y"])
    assert got.tolist() == expected.tolist()

    found = indexes(merged)
    assert [len(found["t"]), len(found["g"])] == [60, 21]
    for entry, numbers, by_search, run, event in found["g"]:
        assert (by_search, numbers) == (entry, [run, event])
    for entry, numbers, by_search, run, event in found["t"]:
        assert (by_search, numbers) == (entry, [event, run])

    skimmed = tmp_path / "skimmed.root"
    cut = farroot.skim([f"{path}:t" for path in paths], skimmed, cut="event % 2 == 0")
    assert not any("index" in note for note in cut.notes)
    found = indexes(skimmed)
    assert len(found["t"]) == 30
    for entry, numbers, by_search, run, event in found["t"]:
        assert (by_search, numbers) == (entry, [event, run])


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("a.root", "without.root"), "g: its index is left out, as some inputs have none"),
        (("without.root", "b.root"), "g: its index is left out, as some inputs have none"),
        (("a.root", "other.root"), "t: its index is left out, as the inputs have indexes of other"),
        (("a.root", "a.root"), "g: its index is left out, as (1, -18) is in more than one input"),
    ],
)
def test_a_note_says_why_an_index_is_left_out(
    tmp_path: Path, names: tuple[str, str], why: str
) -> None:
    paths = written(tmp_path, *names)
    report = farroot.merge(paths, tmp_path / "merged.root")
    assert any(why in note for note in report.notes), report.notes
    assert why[0] not in indexes(tmp_path / "merged.root")
