"""Files of other programs that write ROOT's format by themselves. `testdata/make` made them."""

from pathlib import Path

import awkward as ak
import numpy as np
import uproot

import farroot

from .same import same_awkward

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"


def compare(path: Path, name: str, without: set[str]) -> ak.Array:
    """All columns, equal to uproot's but for those that it does not read."""
    ours = farroot.open(path)[name]
    with uproot.open(path) as file:
        theirs = file[name]
        assert ours.keys() == theirs.keys()
        for key in set(theirs.keys()) - without:
            assert same_awkward(ours[key].array(), theirs[key].array()), key
    return ours.arrays()


def test_groot_writes_columns() -> None:
    columns = compare(TESTDATA / "by_groot.root", "flat", set())
    numbers = range(40)
    assert columns.text.to_list() == [f"{i:0{i * 10}d}" for i in numbers]
    assert columns.grid[:, 1, 2].to_list() == list(numbers)
    assert columns.run.to_list() == [[i * j for j in range(i % 4)] for i in numbers]


def test_groot_writes_objects() -> None:
    lists = {"floats", "texts", "points"}  # of which uproot takes the leaves at their word: numbers
    columns = compare(TESTDATA / "by_groot.root", "objects", lists)
    numbers = range(20)
    assert columns.floats.to_list() == [[i] * (i % 4) for i in numbers]
    assert columns.texts.to_list() == [[str(j) for j in range(i % 4)] for i in numbers]
    assert columns.points.y.to_list() == [list(range(i % 4)) for i in numbers]


def test_groot_writes_objects_of_other_classes() -> None:
    ours = farroot.open(TESTDATA / "by_groot.root")
    with uproot.open(TESTDATA / "by_groot.root") as theirs:
        assert ours["counts"].to_hist() == theirs["counts"].to_hist()
        assert np.array_equal(ours["graph"].errors("high"), theirs["graph"].errors("high"))
        assert ours["outer/inner/text"] == theirs["outer/inner/text"]


def test_geant4_writes_ntuples_and_histograms() -> None:
    path = TESTDATA / "by_geant4.root"
    assert compare(path, "hits", set()).volume.to_list() == ["box" * (i % 7) for i in range(60)]
    ours = farroot.open(path)
    with uproot.open(path) as theirs:
        for name in ("h1", "h2"):
            assert ours[name].to_hist() == theirs[name].to_hist()


def test_profiles_without_squares_of_weights_are_not_weighted() -> None:
    """Profiles of this version have no such member; a profile's errors, and the conversion to
    hist, read it. The errors are ROOT's."""
    profile = farroot.open(TESTDATA / "by_geant4.root")["p1"]
    expected = [4.1509961733021665] * 2 + [3.9860869143671325] * 2
    assert np.allclose(profile.errors(), expected, rtol=1e-12)
    assert profile.counts().tolist() == [13, 13, 12, 12]
    made = profile.to_hist()
    assert np.array_equal(made.values(), profile.values())
    assert np.array_equal(made.counts(), [13, 13, 12, 12])
