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

import farroot

from .entry_points import command
from .root import written_by
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
