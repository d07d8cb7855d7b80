"""Tables of ROOT that get further entries and columns: ROOT reads them without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .root import by_root
from .test_growing import COLUMNS, arrays, by_farroot, doubled
from .test_merge_ntuples import BY_ROOT, checked
from .test_merge_ntuples import COLUMNS as NTUPLE_COLUMNS

pytestmark = pytest.mark.interop

#: Fills a tree of branches in all forms that farroot writes, in baskets of few entries. Its last
#: entries are in baskets within the tree's record.
TREE = """
import sys
import ROOT
from array import array

ROOT.gErrorIgnoreLevel = ROOT.kWarning
file = ROOT.TFile(sys.argv[1], "RECREATE", "", int(sys.argv[2]))
file.mkdir("d").cd()
tree = ROOT.TTree("t", "of ROOT")
tree.SetAutoFlush(int(sys.argv[3]))
i, count, real = array("i", [0]), array("i", [0]), array("d", [0])
reals, matrix, flag = array("f", 9 * [0]), array("f", 6 * [0]), array("b", [0])
text = array("b", 64 * [0])
vector, string = ROOT.std.vector("float")(), ROOT.std.string()
nested = ROOT.std.vector("vector<int>")()
tree.Branch("i", i, "i/I")
tree.Branch("real", real, "real/D")
tree.Branch("n", count, "n/I")
tree.Branch("reals", reals, "reals[n]/F")
tree.Branch("matrix", matrix, "matrix[2][3]/F")
tree.Branch("text", text, "text/C")
tree.Branch("vector", vector)
tree.Branch("string", string)
tree.Branch("nested", nested)
tree.SetAlias("twice", "2*i")
for entry in range(25):
    i[0], real[0], count[0] = entry, entry / 4, entry % 4
    vector.clear(), nested.clear()
    for item in range(entry % 4):
        reals[item] = entry + item
        vector.push_back(entry + item)
        nested.push_back(ROOT.std.vector("int")(item, entry))
    for item in range(6):
        matrix[item] = entry + item
    for at, letter in enumerate(b"x" * (entry % 5) + bytes(1)):
        text[at] = letter
    string.assign("s" * entry)
    tree.Fill()
tree.Write()
tree.SetDirectory(ROOT.nullptr)
file.Close()
"""

#: Prints columns of a tree, each entry as JSON, and whatever ROOT has to say.
SHOWN = """
import sys
import json
import ROOT

file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get(sys.argv[2])
names = json.loads(sys.argv[3])
frame = ROOT.RDataFrame(tree)
def plain(value):
    if isinstance(value, (str, ROOT.std.string)):
        return str(value)
    if isinstance(value, (bool, int, float)):
        return value
    items = [plain(each) for each in value]
    is_text = type(value).__name__ == "LowLevelView" and items and isinstance(items[0], str)
    return "".join(items).partition(chr(0))[0] if is_text else items
columns = {name: [] for name in names}
for entry in tree:
    for name in names:
        columns[name].append(plain(getattr(entry, name)))
assert frame.Count().GetValue() == tree.GetEntries()
print(json.dumps(columns))
"""


def read_by_root(path: Path, table: str, names: Any) -> dict[str, list[Any]]:
    read: dict[str, list[Any]] = json.loads(by_root(SHOWN, path, table, json.dumps([*names])))
    return read


@pytest.mark.parametrize("flushed", [-30_000_000, 7, 25])
@pytest.mark.parametrize("compression", [0, 101, 505])
def test_a_tree_of_root_gets_entries_and_branches(
    tmp_path: Path, flushed: int, compression: int
) -> None:
    path = tmp_path / "f.root"
    by_root(TREE, path, compression, flushed)
    with farroot.open(path) as file:
        tree = file["d/t"]
        branches = tree.keys()
        names = [name for name in branches if name != "n"]
        before = {name: tree[name].array() for name in branches}
    with farroot.update(path) as file:
        tree = file["d/t"]
        tree.extend({name: before[name] for name in names})
        lists = ak.Array([[n] * (n % 3) for n in range(50)])
        tree.add_branches({"new": np.arange(50), "lists": lists})
        few = {name: before[name][:3] for name in names}
        tree.extend({**few, "new": [50, 51, 52], "lists": [[], [1], []]})
    expected = {name: 2 * ak.to_list(each) + ak.to_list(each[:3]) for name, each in before.items()}
    expected["new"] = list(range(53))
    expected["lists"] = [[n] * (n % 3) for n in range(50)] + [[], [1], []]
    assert arrays(farroot, checked(path), "d/t", expected) == expected
    flat = [name for name in expected if name not in ("matrix", "nested")]
    read = read_by_root(path, "d/t", flat)
    assert read == {name: expected[name] for name in flat}
    assert farroot.open(path)["d/t"].aliases == {"twice": "2*i"}


#: Writes further entries with ROOT itself into a tree that has grown.
FURTHER = """
import sys
import ROOT

