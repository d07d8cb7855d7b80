"""Formulas of objects, in aliases of a file and in formulas of callers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import pytest

import farroot

from .root import written_by

pytestmark = pytest.mark.interop

#: ROOT and farroot compute these.
OF_OBJECTS = (
    "Length$(split)",
    "@split.size()",
    "@split.size()+n",
    "Length$(split)>1",
    "Length$(split.fPx)",
    "Length$(split.fPx*2)",
    "Sum$(split.fPx)",
    "split.fPx",
    "Length$(dotted.fPx)",
    "Length$(splitVector)",
    "@splitVector.size()",
    "Length$(splitVector.fPx)",
    "splitVector.fPy",
    "@wholeVector.size()",
    "wholeVector.fPx",
    "wholeVector.fPx*wholeVector.fPy",
    "wholeVector.fPx[1]",
    "@numbers.size()",
    "Length$(numbers)",
    "Length$(array)",
    "leaves.a",
    "leaves.b*2",
    "leaves.a*leaves.b+n",
    "p4.fE",
    "q4.fE",
    "q4.fP.fX",
    "q4.fP.fX+p4.fE",
)

#: These are errors of farroot's that name what there is; ROOT draws zeros of objects.
REFUSED = {
    "split": "Length$(split) and @split.size() are their number",
    "split+1": "Length$(split) and @split.size() are their number",
    "split.size()": "Length$(split) and @split.size() are their number",
    "leaves.c": "it has a, b",
    "q4.fP.fW": "fX, fY, fZ",
    "p4.fW": "fE",
}


#: Members of an event and of its objects, however it is split.
OF_MEMBERS = (
    "p.d1",
    "ev.p.d1",
    "p.d1*2",
    "p.n",
    "p.arr",
    "p.arr[2]",
    "p.arr[p.n]",
    "Sum$(p.mat)",
    "p.mat[1][0]",
    "p.mat[][0]",
    "p.v",
    "p.v[0]",
    "p.v*p.n",
    "Length$(p.v)",
    "p.pr.first",
    "p.bi",
    "p.bs",
    "ev.p.bs[1]",
    "base.bi",
    "ev.base.bi",
    "id",
    "ev.id",
    "ev.p.n+id",
    "own[1]",
    "ev.own[1]",
    "qs.a",
    "qs.f",
    "qs.f[0]",
    "qs.f[][0]",
    "qs.f[][0]*qs.a",
    "ev.qs.a",
    "e2.qs.a",
    "Sum$(qs.a)",
    "@qs.size()",
    "p.ms.second",
    "Max$(p.arr)-Min$(p.arr)",
    "id%2==0&&p.n",
    "e2.p.d1",
    "e2.p.arr[1]",
    "e2.p.mat[1]",
    "e2.base.bi",
    "e2.id",
    "leaves.bb",
    "a+1",
    "u4.fE",
    "u4.fP.fX",
    "fE",
    "al",
    "al[1]",
    "twice",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formulas")
    (folder / "formulas.json").write_text(json.dumps([*OF_OBJECTS, *REFUSED]))
    return written_by("object_formulas", folder, folder / "formulas.json")


def _listed(column: Any) -> list[list[float]]:
    return [
        [each for each in (entry if isinstance(entry, list) else [entry]) if each is not None]
        for entry in ak.to_list(column)
    ]


def test_formulas_of_objects_give_what_root_draws(folder: Path) -> None:
    """``Length$`` of a split TClonesArray was 1, and that of a split vector an error; members of
    records were unknown names."""
    drawn = json.loads((folder / "drawn.json").read_text())
    tree = farroot.open(folder / "objects.root")["t"]
    chain = farroot.chain([f"{folder}/objects.root:t"] * 2)
    for number, text in enumerate(OF_OBJECTS):
        name = f"formula{number}"
        assert drawn[number] is not None, text
        assert _listed(tree.arrays([name])[name]) == drawn[number], text
        assert _listed(chain.arrays([name])[name]) == drawn[number] * 2, text
        both = farroot.concatenate([f"{folder}/objects.root:t"] * 2, [name])
        assert _listed(both[name]) == drawn[number] * 2, text
        if all(len(one) == 1 for one in drawn[number]):
            kept = tree.arrays(["n"], f"{name} > 3", aliases={})
            assert len(kept) == sum(one[0] > 3 for one in drawn[number]), text


def test_other_formulas_of_objects_are_errors(folder: Path) -> None:
    tree = farroot.open(folder / "objects.root")["t"]
    chain = farroot.chain([f"{folder}/objects.root:t"] * 2)
    for number, (text, why) in enumerate(REFUSED.items(), len(OF_OBJECTS)):
        for read in (tree.arrays, chain.arrays):
            with pytest.raises((farroot.InvalidArgumentError, farroot.KeyInFileError)) as raised:
                read([f"formula{number}"])
            assert why in str(raised.value), text


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("leaves.a * 2", "leaves.a*2"),
        ("q4.fP.fX", "q4.fP.fX"),
        ("wholeVector.fPx", "wholeVector.fPx"),
    ],
)
def test_formulas_of_callers_name_members(
    folder: Path, tmp_path: Path, text: str, root: str
) -> None:
    """As columns, new columns, cuts and aliases, in each way to read."""
    file = f"{folder}/objects.root:t"
    tree = farroot.open(file)
    values = tree.arrays(["leaves", "q4", "wholeVector"])
    expected = {
        "leaves.a*2": values.leaves.a * 2,
        "q4.fP.fX": values.q4.fP.fX,
        "wholeVector.fPx": values.wholeVector.fPx,
    }[root]
    listed = ak.to_list(expected)
    assert ak.to_list(tree.arrays([text])[text]) == listed
    assert ak.to_list(tree.arrays(["f"], aliases={"f": text})["f"]) == listed
    assert ak.to_list(farroot.concatenate([file] * 2, [text])[text]) == listed * 2
    assert ak.to_list(farroot.chain([file] * 2).arrays([text])[text]) == listed * 2
    target = tmp_path / "skimmed.root"
    farroot.skim(file, target, ["n"], define={"f": text})
    assert ak.to_list(farroot.open(f"{target}:t")["f"].array()) == listed
    if expected.ndim == 1:
        cut = f"{text} > 3"
        kept = [n for n, one in zip(ak.to_list(tree["n"].array()), listed, strict=True) if one > 3]
        assert ak.to_list(tree.arrays(["n"], cut)["n"]) == kept
        assert ak.to_list(farroot.chain([file]).arrays(["n"], cut)["n"]) == kept
        farroot.skim(file, tmp_path / "cut.root", ["n"], cut)
        assert ak.to_list(farroot.open(f"{tmp_path}/cut.root:t")["n"].array()) == kept
    with pytest.raises(farroot.KeyInFileError, match="it has a, b"):
        tree.arrays(["n"], "leaves.c > 1")


def test_members_are_found_however_they_are_split(tmp_path: Path) -> None:
    """Arrays of split objects, ``branch.member.x`` and members without the name of their branch
    were unknown names."""
    (tmp_path / "formulas.json").write_text(json.dumps(OF_MEMBERS))
    written_by("member_formulas", tmp_path, tmp_path / "formulas.json")
    drawn = json.loads((tmp_path / "drawn.json").read_text())
    wrong = []
    for split, expected in drawn.items():
        tree = farroot.open(f"{tmp_path}/split{split}.root:t")
        for number, text in enumerate(OF_MEMBERS):
            name = f"formula{number}"
            try:
                found = ak.to_list(tree.arrays([name])[name])
            except (farroot.InvalidArgumentError, farroot.KeyInFileError) as error:
                wrong.append(f"{split} {text}: {error}")
                continue
            flat = [ak.to_list(ak.flatten(ak.Array([one]), axis=None)) for one in found]
            if flat != expected[number]:
                wrong.append(f"{split} {text}: {flat} is not {expected[number]}")
        # An alias of the file goes before a member; in ROOT, it is the member's.
        assert tree.arrays(["bb"])["bb"].to_list() == list(range(tree.num_entries))
        with pytest.raises(farroot.InvalidArgumentError, match="alias that is computed"):
            tree.arrays(["index"])
    assert not wrong, "\n".join(wrong)


def test_entries_that_a_friend_lacks_have_no_sum(tmp_path: Path) -> None:
    """``Sum$`` and its like of an entry that a friend lacks were 0, which passes cuts."""
    written_by("short_friend", tmp_path)
    tree = farroot.open(f"{tmp_path}/main.root:t")
    for name, expected in {
        "values": [1, 2, None, None],
        "sum": [3, 5, None, None],
        "length": [2, 2, None, None],
        "most": [2, 3, None, None],
        "size": [2, 2, None, None],
        "both": [4, 7, None, None],
        "other": [1, 2, -1, -1],
    }.items():
        assert tree.arrays([name])[name].to_list() == expected, name
    assert len(tree.arrays(["n"], cut="sum < 100")) == 2
    assert len(tree.arrays(["n"], cut="low")) == 2
