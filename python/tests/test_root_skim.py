"""Skims of trees that ROOT wrote hold the types of the input, as ROOT's `CopyTree` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import awkward as ak
import pytest

import farroot

from .root import by_root

pytestmark = pytest.mark.interop

WRITE = r"""
import sys
import ROOT
ROOT.gInterpreter.Declare(r'''
#include <TFile.h>
#include <TTree.h>
#include <TLorentzVector.h>
#include <TObjString.h>
struct Pair { int a; float b; };
void make(const char* name) {
  TFile f(name, "RECREATE"); TTree t("t", "a title");
  int n; std::vector<float> v; std::vector<std::string> vs; std::string s; TString ts; Pair p;
  double d[3]; float x[10]; std::map<std::string, int> m; TLorentzVector l; double d32; char c[20];
  std::vector<bool> vb; std::pair<int, float> pr; TObjString os;
  t.Branch("v", &v)->SetTitle("its title"); t.Branch("vs", &vs); t.Branch("s", &s);
  t.Branch("ts", &ts); t.Branch("n", &n, "n/I"); t.Branch("p", &p, "a/I:b/F");
  t.Branch("d", d, "d[3]/D"); t.Branch("x", x, "x[n]/F"); t.Branch("y", x, "y[n]/F");
  t.Branch("m", &m); t.Branch("l", &l); t.Branch("d32", &d32, "d32/d[0,100,16]");
  t.Branch("c", c, "c/C"); t.Branch("vb", &vb); t.Branch("pr", &pr); t.Branch("os", &os);
  t.SetAlias("twice", "n * 2"); t.SetWeight(2.5);
  for (n = 0; n < 9; n++) {
    v.assign(n % 3, n); s = "s" + std::to_string(n); vs.assign(n % 2, s); ts = s;
    p = {n, n * 0.5f}; for (auto& q : d) q = n; for (auto& q : x) q = n; m[s] = n;
    l.SetXYZT(n, 1, 2, 3); d32 = n; snprintf(c, 20, "c%d", n); vb.assign(n % 3, true);
    pr = {n, n}; os.SetString(s.c_str()); t.Fill();
  }
  t.Write();
}
''')
ROOT.make(sys.argv[1])
"""
READ = r"""
import sys
import ROOT
file = ROOT.TFile.Open(sys.argv[1])
t = file.Get("t")
v, s = ROOT.std.vector["float"](), ROOT.std.string()
assert t.SetBranchAddress("v", v) >= 0 and t.SetBranchAddress("s", s) >= 0
got = []
for at in range(t.GetEntries()):
    t.GetEntry(at)
    got.append((t.n, list(v), str(s), t.l.X(), list(t.x), str(t.os.GetString())))
print(got, t.GetWeight(), t.GetAlias("twice"), t.GetBranch("v").GetTitle())
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of `WRITE`."""
    path = tmp_path_factory.mktemp("written") / "a.root"
    by_root(WRITE, path)
    return path


@pytest.mark.parametrize("options", [{"cut": "n > 4"}, {"cut": "n > 4", "define": {"k": "n + 1"}}])
def test_a_cut_keeps_the_types_of_all_branches(
    written: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Regression: beside a std::string all columns were encoded anew, as other types."""
    path, output = written, tmp_path / "b.root"
    skimmed = farroot.skim({path: "t"}, output, **options)
    assert skimmed.clusters is not None
    assert skimmed.notes == []
    before, after = farroot.open(path)["t"], farroot.open(output)["t"]
    types = after.typenames()
    types.pop("k", None)
    assert types == before.typenames()
    assert after.title == before.title
    assert after.aliases == before.aliases
    for name in before.keys(recursive=False):
        expected = ak.to_list(before[name].array())[5:]
        assert ak.to_list(after[name].array()) == expected, name
        assert after[name].title == before[name].title
    got = [
        (n, [float(n)] * (n % 3), f"s{n}", float(n), [float(n)] * n, f"s{n}") for n in range(5, 9)
    ]
    assert by_root(READ, output) == f"{got} 2.5 n * 2 its title\n"
    # With and without a cut they can be merged.
    if "define" not in options:
        farroot.skim({path: "t"}, tmp_path / "c.root")
        farroot.merge([tmp_path / "c.root", output], tmp_path / "d.root")
        assert farroot.open(tmp_path / "d.root")["t"].num_entries == 13


EMPTY = """
import sys
import ROOT
file = ROOT.TFile.Open(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "t")
tree.Write()
file.Close()
"""
COUNTS = """
import sys
import ROOT
for path in sys.argv[1:]:
    file = ROOT.TFile.Open(path)
    print(file["t"].GetEntries())
"""


def test_trees_without_branches_are_merged(tmp_path: Path) -> None:
    """Regression: RDataFrame's Snapshot of nothing was refused unless `missing="union"`."""
    full, empty = tmp_path / "a.root", tmp_path / "b.root"
    with farroot.recreate(full) as file:
        file.mktree("t", {"x": [1, 2]})
    by_root(EMPTY, empty)
    ways: tuple[Literal["strict", "filter", "union"], ...] = ("strict", "filter", "union")
    outputs: dict[Path, int] = {}
    for missing in ways:
        for empty_first in (False, True):
            output = tmp_path / f"{missing}-{empty_first}.root"
            inputs = [empty, full, empty] if empty_first else [full, empty, full]
            farroot.merge(inputs, output, missing=missing)
            expected = [1, 2] if empty_first else [1, 2, 1, 2]
            assert farroot.open(output)["t"]["x"].array().tolist() == expected, output.name
            outputs[output] = len(expected)
    assert by_root(COUNTS, *outputs) == "".join(f"{count}\n" for count in outputs.values())


RANGES = r"""
import sys
import ROOT
ROOT.gInterpreter.Declare(r'''
#include <TFile.h>
#include <TTree.h>
void make(const char* name, const char* title) {
  TFile f(name, "RECREATE"); TTree t("t", "t"); double x; float y = 0;
  t.Branch("x", &x, title); t.Branch("y", &y);
  for (int i = 0; i < 7; i++) { x = i; t.Fill(); }
  t.Write();
}
''')
ROOT.make(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("title", ["x/d[0,100,12]", "x/d[0,10,9]", "x/d", "x/d[0,0,10]"])
def test_numbers_of_another_range_are_not_copied(tmp_path: Path, title: str) -> None:
    """Regression: baskets of `Double32_t` were read with the range of the first input, with other
    values."""
    files = [tmp_path / "a.root", tmp_path / "b.root"]
    for file, text in zip(files, ["x/d[0,10,8]", title], strict=True):
        by_root(RANGES, file, text)
    expected = [value for file in files for value in farroot.open(file)["t"]["x"].array().tolist()]
    trees = [f"{file}:t" for file in files]
    assert farroot.concatenate(trees, ["x"])["x"].tolist() == expected
    output = tmp_path / "o.root"
    for cut in (None, "y > -1"):
        with pytest.raises(farroot.Error, match=r"leaf x.*b\.root"):
            farroot.skim(trees, output, cut=cut)
    with pytest.raises(farroot.Error, match=r"leaf x.*b\.root"):
        farroot.merge(files, output)
    assert not output.exists()
    farroot.skim(trees, output, format="rntuple")
    assert farroot.open(output)["t"]["x"].array().tolist() == expected