file = ROOT.TFile.Open(sys.argv[1], "UPDATE")
tree = file.Get("d/t")
from array import array
i = array("q", [7])
tree.SetBranchAddress("x", i)
for _ in range(3):
    tree.Fill()
file.cd("d")
tree.Write("", ROOT.TObject.kOverwrite)
file.Close()
"""


def test_root_goes_on_with_a_tree_that_has_grown(tmp_path: Path) -> None:
    path = by_farroot(tmp_path / "f.root", {"x": np.arange(4)})
    with farroot.update(path) as file:
        file["d/t"].extend({"x": [4]})
    by_root(FURTHER, path)
    with farroot.update(path) as file:
        file["d/t"].extend({"x": [8]})
    expected = {"x": [0, 1, 2, 3, 4, 7, 7, 7, 8]}
    assert arrays(farroot, path, "d/t", ["x"]) == expected
    assert read_by_root(path, "d/t", ["x"]) == expected


@pytest.mark.parametrize("flushed", [7, 25])
def test_a_merge_appends_to_a_file_of_root(tmp_path: Path, flushed: int) -> None:
    """Entries of ROOT's tree are in baskets within its record, too."""
    path, other = tmp_path / "f.root", tmp_path / "other.root"
    for each in (path, other):
        by_root(TREE, each, 505, flushed)
    with farroot.open(path) as file:
        names = file["d/t"].keys()
        before = {name: file["d/t"][name].array() for name in names}
    inode = path.stat().st_ino
    for times in (2, 3):
        merged = farroot.merge(other, path, append=True)
        assert merged.tables == {"d/t": 25 * times}
    assert path.stat().st_ino == inode
    expected = {name: 3 * ak.to_list(each) for name, each in before.items()}
    assert arrays(farroot, checked(path), "d/t", expected) == expected
    flat = [name for name in expected if name not in ("matrix", "nested")]
    assert read_by_root(path, "d/t", flat) == {name: expected[name] for name in flat}
    assert farroot.open(path)["d/t"].aliases == {"twice": "2*i"}


def test_root_reads_a_file_to_which_merges_have_appended(tmp_path: Path) -> None:
    """Tables of all kinds of columns that farroot writes, and histograms."""
    names = [name for name in COLUMNS if name not in ("matrix", "nested", "texts", "arrays")]
    columns = {name: COLUMNS[name] for name in names}
    fields = {name: ak.Array(column) for name, (column, _) in NTUPLE_COLUMNS.items()}
    path, other = tmp_path / "f.root", tmp_path / "other.root"
    for each in (path, other):
        by_farroot(each, columns)
        with farroot.update(each) as file:
            file["n"] = fields
            file["d/h"] = np.histogram(np.arange(3), bins=3)
    for _ in range(2):
        farroot.merge(other, path, append=True)
    read = read_by_root(checked(path), "d/t", names)
    read["byte"] = [ord(each) if isinstance(each, str) else each for each in read["byte"]]
    assert read == {name: 3 * ak.to_list(ak.Array(column)) for name, column in columns.items()}
    # ROOT does not print variants.
    entries = [entry | {"either": None} for entry in json.loads(by_root(BY_ROOT, path, "n"))]
    nothing = ak.Array([None] * len(fields["number"]))
    assert entries == 3 * ak.zip(fields | {"either": nothing}, depth_limit=1).to_list()
    assert by_root(COUNTED, path).split() == ["3.0", "3.0", "3.0", "9.0"]


