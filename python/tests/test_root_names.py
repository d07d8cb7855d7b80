"""A name means the same in every entry point, and the same as in ROOT.

An alias hid the branch of its name in `arrays` and cuts, and did not in `tree["j"]`, `farroot cat`
and skims; the columns of a friend in a subdirectory could not be named at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import uproot

import farroot

from .entry_points import command
from .root import by_root, written_by
from .root.names_texts import TEXTS

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_by("names", tmp_path_factory.mktemp("names"))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    warnings.simplefilter("ignore", farroot.HiddenAliasWarning)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_means_what_it_means_in_root(written: Path, text: str) -> None:
    right = json.loads((written / "drawn.json").read_text())[text]
    address = f"{written}/main.root:m"
    tree = farroot.open(address)
    assert tree.arrays([text])[text].tolist() == right
    assert farroot.chain([address]).arrays([text])[text].tolist() == right
    assert farroot.concatenate([address], [text])[text].tolist() == right
    steps = [each for step in tree.iterate([text], step_size=3) for each in step[text].tolist()]
    assert steps == right
    kept = tree.arrays(["w"], cut=f"({text}) > 0.3")["w"].tolist()
    assert kept == [entry for entry, value in enumerate(right) if value > 0.3]


def test_the_shell_and_skims_know_what_it_means(written: Path, tmp_path: Path) -> None:
    right = json.loads((written / "drawn.json").read_text())
    address = f"{written}/main.root:m"
    # Names of other columns beside which each is written.
    shown = command("cat", address, "--json", "-c", ",".join(["w", *TEXTS]))
    rows = [json.loads(line) for line in shown.splitlines()]
    for number, text in enumerate(TEXTS):
        found = [row.get(text, row.get(text.removeprefix("m."))) for row in rows]
        assert found == right[text], text
        target = tmp_path / f"{number}.root"
        farroot.skim(address, target, [text])
        (name,) = farroot.open(f"{target}:m").keys()
        assert name in (text, text.removeprefix("m."))
        assert farroot.open(f"{target}:m")[name].array().tolist() == right[text], text


def test_all_ways_tell_of_a_hidden_alias(written: Path, tmp_path: Path) -> None:
    said = 'is a column and an alias, "j+100": the column is read'
    done = farroot.skim(f"{written}/main.root:m", tmp_path / "j.root", ["w", "j*2"])
    assert any(said in note for note in done.notes)
    words = [sys.executable, "-m", "farroot", "cat", f"{written}/main.root:m", "-c", "j"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.split() == ["j", "-2", "-1", "0", "1"]
    assert said in shown.stderr


def test_a_hidden_alias_is_warned_of(written: Path) -> None:
    tree = farroot.open(f"{written}/main.root:m")
    with pytest.warns(farroot.HiddenAliasWarning, match="'j' is a column and an alias, 'j\\+100'"):
        tree.arrays(["j"])
    with pytest.warns(farroot.HiddenAliasWarning, match="the column is read"):
        assert tree.arrays(["w"], aliases={"w": "j"})["w"].tolist() == [0, 1, 2, 3]


def test_a_product_is_no_pattern(tmp_path: Path) -> None:
    """`x*y` was taken for the column `x_times_y`."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": [2, 3], "y": [5, 7], "x_times_y": [0, 0], "z": [1, 1]})
    tree = farroot.open(f"{path}:t")
    assert tree.arrays(["x*y"])["x*y"].tolist() == [10, 21]
    assert tree.arrays(["x*"]).fields == ["x", "x_times_y"]


SPACED = """
import sys
from array import array
import ROOT
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "t")
numbers = [array("i", [0]) for _ in range(3)]
for name, number in zip(("x ", "x", "y "), numbers):
    tree.Branch(name, number, "n/I")
tree.Branch("last", numbers[0], "n/I")
for entry in range(3):
    for at, number in enumerate(numbers):
        number[0] = 10 * at + entry
    tree.Fill()
tree.Write()
file.Close()
"""


def test_a_name_may_end_with_a_blank(tmp_path: Path) -> None:
    """The shell took the blank off, and read the branch without one."""
    path = tmp_path / "spaced.root"
    by_root(SPACED, path)
    address = f"{path}:t"
    tree = farroot.open(address)
    for name, first in (("x ", 0), ("x", 10), ("y ", 20)):
        right = [first + entry for entry in range(3)]
        assert name in tree.keys()  # noqa: SIM118
        assert tree[name].array().tolist() == right
        assert tree.arrays([name])[name].tolist() == right
        for words in (name, f"last,{name}"):
            shown = command("cat", address, "--json", "-c", words)
            assert [json.loads(line)[name] for line in shown.splitlines()] == right, words
        target = tmp_path / f"skimmed{first}.root"
        command("skim", address, str(target), "-c", f"last,{name}")
        assert farroot.open(f"{target}:t").keys() == [name, "last"]
    shown = command("cat", address, "--json", "-c", " last , x*2 ")
    assert json.loads(shown.splitlines()[1]) == {"last": 1, "x*2": 22}


DOUBLES = """
import sys
import ROOT
ROOT.gInterpreter.Declare(r'''
void doubles(const char* path) {
  TFile file(path, "RECREATE"); TTree t("t", "t"); int top = 0; int a; double b; short c;
  t.Branch("first", &top, "first/I");
  auto group = new TBranch(&t, "group", &top, "top/I"); t.GetListOfBranches()->Add(group);
  std::vector<TBranch*> all = {
    new TBranch(group, "x", &a, "x/I"), new TBranch(group, "x", &b, "x/D"),
    new TBranch(group, "x", &c, "x/S")};
  for (auto one : all) group->GetListOfBranches()->Add(one);
  for (int i = 0; i < 3; i++) {
    a = i; b = i + .5; c = -i; top = i; t.Fill(); for (auto one : all) one->Fill();
  }
  t.Write();
}''')
ROOT.doubles(sys.argv[1])
"""


def test_branches_of_one_name_within_a_branch(tmp_path: Path) -> None:
    """By name comes the first, as in ROOT and uproot, and each has an address; the third one was
    left out of records without a word."""
    path = tmp_path / "doubles.root"
    by_root(DOUBLES, path)
    tree = farroot.open(f"{path}:t")
    values: dict[str, list[float]] = {
        "x": [0, 1, 2],
        "group/x;2": [0.5, 1.5, 2.5],
        "group/x;3": [0, -1, -2],
    }
    assert uproot.open(f"{path}:t")["group/x"].array().tolist() == values["x"]
    for name in ("x", "group/x", "group.x"):
        assert tree.arrays([name])[name].tolist() == values["x"]
        assert farroot.concatenate([f"{path}:t"] * 2, [name])[name].tolist() == values["x"] * 2
    for name in ("group/x;2", "group/x;3"):
        assert tree.arrays([name])[name].tolist() == values[name]
        assert farroot.chain([f"{path}:t"]).arrays([name])[name].tolist() == values[name]
    found = tree["group"].arrays(["x", "x;2", "x;3"], how=tuple)
    assert [each.tolist() for each in found] == list(values.values())
    everything = [each.tolist() for each in tree.arrays(how=tuple)]
    assert all(each in everything for each in values.values())
