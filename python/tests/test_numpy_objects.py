"""Results of ``library="np"`` that are no numbers: uproot's containers, and objects by members."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import uproot

import farroot
from farroot import containers

from .root import written_by

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_by("sets", tmp_path_factory.mktemp("sets")) / "sets.root"


def test_containers_are_those_of_uproot(sets: Path) -> None:
    """Sets were arrays, maps structured arrays of pairs, and lists of lists arrays of arrays, which
    raised when they were compared with a list."""
    ours, theirs = farroot.open(sets)["tree"], uproot.open(sets)["tree"]
    for name in theirs.keys():  # noqa: SIM118
        mine, expected = ours[name].array(library="np"), theirs[name].array(library="np")
        assert mine.dtype == expected.dtype == object
        for one, other in zip(mine, expected, strict=True):
            assert type(one).__name__ == type(other).__name__, name
            assert one.tolist() == other.tolist(), name
            assert len(one) == len(other), name
            assert name == "numbers" or one == other.tolist(), name
        again = pickle.loads(pickle.dumps(mine))
        assert [each.tolist() for each in again] == [each.tolist() for each in mine]


def test_containers_are_of_python(sets: Path) -> None:
    tree = farroot.open(sets)["tree"]
    last = {branch.name: branch.array(library="np")[-1] for branch in tree}
    assert isinstance(last["sets"], farroot.STLVector)
    assert last["set"] == {8, 9, 10}
    assert last["set"] | {1} == {1, 8, 9, 10}
    assert 9 in last["set"]
    assert 7 not in last["set"]
    assert last["map"]["2"] == 2
    assert last["map"].get("3") is None
    assert list(last["map"].items()) == [("0", 0), ("1", 1), ("2", 2)]
    assert last["map"].values().max() == 2
    assert last["map"].keys().tolist() == ["0", "1", "2"]
    lists = containers.STLMap([0, 2], last["lists"][::2])
    assert lists == {0: [], 2: [0, 1]}
    assert lists != {0: [], 2: [0, 2]}
    assert last["lists"] == [[], [0], [0, 1]]
    assert last["lists"] != [[], [0], [0, 2]]
    assert last["lists"][2] == [0, 1]
    assert last["sets"][2].tolist() == {0, 1}
    assert repr(last["lists"][1]) == "<STLVector [0]>"
    assert repr(last["set"]) == "<STLSet {8, 9, 10}>"
    assert containers.STLMap([1, 2], "ab") == {1: "a", 2: "b"}
    assert containers.STLSet([(1, 2), (1, 2)]).tolist() == {(1, 2)}


def members(one: Any) -> Any:
    """An object of either, as far as Python's own types go."""
    if isinstance(one, str):
        return str(one)
    if hasattr(one, "all_members"):
        kept = {key: members(value) for key, value in one.all_members.items()}
        return {key: value for key, value in kept.items() if not key.startswith("@")}
    return one.tolist() if hasattr(one, "tolist") else one


def test_objects_have_members(corpus: Path) -> None:
    """They were records of NumPy, without `member()`."""
    for name, tree, branch in (
        ("uproot-HZZ-objects.root", "events", "MET"),
        ("uproot-small-evnt-tree-nosplit.root", "tree", "evt"),
    ):
        mine = farroot.open(f"{corpus / name}:{tree}")[branch].array(library="np", entry_stop=20)
        theirs = uproot.open(f"{corpus / name}:{tree}")[branch].array(library="np", entry_stop=20)
        for one, other in zip(mine, theirs, strict=True):
            assert one.classname == other.classname
            expected = members(other)
            for key, value in members(one).items():
                assert value == expected[key], key
                assert members(one.member(key)) == members(other.member(key))
    assert mine[3]["P3"].member("Px") == 2
    assert isinstance(mine[3], farroot.Model)
    with pytest.raises(farroot.KeyInFileError, match="Nothing"):
        mine[3].member("Nothing")


def test_lists_of_objects_have_members(corpus: Path) -> None:
    path = corpus / "uproot-HZZ-objects.root"
    mine = farroot.open(path)["events"]["muonp4"].array(library="np", entry_stop=100)
    theirs = uproot.open(path)["events"]["muonp4"].array(library="np", entry_stop=100)
    for ours, others in zip(mine, theirs, strict=True):
        assert len(ours) == len(others)
        for one, other in zip(ours, others, strict=True):
            assert one.member("fE") == other.member("fE")
            assert one.member("fP").member("fX") == other.member("fP").member("fX")
    delphes = farroot.open(corpus / "uproot-issue513.root")["Delphes"]
    (particles,) = delphes["GenJet.Particles"].array(library="np", entry_stop=1)
    expected = uproot.open(corpus / "uproot-issue513.root")["Delphes"]["GenJet.Particles"]
    (others,) = expected.array(library="np", entry_stop=1)
    assert [each.refs.tolist() for each in particles] == [each.refs.tolist() for each in others]
