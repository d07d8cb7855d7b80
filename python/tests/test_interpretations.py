"""Interpretations: how a branch describes its bytes, and how a call requests others."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot.containers import AsMap, AsSet, AsString, AsVector
from farroot.interpretation.identify import interpretation_of, parse_typename
from farroot.interpretation.jagged import AsJagged
from farroot.interpretation.numerical import AsDtype
from farroot.interpretation.objects import AsObjects

SAMPLE = "uproot-sample-6.14.00-zlib.root"
#: Files whose branches are numbers, lists, strings, objects, packed reals, maps and bitsets.
FILES = (
    "uproot-HZZ-objects.root",
    SAMPLE,
    "uproot-double32-float16.root",
    "uproot-demo-double32.root",
    "uproot-issue-40.root",
    "uproot-issue494.root",
    "uproot-issue74.root",
    "uproot-leaflist.root",
    "uproot-issue-350.root",
    "nanoAOD_2015_CMS_Open_Data_ttbar.root",
)


@pytest.fixture
def sample(corpus: Path) -> Any:
    return farroot.open(f"{corpus / SAMPLE}:sample")


def branches(file: Any) -> dict[tuple[str, str], Any]:
    trees = {key: file[key] for key in file.keys(filter_classname="TTree")}
    return {(key, name): branch for key, tree in trees.items() for name, branch in tree.items()}


def test_interpretations_are_spelled_as_by_uproot(corpus: Path) -> None:
    """They were texts of Awkward's, which no program written for uproot knows."""
    compared = 0
    for name in FILES:
        with warnings.catch_warnings(action="ignore"):
            theirs = branches(uproot.open(corpus / name))
            ours = branches(farroot.open(corpus / name))
            for where, branch in theirs.items():
                expected = repr(branch.interpretation)
                if expected.startswith(("AsGroup(", "<Unknown")):
                    continue
                assert repr(ours[where].interpretation) == expected, (name, where)
                compared += 1
    assert compared > 400


def test_interpretations_are_compared(sample: Any, corpus: Path) -> None:
    assert sample["i4"].interpretation == AsDtype(">i4")
    assert interpretation_of(sample["i4"], {}, simplify=False) == AsDtype(">i4")
    assert sample["i4"].interpretation != AsDtype(">i8")
    assert sample["Ai4"].interpretation == AsJagged(AsDtype(">i4"))
    assert isinstance(sample["Ai4"].interpretation, farroot.AsJagged)
    assert sample["af8"].interpretation.to_dtype == np.dtype(("<f8", (3,)))
    assert isinstance(sample["str"].interpretation, farroot.AsStrings)
    assert len({sample["i4"].interpretation, AsDtype(">i4")}) == 1
    bits = farroot.open(corpus / "uproot-issue-40.root")["tree"]["bitset8"].interpretation
    assert isinstance(bits, AsObjects)
    tree = farroot.open(corpus / "uproot-HZZ-objects.root")["events"]
    form = tree["jetp4"].interpretation.awkward_form(None)
    assert (
        form
        == uproot.open(corpus / "uproot-HZZ-objects.root")["events"]["jetp4"].array().layout.form
    )
    with pytest.raises(farroot.InvalidArgumentError, match="of no branch"):
        AsDtype(">i4").awkward_form(None)


def test_types_of_cpp_are_parsed() -> None:
    for text, expected in (
        ("int", np.dtype(">i4")),
        ("std :: string", AsString(False)),
        ("char *", AsString(False, length_bytes="4")),
        ("std::vector<std::vector<string> >", AsVector(True, AsVector(False, AsString(False)))),
        ("set<unsigned short>", AsSet(True, ">u2")),
        ("const unsigned short", np.dtype(">u2")),
        ("map<string, vector<int>>", AsMap(True, AsString(True), AsVector(True, ">i4"))),
    ):
        assert parse_typename(text) == expected
    assert parse_typename("const TH1I*") == parse_typename("TH1I*")
    for wrong in ("vector <", "map<string<int>>", "map<string, int>>", "map<int>", ""):
        with pytest.raises(ValueError, match="is no type"):
            parse_typename(wrong)


