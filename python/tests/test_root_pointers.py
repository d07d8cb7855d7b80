"""Objects with pointers of every kind, as ROOT writes them, whole and split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import farroot

from .root import written_by

pytestmark = pytest.mark.interop

ENTRIES = 60
#: Split level, and whether collections are streamed member by member.
KINDS = [(split, memberwise) for split in (0, 1, 99) for memberwise in (False, True)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `pointers.py`."""
    return written_by("pointers", tmp_path_factory.mktemp("pointers"))


def thing(i: int) -> dict[str, Any]:
    return {"number": i, "name": "n" * (i % 4)}


def base(i: int) -> dict[str, Any]:
    """Also of objects of a class that derives from it."""
    return {"id": i, "hits": [i] * (i % 3)}


def inner(before: int, pointed: Any, other: Any, after: int) -> dict[str, Any]:
    return {"before": before, "base": pointed, "thing": other, "after": after}


def inners(i: int) -> list[dict[str, Any]]:
    things = {0: thing(0), 2: thing(0)}
    mine = base(i) if i % 4 else None
    return [inner(k, mine if k == 1 else base(i + k), things.get(k), -k) for k in range(i % 4)]


def event(i: int) -> dict[str, Any]:
    """The values of `Event::fill`, as far as columns can hold them."""
    odd, third = i % 2 == 1, i % 3
    mine = base(i) if i % 4 else None
    pointed = None if i % 4 == 3 else thing(100 + i) if i % 4 == 2 else thing(i)
    collected = inners(i)
    array = [thing(i), pointed][:third]
    return {
        "inherited": mine if odd else None,
        "bottom": 7 * i,
        "before": i,
        "base": mine,
        "again": mine if third else base(50 + i),
        "plain": {"id": i, "x": 0.5 * i} if third else None,
        "thing": pointed,
        "held": thing(i),
        "own": base(i) if third == 1 else None,
        "own_plain": {"id": -i, "x": 1.0} if odd else None,
        "several": [mine if odd else None, base(i + 1)],
        "inner": inner(i, mine if third == 2 else None, pointed, i + 1),
        "inners": collected,
        "pointers": [base(i + 1) if k == 1 else each["base"] for k, each in enumerate(collected)],
        # Never null: of no collection and of an empty one the same is written.
        "numbers": [i] * third,
        "objects": [base(i)] * 2 if odd else [],
        "map": [(i, 0.5 * i)] if third else [],
        "text": "s" * (i % 5) if odd else "",
        "tstring": "t" * (i % 5) if odd else None,
        "objstring": None if odd else "o" * third,
        "named": {"fName": "name", "fTitle": "t" * third} if odd else None,
        "vector": {"fX": i, "fY": 1.0, "fZ": 2.0} if odd else None,
        "ints": [0] * third if odd else None,
        "pair": {"first": i, "second": 2.0} if odd else None,
        "any": {1: pointed, 2: {"fName": "n", "fTitle": "t"}}.get(i % 4),
        "array": array if third else None,
        "list": [{"fName": "l", "fTitle": ""}] * 2 if third == 2 else None,
        "clones": [thing(i + k) for k in range(third)] if third == 1 else None,
        "histogram": {"fEntries": 1, "TArrayF": [0, 0, i, 0]} if odd else None,
        # Without the pointers that lead back: `next` and `kids`, and the daughter's mother.
        "node": {"value": i, "thing": thing(i)} if odd else None,
        "mother": {"age": i, "daughter": {"number": 2 * i}} if odd else None,
        # Itself once more, without members, or another one.
        "ring": {"number": i, "next": {} if third == 1 else {"number": 0, "next": None}}
        if third
        else None,
        "after": -i,
    }


def few(name: str, value: Any) -> Any:
    """A histogram by some of its many members."""
    if name == "histogram" and value is not None:
        return {member: value[member] for member in ("fEntries", "TArrayF")}
    return value


@pytest.mark.parametrize("memberwise", [False, True])
def test_whole_objects(written: Path, memberwise: bool) -> None:
    tree = farroot.open(f"{written}/pointers_0_{memberwise}.root:tree")
    got = tree["event."].array().to_list()
    assert len(got) == ENTRIES
    for i, one in enumerate(got):
        wanted = event(i)
        assert list(one) == list(wanted)
        for name in wanted:
            assert few(name, one[name]) == wanted[name], (i, name)


@pytest.mark.parametrize(("split", "memberwise"), KINDS)
def test_vectors_of_objects_with_pointers(written: Path, split: int, memberwise: bool) -> None:
    tree = farroot.open(f"{written}/pointers_{split}_{memberwise}.root:tree")
    branch = tree["inners"]
    members = ("before", "base", "thing", "after")
    if branch.is_group:
        columns = [tree[f"inners.{name}"].array().to_list() for name in members]
        got = [
            [dict(zip(members, one, strict=True)) for one in zip(*each, strict=True)]
            for each in zip(*columns, strict=True)
        ]
    else:
        got = branch.array().to_list()
    assert got == [inners(i) for i in range(ENTRIES)]


@pytest.mark.parametrize(("split", "memberwise"), KINDS[2:])
def test_split_objects(written: Path, split: int, memberwise: bool) -> None:
    tree = farroot.open(f"{written}/pointers_{split}_{memberwise}.root:tree")
    compared = set()
    for branch in tree["event."].values():
        names = branch.name.removeprefix("event.").split("[")[0].rstrip(".").split(".")
        names = [name for name in names if not name.startswith("pointed::")]
        if branch.is_group or len(names) != 1:
            continue
        (name,) = names
        got = branch.array().to_list()
        if name not in event(0):
            assert name in ("fUniqueID", "fBits")
            continue
        compared.add(name)
        for i, one in enumerate(got):
            assert few(name, one) == event(i)[name], (i, name)
    assert len(compared) > 25, compared


def test_parts_of_the_entries_are_the_same(written: Path) -> None:
    """Pointers once referred to objects of other entries where baskets were read in parts."""
    tree = farroot.open(f"{written}/pointers_0_False.root:tree")
    whole = tree["event."].array().to_list()
    for start in (0, 7, 31):
        part = tree["event."].array(entry_start=start, entry_stop=start + 20).to_list()
        assert part == whole[start : start + 20]
