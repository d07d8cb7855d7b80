"""Merges that compress anew and join baskets hold the values of the inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .root import by_root

ENTRIES = 400


def small_baskets(path: Path, first: int) -> Path:
    """A tree of baskets of 20 entries, of all kinds of branches whose baskets can be joined."""
    numbers = np.arange(first, first + ENTRIES)
    lists = ak.Array([[float(n)] * (n % 4) for n in numbers])
    columns = {
        "number": numbers,
        "bit": numbers % 2 == 0,
        "list": lists,
        "text": ak.Array(["x" * (n % 7) for n in numbers]),
        "nested": ak.Array([[[n] * (n % 3), [n]] for n in numbers.tolist()]),
    }
    with farroot.recreate(path, cluster="2 KB", compression=101) as file:
        file.mktree("t", columns)
        file["h"] = np.histogram(numbers, bins=4, range=(0, 4000))
    return path


def contents(path: Path) -> list[object]:
    tree = farroot.open(path)["t"]
    names = ("number", "bit", "list", "text", "nested")
    theirs = uproot.open(path)["t"]
    both = [ak.to_list(tree[name].array()) for name in names]
    assert both == [ak.to_list(theirs[name].array()) for name in names]
    return both


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_compressed_anew(tmp_path: Path, kind: str) -> None:
    numbers = np.arange(50_000) // 7
    inputs = [tmp_path / "a.root", tmp_path / "b.root"]
    for path, compression in zip(inputs, (404, 101), strict=True):
        with farroot.recreate(path, compression=compression) as file:
            make = file.mktree if kind == "tree" else file.mkrntuple
            make("t", {"n": numbers, "x": numbers * 0.5})
    sizes: list[int] = []
    for said in (505, 404, None):
        outputs = [tmp_path / name / "out.root" for name in ("one", "two")]
        for output in outputs:
            output.parent.mkdir(exist_ok=True)
            farroot.merge(inputs, output, recompress=said, reproducible=True, overwrite=True)
        assert outputs[0].read_bytes() == outputs[1].read_bytes()
        sizes.append(outputs[0].stat().st_size)
        for reader in (farroot, uproot):
            table = reader.open(outputs[0])["t"]
            assert table.arrays()["n"].tolist() == 2 * numbers.tolist()
            assert table.arrays()["x"].tolist() == 2 * (numbers * 0.5).tolist()
    assert sizes == sorted(sizes)
    assert sizes[2] > 5 * sizes[0]


@pytest.mark.parametrize("anew", [{}, {"recompress": 505}])
def test_small_baskets_are_joined(tmp_path: Path, anew: dict[str, Any]) -> None:
    inputs = [small_baskets(tmp_path / f"{at}.root", at * ENTRIES) for at in range(5)]
    output = tmp_path / "all.root"
    farroot.merge(inputs, output)
    expected, before = contents(output), farroot.open(output)["t"]
    farroot.merge(inputs, output, basket_size="64 KB", overwrite=True, **anew)
    assert contents(output) == expected
    after = farroot.open(output)["t"]
    assert all(branch.num_baskets >= 10 for branch in before.branches)
    assert all(branch.num_baskets < 5 for branch in after.branches)
    for start, stop in ((0, 3), (395, 405), (1990, 2000)):
        part = after["list"].array(entry_start=start, entry_stop=stop)
        assert ak.to_list(part) == expected[2][start:stop]  # type: ignore[index]
    with pytest.raises(farroot.InvalidArgumentError, match="1 KB to 16 MB"):
        farroot.merge(inputs, output, basket_size=10, overwrite=True)


def test_joined_with_what_is_filled(tmp_path: Path) -> None:
    few, more = tmp_path / "few.root", small_baskets(tmp_path / "more.root", 0)
    with farroot.recreate(few) as file:
        file.mktree("t", {"number": np.arange(10)})
    output = tmp_path / "all.root"
    farroot.merge([few, more, few], output, missing="union", basket_size="1 MB")
    tree = farroot.open(output)["t"]
    lists = ak.to_list(farroot.open(more)["t"]["list"].array())
    assert ak.to_list(tree["list"].array()) == [[]] * 10 + lists + [[]] * 10
    assert tree["list"].num_baskets == 1


#: Reads all entries, and prints sums.
BY_ROOT = """
import sys
import ROOT

