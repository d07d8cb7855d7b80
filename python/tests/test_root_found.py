"""Faults that seeded classes have found, one story each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import uproot

import farroot

from .root import written_by

pytestmark = pytest.mark.interop

#: Split level, and whether collections are streamed member by member.
KINDS = [(split, memberwise) for split in (0, 1, 99) for memberwise in (False, True)]
SPLIT = [kind for kind in KINDS if kind[0] > 0]
ENTRIES = range(40)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `found.py`."""
    return written_by("found", tmp_path_factory.mktemp("found"))


def member(written: Path, kind: tuple[int, bool], name: str) -> list[Any]:
    """All entries of a member of `Found`, or of its items."""
    tree = farroot.open(f"{written}/found_{kind[0]}_{kind[1]}.root:tree")
    # Down to the branch that is not split any more, then on in its objects.
    names = ["found.", *name.split(".")]
    depth = min(kind[0] + 1, len(names)) if kind[0] < 99 else len(names)
    array = tree[names[0] + ".".join(names[1:depth])].array()
    for part in names[depth:]:
        array = array[part]
    return list(array.to_list())


def items(value: Any) -> list[Any]:
    """The values of the items of each entry."""
    return [[value(i + k) for k in range(i % 4)] for i in ENTRIES]


@pytest.mark.parametrize("kind", KINDS)
def test_texts_without_letters(written: Path, kind: tuple[int, bool]) -> None:
    """ROOT writes no byte for an empty text of a leaf list, and readers expected its length."""
    tree = farroot.open(f"{written}/found_{kind[0]}_{kind[1]}.root:tree")
    assert tree["text"].array().to_list() == ["x" * (i % 3) for i in ENTRIES]


@pytest.mark.parametrize("kind", KINDS)
def test_named_objects_member_by_member(written: Path, kind: tuple[int, bool]) -> None:
    """Member by member, a base class has no header, except for `TNamed`, which is an object."""

    def label(i: int) -> dict[str, Any]:
        return {"fName": "n" * (i % 3), "fTitle": "t" * (i % 4), "number": i}

    assert member(written, kind, "items.labels") == items(lambda i: [label(i)] * (i % 3))


@pytest.mark.parametrize("kind", KINDS)
def test_root_arrays_in_split_collections(written: Path, kind: tuple[int, bool]) -> None:
    """A `TArrayI` has no header; it was taken for a collection, which has one with the others."""
    assert member(written, kind, "items.array") == items(lambda i: [i] * (i % 3))


@pytest.mark.parametrize("kind", KINDS)
def test_an_array_of_one_string(written: Path, kind: tuple[int, bool]) -> None:
    """It has the frame that arrays have, and was read as a string that stands alone. As a branch of
    its own it is no array, as other arrays of one."""
    if kind[0] == 99:
        assert member(written, kind, "items.single[1]") == items(lambda i: "s" * (i % 3))
    else:
        assert member(written, kind, "items.single") == items(lambda i: ["s" * (i % 3)])


@pytest.mark.parametrize("kind", KINDS[:1])
def test_string_objects_member_by_member(written: Path, kind: tuple[int, bool]) -> None:
    """A `TObjString` is its text, and was not known to have the members of an object."""
    tree = farroot.open(f"{written}/found_{kind[0]}_{kind[1]}.root:tree")
    assert tree["texts"].array().to_list() == [["o" * (i % 4)] * (i % 3) for i in ENTRIES]


@pytest.mark.parametrize("kind", KINDS)
def test_characters_in_split_collections(written: Path, kind: tuple[int, bool]) -> None:
    """A `char*` was known as a member, and not as a branch of a collection's members."""
    assert member(written, kind, "items.text") == items(lambda i: "c" * (i % 4))


@pytest.mark.parametrize("kind", KINDS)
def test_counted_arrays_in_split_collections(written: Path, kind: tuple[int, bool]) -> None:
    """How long the arrays are is in another branch, which has to be read for them."""
    wanted = items(lambda i: [0.5 * i + k for k in range(i % 3)])
    assert member(written, kind, "items.counted") == wanted
    assert member(written, kind, "items.n") == items(lambda i: i % 3)


@pytest.mark.parametrize("kind", KINDS[4:])
def test_counted_arrays_however_they_are_asked_for(written: Path, kind: tuple[int, bool]) -> None:
    """In steps, alone, beside the branch that counts them, lazily, and with a cut."""
    wanted = items(lambda i: [0.5 * i + k for k in range(i % 3)])
    tree = farroot.open(f"{written}/found_{kind[0]}_{kind[1]}.root:tree")
    name, count = "found.items.counted", "found.items.n"
    for names in ([name], [name, count], [count, name]):
        steps = list(tree.iterate(names, step_size=7))
        assert [entry for step in steps for entry in step[name].to_list()] == wanted
    assert tree.arrays([name], entry_start=5, entry_stop=23)[name].to_list() == wanted[5:23]
    assert tree.arrays([name], virtual=True)[name].to_list() == wanted
    kept = tree.arrays([name], cut='get("found.after") > 70')[name].to_list()
    assert kept == wanted[11:]


@pytest.mark.parametrize("kind", SPLIT)
def test_types_are_spelled_as_uproot_does(written: Path, kind: tuple[int, bool]) -> None:
    """Pointers that are written as their targets kept their star, template classes ROOT's own
    names of numbers."""
    path = f"{written}/found_{kind[0]}_{kind[1]}.root:tree"
    ours, theirs = farroot.open(path)["found."], uproot.open(path)["found."]
    for name in ("behind", "pairs", *(["held"] if kind[0] == 1 else [])):
        got, wanted = ours[f"found.{name}"], theirs[f"found.{name}"]
        assert got.typename == wanted.typename
    assert ours["found.behind"].typename == "std::vector<int16_t>"


@pytest.mark.parametrize("kind", KINDS[:4])
def test_enumerations_in_maps(written: Path, kind: tuple[int, bool]) -> None:
    """Only the streamer info of the map's pairs says that these are numbers."""
    metals = member(written, kind, "metals")
    assert metals == [[(k, 2) for k in range(i % 3)] for i in ENTRIES]


@pytest.mark.parametrize("kind", SPLIT)
def test_a_pointer_to_a_string(written: Path, kind: tuple[int, bool]) -> None:
    """It is an object of a class with a name, as other pointers are."""
    wanted = ["p" * (i % 5) if i % 3 else None for i in ENTRIES]
    assert member(written, kind, "pointed") == wanted