#: Prints the contents and the entries of a histogram.
COUNTED = """
import sys
import ROOT

file = ROOT.TFile.Open(sys.argv[1])
assert not file.TestBit(ROOT.TFile.kRecovered)
h = file.Get("d/h")
print(*(h.GetBinContent(bin) for bin in (1, 2, 3)), h.GetEntries())
"""


def test_root_reads_fields_that_records_have_got(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file["n"] = {"muon": ak.zip({"pt": [0.5, 1.5]}), "x": [1, 2]}
    with farroot.update(path) as file:
        file["n"].add_fields({"muon.eta": np.array([3, 4])})
        file["n"].add_fields({"muon.hits": "var * int32"})
        record = ak.zip({"pt": [2.5], "eta": [5], "hits": [[7]]}, depth_limit=1)
        file["n"].extend({"muon": record, "x": [3]})
    expected = [
        {"muon": {"pt": 0.5, "eta": 3, "hits": []}, "x": 1},
        {"muon": {"pt": 1.5, "eta": 4, "hits": []}, "x": 2},
        {"muon": {"pt": 2.5, "eta": 5, "hits": [7]}, "x": 3},
    ]
    assert farroot.open(checked(path))["n"].arrays().to_list() == expected
    assert json.loads(by_root(BY_ROOT, path, "n")) == expected


def test_a_merge_appends_to_an_rntuple_of_root(tmp_path: Path) -> None:
    path, other = tmp_path / "f.root", tmp_path / "other.root"
    by_root(NTUPLE, path)
    by_root(NTUPLE, other)
    before = arrays(farroot, path, "n", ["i", "list", "text"])
    for _ in range(2):
        farroot.merge(other, path, append=True)
    expected = {name: 3 * each for name, each in before.items()}
    assert arrays(farroot, checked(path), "n", expected) == expected
    entries = json.loads(by_root(BY_ROOT, path, "n"))
    assert {name: [entry[name] for entry in entries] for name in expected} == expected


def test_root_reads_all_kinds_of_branches_that_have_grown(tmp_path: Path) -> None:
    names = [name for name in COLUMNS if name not in ("matrix", "nested", "texts", "arrays")]
    columns = {name: COLUMNS[name] for name in names}
    path = by_farroot(tmp_path / "f.root", columns)
    with farroot.update(path) as file:
        file["d/t"].extend(columns)
    read = read_by_root(checked(path), "d/t", names)
    read["byte"] = [ord(each) if isinstance(each, str) else each for each in read["byte"]]
    assert read == doubled(columns)


#: An RNTuple of ROOT, in two clusters.
NTUPLE = """
import sys
import ROOT

model = ROOT.RNTupleModel.Create()
model.MakeField["int"]("i")
model.MakeField["std::vector<float>"]("list")
model.MakeField["std::string"]("text")
with ROOT.RNTupleWriter.Recreate(model, "n", sys.argv[1]) as writer:
    entry = writer.CreateEntry()
    for at in range(20):
        entry["i"] = at
        entry["list"] = [at / 2] * (at % 3)
        entry["text"] = "t" * at
        writer.Fill(entry)
        if at == 9:
            writer.CommitCluster()
"""


def test_an_rntuple_of_root_gets_entries_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    by_root(NTUPLE, path)
    first: dict[str, Any] = {
        "i": np.arange(20, dtype="i4"),
        "list": [[n / 2] * (n % 3) for n in range(20)],
        "text": ["t" * n for n in range(20)],
    }
    with farroot.update(path) as file:
        table = file["n"]
        table.extend(first)
        table.add_fields({"new": np.arange(40), "lists": [[n] * (n % 3) for n in range(40)]})
        few = {name: each[:3] for name, each in first.items()}
        table.extend({**few, "new": [40, 41, 42], "lists": [[1], [], []]})
    expected = {name: 2 * [*each] + [*each[:3]] for name, each in first.items()}
    expected |= {"new": [*range(43)], "lists": [[n] * (n % 3) for n in range(40)] + [[1], [], []]}
    assert arrays(farroot, checked(path), "n", expected) == expected
    entries = json.loads(by_root(BY_ROOT, path, "n"))
    assert {name: [entry[name] for entry in entries] for name in expected} == expected
