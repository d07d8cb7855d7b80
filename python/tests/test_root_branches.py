"""Branches of other classes than `TBranchElement`, as old versions of ROOT made them, and split
collections of pointers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .root import written_by
from .test_root_field import KINDS, column, opened

pytestmark = pytest.mark.interop

ENTRIES = range(60)
SPLIT = [kind for kind in KINDS if kind[0] > 0]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `branches.h`."""
    return written_by("field", tmp_path_factory.mktemp("branches"), "branches")


def hit(i: int, k: int) -> dict[str, Any]:
    return {
        "c": -i,
        "us": 1000 * k,
        "f": i / 2,
        "d": k / 2,
        "a": [[0, k, 0], [0, 0, i]],
        "v": {"fX": i, "fY": k, "fZ": 0},
    }


def hits(i: int) -> list[dict[str, Any]]:
    return [hit(i, k) for k in range(i % 4)]


def members(value: dict[str, Any], path: str = "") -> dict[str, Any]:
    """The numbers in an object by the names of their branches."""
    found: dict[str, Any] = {}
    for name, each in value.items():
        deeper = members(each, f"{path}{name}.") if isinstance(each, dict) else {path + name: each}
        found.update(deeper)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_branches_of_root_2(written: Path, kind: tuple[int, bool]) -> None:
    """`TBranchObject`, and `TBranchClones`, which nothing in the file describes: such a branch was
    called unreadable, and its members were not there. uproot opens no such tree."""
    tree = opened(written, "old", kind)
    if kind[0] == 0:
        for name in ("event", "dotted."):
            for i, got in enumerate(tree[name].array().to_list()):
                assert (got["before"], got["after"], got["part"]["n"]) == (i, -i, i % 3)
                assert got["part"]["x"] == [i + k for k in range(i % 3)]
                found = got["hits"]
                assert [each | wanted for each, wanted in zip(found, hits(i), strict=True)] == found
        return
    for name, prefix in (("event", ""), ("dotted.", "dotted.")):
        below = {branch.name: branch for branch in tree[name].values()}
        for member, sign in (("before", 1), ("after", -1)):
            assert below[prefix + member].array().to_list() == [sign * i for i in ENTRIES]
        counts = below[f"{prefix}hits"]
        assert counts.array().to_list() == [i % 4 for i in ENTRIES]
        assert counts.branches[0].name == f"{prefix}hits.c"
        for member in members(hit(1, 1)):
            branch = below[f"{prefix}hits.{member}" + ("[2][3]" if member == "a" else "")]
            wanted = [[members(each)[member] for each in hits(i)] for i in ENTRIES]
            assert branch.array().to_list() == wanted, member
    assert column(tree, "part.x") == [[i + k for k in range(i % 3)] for i in ENTRIES]
    steps = list(tree.iterate(["hits", "hits.f"], step_size=7))
    assert [n for step in steps for n in step["hits"].to_list()] == [i % 4 for i in ENTRIES]
    assert tree.arrays("hits.us", cut="hits > 2")["hits.us"].to_list() == [
        [0, 1000, 2000] for i in ENTRIES if i % 4 == 3
    ]


def animals(i: int) -> list[dict[str, Any] | None]:
    if i < 2:
        return []
    kept: list[dict[str, Any] | None] = []
    for k in range(i % 4):
        if k == 2 and i % 3 == 0:
            kept.append(None)
        elif i < 30 or k % 2 == 0:
            kept.append({"legs": 2 * i + k, "wings": [i] * k})
        else:
            fins = [i + j for j in range(i % 3)]
            fish = {"legs": -i, "n": i % 3, "fins": fins, "name": "f" * (i % 3)}
            kept.append({**fish, "teeth": i} if i % 4 == 3 else fish)
    return kept


@pytest.mark.parametrize("kind", SPLIT)
def test_split_collections_of_pointers(written: Path, kind: tuple[int, bool]) -> None:
    """`TBranchSTL` has a branch for each class, from the entry on in which there is the first such
    object: reading any before was refused."""
    tree = opened(written, "pointers", kind)
    entries = [[each for each in animals(i) if each] for i in ENTRIES]
    birds = [[each for each in entry if "wings" in each] for entry in entries]
    sharks = [[each for each in entry if "teeth" in each] for entry in entries]
    fish = [[e for e in entry if "fins" in e and "teeth" not in e] for entry in entries]
    for above, typename in (
        ("animals", "vector<Animal*>"),
        ("listed", "list<Animal*>"),
        ("zoo./zoo.animals", "vector<Animal*>"),
    ):
        assert (tree[above].typename, tree[above].is_group) == (typename, True)
        for class_name, objects in (("Bird", birds), ("Fish", fish), ("Shark", sharks)):
            if kind[0] == 1:
                whole = next(b for b in tree[above].branches if b.name.endswith(class_name))
                for got, filled in zip(whole.array().to_list(), objects, strict=True):
                    pairs = zip(got, filled, strict=True)
                    assert [{**each, **every} for each, every in pairs] == got
                continue
            for member in next(entry[0] for entry in objects if entry):
                branch = next(
                    each
                    for each in tree[above].values()
                    if each.name.endswith(f".{class_name}.{member}")
                )
                wanted = [[each[member] for each in entry] for entry in objects]
                assert branch.array().to_list() == wanted, branch.path
                assert branch.array(entry_start=5, entry_stop=40).to_list() == wanted[5:40]
    if kind[0] == 1:
        return
    steps = list(tree.iterate(["animals.Fish.fins"], step_size=7))
    fins = [entry for step in steps for entry in step["animals.Fish.fins"].to_list()]
    assert fins == [[each["fins"] for each in entry] for entry in fish]
    virtual = tree.arrays(["animals.Fish.legs"], virtual=True)
    assert virtual["animals.Fish.legs"].to_list() == [[each["legs"] for each in e] for e in fish]
    assert column(tree, "zoo.first") == list(ENTRIES)
    assert column(tree, "zoo.last") == [-i for i in ENTRIES]
    # Without any object there is no branch of one.
    nothing = tree["zoo./zoo.nothing"].array().to_list()
    assert nothing == [{"fElems": 0, "fArr": []}] * len(ENTRIES)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] == 0])
def test_pointers_lead_to_what_all_classes_have(written: Path, kind: tuple[int, bool]) -> None:
    """Classes with counted arrays were refused; of those that derive from another such class, the
    members came as zeros."""
    tree = opened(written, "pointers", kind)
    wanted = [[each and {"legs": each["legs"]} for each in animals(i)] for i in ENTRIES]
    assert tree["animals"].array().to_list() == wanted
    assert tree["zoo."].array()["animals"].to_list() == wanted
