"""RNTuples, compared with what uproot makes of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .corpus import corpus_folder

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
FILES = [
    (TESTDATA / "ntuple_fields.root", "events"),
    (TESTDATA / "ntuple_plain.root", "events"),
    (TESTDATA / "ntuple_columns.root", "events"),
]
#: uproot has half-precision reals, farroot gives them in single precision.
HALF = ("Real16",)
#: uproot takes positions in variants, which count from the beginning of their cluster, for ones of
#: the whole file: it is right about the first cluster only. What ROOT wrote is tested in Rust.
VARIANTS = ("variant", "variants")
FIRST_CLUSTER = 40


FOLDER = corpus_folder()


def corpus() -> list[tuple[Path, str]]:
    found = []
    for path in sorted(FOLDER.glob("*ntuple*.root")) if FOLDER is not None else []:
        with uproot.open(path) as file:
            names = file.classnames(cycle=False).items()
            found += [(path, name) for name, kind in names if kind == "ROOT::RNTuple"]
    return found


@pytest.mark.parametrize(("path", "name"), FILES + corpus())
def test_every_field_is_as_uproot_reads_it(path: Path, name: str) -> None:
    theirs = uproot.open(path)[name]
    ours = farroot.open(f"{path}:{name}")
    assert isinstance(ours, farroot.Ntuple)
    assert ours.num_entries == theirs.num_entries
    assert ours.keys() == theirs.keys()
    assert ours.typenames() == theirs.typenames()
    for key in theirs.keys(recursive=False):
        expected, got = theirs[key].array(), ours[key].array()
        if key not in HALF:
            assert str(got.type) == str(expected.type), key
        if key in VARIANTS:
            expected, got = expected[:FIRST_CLUSTER], got[:FIRST_CLUSTER]
        assert got.to_list() == expected.to_list(), key


def test_a_table_of_all_is_that_of_uproot() -> None:
    path, name = FILES[0]
    expected = uproot.open(path)[name].arrays(entry_start=30, entry_stop=90)
    got = farroot.open({path: name}).arrays(entry_start=30, entry_stop=90)
    assert got.fields == expected.fields
    names = [field for field in got.fields if field not in VARIANTS]
    assert got[names].to_list() == expected[names].to_list()


def test_named_fields_come_in_those_that_they_are_in() -> None:
    path, name = FILES[0]
    names = ["both.track.weight", "hits.x", "f32"]
    expected = uproot.open(path)[name].arrays(filter_name=names)
    got = farroot.open(f"{path}:{name}").arrays(names)
    assert str(got.type) == str(expected.type)
    assert got.to_list() == expected.to_list()
    inner = farroot.open(f"{path}:{name}")["both.track.hits.x"]
    theirs = uproot.open(path)[name]["both"]["track"]["hits"]["x"]
    assert inner.array().to_list() == theirs.array().to_list()


def test_steps_are_the_whole() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    steps = list(ntuple.iterate(["numbers", "maybe", "variant"], step_size=33))
    assert [len(step) for step in steps] == [33] * 6 + [2]
    whole = ntuple.arrays(["numbers", "maybe", "variant"])
    assert ak.concatenate(steps).to_list() == whole.to_list()


def test_other_libraries() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    flat = ntuple.arrays(["i32", "maybe", "fixed"], library="np")
    assert flat["i32"].dtype == np.int32
    assert flat["fixed"].shape == (200, 3)
    assert flat["maybe"].tolist()[:3] == [None, 1.0, 2.0]
    assert list(ntuple.arrays(["i32", "f64"], library="pd").columns) == ["i32", "f64"]


def test_what_cannot_be_read_is_named() -> None:
    ntuple = farroot.open(f"{TESTDATA / 'ntuple_streamed.root'}:events")
    with pytest.warns(farroot.UnreadableWarning, match="TNamed"):
        assert ntuple.arrays().fields == ["number"]
    with pytest.raises(farroot.UnsupportedError, match="TNamed"):
        ntuple["object"].array()
    with pytest.raises(farroot.KeyInFileError, match="number"):
        ntuple["numbr"]


def test_it_survives_pickle() -> None:
    path, name = FILES[0]
    ntuple = pickle.loads(pickle.dumps(farroot.open(f"{path}:{name}")))
    assert ntuple["i32"].array().to_list()[100] == 0
    assert "hits.x" in ntuple
    assert "nothing" not in ntuple