def test_bytes_are_read_as_other_numbers(sample: Any, corpus: Path) -> None:
    """`arrays({"i1": ">u1"})` took the dict for names and ignored the rest: -15 for 241."""
    theirs = uproot.open(f"{corpus / SAMPLE}:sample")
    pairs = [("i1", ">u1"), ("i2", ">u2"), ("f4", None)]
    for expressions in (dict(pairs), pairs):
        ours = sample.arrays(expressions, library="np")
        expected = theirs.arrays(expressions, library="np")
        assert list(ours) == list(expected)
        for name, array in expected.items():
            assert ours[name].dtype == array.dtype
            np.testing.assert_array_equal(ours[name], array)
    assert sample.arrays({"i1": ">u1"})["i1"].tolist()[:2] == [241, 242]
    assert sample["i2"].array(">u2", library="np").tolist() == theirs["i2"].array(">u2").tolist()
    assert sample["i8"].array("f8", library="np").dtype == np.float64
    both = [next(iter(tree.iterate({"i4": ">u4"}, step_size=7)))["i4"] for tree in (sample, theirs)]
    assert both[0].tolist() == both[1].tolist()


def test_lists_and_fixed_arrays_are_read_as_other_numbers(sample: Any) -> None:
    unsigned = sample["Ai4"].array(AsJagged(AsDtype(">u4")))
    assert ak.all(unsigned == ak.values_astype(sample["Ai4"].array(), np.uint32))
    halves = sample["Ai4"].array(AsJagged(AsDtype(">i2")), library="np")
    assert [len(each) for each in halves] == [2 * len(each) for each in sample["Ai4"].array()]
    assert halves[3][:2].tolist() == [-1, -15]
    fixed = sample["ai4"].array(AsDtype((">u4", (3,))), library="np")
    assert fixed.shape == (30, 3)
    assert sample["ai4"].array(AsDtype((">i2", (6,))), library="np").shape == (30, 6)
    assert sample["i4"].array(sample["i4"].interpretation).tolist() == sample["i4"].array().tolist()


def test_arrays_are_filled_in_place(sample: Any) -> None:
    target = np.zeros(40)
    filled = sample["i4"].array(sample["i4"].interpretation.inplace(target), library="np")
    assert filled.base is target
    assert target[:3].tolist() == [-15, -14, -13]
    assert target[30:].tolist() == [0] * 10
    sample.arrays({"f8": sample["f8"].interpretation.inplace(target)}, library="np")
    assert target[0] == sample["f8"].array()[0]
    with pytest.raises(farroot.InvalidArgumentError, match="cannot hold the 30 entries"):
        sample["i4"].array(AsDtype(">i4").inplace(np.zeros(3)), library="np")
    with pytest.raises(farroot.InvalidArgumentError, match='library="np"'):
        sample["i4"].array(AsDtype(">i4").inplace(np.zeros(30)))


def test_what_cannot_be_read_so_is_refused(sample: Any, corpus: Path) -> None:
    refused = farroot.InvalidArgumentError
    with pytest.raises(refused, match="has 4 bytes, not the 2"):
        sample["i4"].array(">u2")
    with pytest.raises(refused, match="cannot be read as"):
        sample["str"].array(">u2")
    with pytest.raises(refused, match="do not split"):
        sample["Ai4"].array(AsJagged(AsDtype(">f8")))
    with pytest.raises(refused, match="no single branch"):
        sample.arrays([("i4 + 1", ">u4")])
    with pytest.raises(refused, match="two interpretations"):
        sample.arrays([("i4", ">u4"), ("i4", None)])
    with pytest.raises(refused, match="as its type says only"):
        sample.arrays({"i4": ">u4"}, virtual=True)
    for wrong in (5.5, object()):
        with pytest.raises(farroot.ArgumentTypeError, match="an interpretation is"):
            sample.arrays({"i4": wrong})
    with pytest.raises(farroot.ArgumentTypeError, match="a pair is"):
        sample.arrays([("i4", ">u4", 1)])
    ntuple = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")["Staff"]
    with pytest.raises(refused, match="as its type says only"):
        ntuple.arrays({"Age": ">u4"})