file = ROOT.TFile(sys.argv[1])
tree, all = file.Get("t"), [0, 0, 0, 0]
for entry in range(tree.GetEntries()):
    assert tree.GetEntry(entry) > 0
    items = (tree.number, tree.bit, sum(tree.list), sum(sum(one) for one in tree.nested))
    all = [one + more for one, more in zip(all, items)]
print(*map(int, all), tree.GetEntries('text == "xx"'))
"""


@pytest.mark.interop
def test_root_reads_what_was_joined(tmp_path: Path) -> None:
    inputs = [small_baskets(tmp_path / f"{at}.root", at * ENTRIES) for at in range(3)]
    said = []
    ways: dict[str, dict[str, Any]] = {
        "as they are": {},
        "anew": {"recompress": 505},
        "joined": {"basket_size": "32 KB"},
    }
    for name, how in ways.items():
        output = tmp_path / f"{name}.root"
        farroot.merge(inputs, output, **how)
        said.append(by_root(BY_ROOT, output))
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("more", [-1, 1])
def test_a_basket_with_other_entries_than_its_tree_says(tmp_path: Path, more: int) -> None:
    """Regression: entries of such a file were joined in a wrong order."""
    path, output = small_baskets(tmp_path / "in.root", 0), tmp_path / "out.root"
    content, name = bytearray(path.read_bytes()), b"\x07TBasket\x06number\x01t"
    # Behind the names: version, fBufferSize, fNevBufSize, then fNevBuf.
    at = content.index(name) + len(name) + 10
    entries = int.from_bytes(content[at : at + 4], "big")
    assert 1 < entries < ENTRIES
    content[at : at + 4] = (entries + more).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(farroot.CorruptError) as raised:
        farroot.merge([path], output, basket_size="64 KB")
    assert f"{entries + more} entries, where its tree has {entries}" in str(raised.value)
    assert not output.exists()


GENERATED = r"""
import sys
import ROOT
ROOT.gInterpreter.Declare(r'''
#include <TFile.h>
#include <TTree.h>
#include <ROOT/TIOFeatures.hxx>
void make(const char* name, int entries) {
  TFile f(name, "RECREATE"); TTree t("t", "t");
  ROOT::TIOFeatures io; io.Set(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap);
  t.SetIOFeatures(io);
  int i, n; float a[9]; std::string s; std::vector<int> v; char c[30];
  t.Branch("i", &i); t.Branch("n", &n, "n/I"); t.Branch("a", a, "a[n]/F"); t.Branch("s", &s);
  t.Branch("v", &v); t.Branch("c", c, "c/C");
  for (i = 0; i < entries; i++) {
    n = i % 6; for (int k = 0; k < n; k++) a[k] = i + k;
    s.assign(i % 5, 'x'); v.assign(i % 4, i); snprintf(c, 30, "%*d", i % 9, i);
    t.Fill();
    if (i % 37 == 36) t.FlushBaskets();
  }
  t.Write();
}
''')
ROOT.make(sys.argv[1], int(sys.argv[2]))
"""


@pytest.mark.interop
@pytest.mark.parametrize(
    "anew", [{"recompress": 505}, {"basket_size": "64 KB"}, {"recompress": 101, "missing": "union"}]
)
def test_baskets_without_offsets_are_made_anew(tmp_path: Path, anew: dict[str, Any]) -> None:
    """Regression: the key of a basket was read in two ways, and the way of copies knew nothing of
    `kGenerateOffsetMap`: such a basket "ended before it began"."""
    inputs = [tmp_path / "a.root", tmp_path / "b.root"]
    for path, entries in zip(inputs, (100, 61), strict=True):
        by_root(GENERATED, path, entries)
    expected = [row for path in inputs for row in farroot.open(path)["t"].arrays().to_list()]
    output = tmp_path / "all.root"
    farroot.merge(inputs, output, **anew)
    assert farroot.open(output)["t"].arrays().to_list() == expected
    # uproot reads texts of such baskets as empty, those of the inputs, too.
    numbers = ["i", "n", "a", "v"]
    wanted = [{name: row[name] for name in numbers} for row in expected]
    assert uproot.open(output)["t"].arrays(numbers).to_list() == wanted
