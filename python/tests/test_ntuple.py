"""RNTuples, compared with uproot's arrays of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .skips import corpus_folder

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
FILES = [
    (TESTDATA / "ntuple_fields.root", "events"),
    (TESTDATA / "ntuple_plain.root", "events"),
    (TESTDATA / "ntuple_columns.root", "events"),
]
#: uproot has half-precision reals, farroot gives them in single precision.
HALF = ("Real16",)
#: Quantised reals of a double field are doubles, as in ROOT; uproot gives them in single precision.
QUANTISED = ("Quant20",)
#: uproot takes positions in variants, which count from the beginning of their cluster, for ones of
#: the whole file: it is right about the first cluster only. Variants that ROOT wrote are tested in
#: Rust.
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
    assert isinstance(ours, farroot.RNTuple)
    assert ours.num_entries == theirs.num_entries
    assert ours.keys() == theirs.keys()
    assert ours.typenames() == theirs.typenames()
    for key in theirs.keys(recursive=False):
        expected, got = theirs[key].array(), ours[key].array()
        if key not in HALF:
            got = ak.values_astype(got, np.float32) if key in QUANTISED else got
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


CUT = "(i32 % 7 == 3) & (f64 > -20)"


def test_a_cut_leaves_what_the_same_mask_leaves() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    names = ["numbers", "hits", "f64", "maybe"]
    everything = ntuple.arrays([*names, "i32"])
    mask = (everything["i32"] % 7 == 3) & (everything["f64"] > -20)
    assert 0 < ak.sum(mask) < len(mask)
    expected = everything[mask][names].to_list()
    assert ntuple.arrays(names, CUT).to_list() == expected
    for step_size in (33, 1_000, "1 kB"):
        steps = list(ntuple.iterate(names, CUT, step_size=step_size, report=True))
        assert ak.concatenate([array for array, _ in steps]).to_list() == expected
        assert [report.start for _, report in steps[1:]] == [
            report.stop for _, report in steps[:-1]
        ]
    frame = ntuple.arrays(["f64"], CUT, library="pd")
    assert frame.index.to_list() == np.flatnonzero(mask).tolist()


def test_formulas_and_aliases() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    both = ntuple.arrays(
        ["double * i32", "hits.x + 1", "i32"], aliases={"double": "f64 * 2"}, entry_stop=50
    )
    plain = ntuple.arrays(["f64", "i32", "hits.x"], entry_stop=50)
    assert both.fields == ["i32", "double * i32", "hits.x + 1"]
    assert both["double * i32"].to_list() == (plain["f64"] * 2 * plain["i32"]).to_list()
    assert both["hits.x + 1"].to_list() == (plain["hits", "x"] + 1).to_list()
    with pytest.raises(farroot.KeyInFileError, match="nothing"):
        ntuple.arrays("i32", "nothing > 3")
    with pytest.raises(farroot.InvalidArgumentError, match="one bool an entry"):
        ntuple.arrays("i32", "f64 + 1")


def test_many_files_as_one() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    files = [{path: name}, ntuple]
    names = ["hits.x", "i32"]
    one = ntuple.arrays(names).to_list()
    assert farroot.concatenate(files, names).to_list() == one + one
    assert farroot.concatenate(files, names, entry_start=150, entry_stop=-150).to_list() == (
        one[150:] + one[:50]
    )
    assert [entries for _, _, entries in farroot.num_entries(files)] == [200, 200]
    steps = list(farroot.iterate(files, names, "i32 % 2 == 0", step_size=90, report=True))
    assert [report.global_entry_start for _, report in steps] == [0, 90, 180, 200, 290, 380]
    kept = [entry for entry in one if entry["i32"] % 2 == 0]
    assert ak.concatenate([array for array, _ in steps]).to_list() == kept + kept
    assert farroot.concatenate(files, filter_branch=lambda field: field.name == "i32").fields == [
        "i32"
    ]


def test_a_tree_does_not_continue_an_ntuple(made: Path) -> None:
    path, name = FILES[0]
    with pytest.raises(farroot.InvalidArgumentError, match="is a tree"):
        farroot.concatenate([{path: name}, f"{made}:events"], "i32")


def test_other_libraries() -> None:
    path, name = FILES[0]
    ntuple = farroot.open(f"{path}:{name}")
    flat = ntuple.arrays(["i32", "maybe", "fixed"], library="np")
    assert flat["i32"].dtype == np.int32
    assert flat["fixed"].shape == (200, 3)
    assert flat["maybe"].tolist()[:3] == [None, 1.0, 2.0]
    assert list(ntuple.arrays(["i32", "f64"], library="pd").columns) == ["i32", "f64"]


def test_objects_in_the_streamer_form() -> None:
    """uproot does not read them; for other classes, see the tests of files that ROOT writes."""
    ntuple = farroot.open(f"{TESTDATA / 'ntuple_streamed.root'}:events")
    assert ntuple.arrays().fields == ["number", "object"]
    assert ntuple["object"].array().to_list() == [{"fName": "", "fTitle": ""}] * 5
    with pytest.raises(farroot.KeyInFileError, match="number"):
        ntuple["numbr"]


def test_fields_read_what_is_in_them() -> None:
    path, name = FILES[0]
    ours, theirs = farroot.open(f"{path}:{name}"), uproot.open(path)[name]
    cases: list[tuple[str, dict[str, Any]]] = [
        ("both", {}),
        ("hits", {}),
        ("f32", {}),
        ("both", {"filter_name": "track*"}),
        ("both", {"filter_typename": "double", "entry_start": 30, "entry_stop": 90}),
        ("hits", {"filter_field": lambda field: field.name == "x"}),
    ]
    for field, options in cases:
        expected, got = theirs[field].arrays(**options), ours[field].arrays(**options)
        assert str(got.type) == str(expected.type), (field, options)
        assert got.to_list() == expected.to_list()
    x = ours["hits"].arrays(filter_branch=lambda field: field.name == "x")
    assert x.to_list() == ours.arrays("hits.x").to_list()
    whole = ours["both"].arrays(["track.weight", "two.n*"])
    assert str(whole.type) == str(
        theirs.arrays(filter_name=["both.track.weight", "both.two.n*"]).type
    )
    steps = list(ours["both"].iterate("track.weight", "f32 > 3", step_size=60))
    assert ak.concatenate(steps).to_list() == ours.arrays("both.track.weight", "f32 > 3").to_list()
    with pytest.raises(farroot.KeyInFileError, match="did you mean"):
        ours["both"].arrays("track.wieght")


def test_fields_know_where_they_are() -> None:
    path, name = FILES[0]
    ours, theirs = farroot.open(f"{path}:{name}"), uproot.open(path)[name]
    for key in theirs.keys():  # noqa: SIM118, not of the mapping's own
        field = ours[key]
        assert field.path == key
        assert field.top_level == theirs[key].top_level
        assert ours[key.replace(".", "/")] == field
        assert field.index == [each.path for each in field.parent.fields].index(key)
        for below in field:
            assert field[below.name] == below == ours["/" + below.path]
    assert ours["weight"].path == "both.track.weight"
    assert ours["both.two"]["weight"].path == "both.two.weight"
    with pytest.raises(farroot.KeyInFileError):
        ours["/weight"]
    with pytest.raises(farroot.KeyInFileError):
        ours["hits"]["weight"]


def test_entries_that_fit_into_memory() -> None:
    ntuple = farroot.open(f"{FILES[0][0]}:events")
    assert ntuple.num_entries_for(8 * 50, "f64") == 50
    assert ntuple.num_entries_for("1 kB", filter_name=["f32", "i32"]) == 125
    assert ntuple.num_entries_for(1, "f64") == 1
    assert ntuple.num_entries_for("1 MB", "f64", entry_start=7, entry_stop=7) == 0


def test_it_survives_pickle() -> None:
    path, name = FILES[0]
    ntuple = pickle.loads(pickle.dumps(farroot.open(f"{path}:{name}")))
    assert ntuple["i32"].array().to_list()[100] == 0
    assert "hits.x" in ntuple
    assert "nothing" not in ntuple


@pytest.mark.parametrize("name", ["ntuple_fields.root", "ntuple_plain.root"])
def test_a_map_has_every_page(name: str) -> None:
    file = farroot.open(TESTDATA / name)
    records = file.map()
    assert sum(record.stored_bytes for record in records) >= file.size
    assert records[0].classname == "header"
    pages = [record for record in records if record.classname == "page"]
    assert {record.name.split("/")[1].split(".")[0] for record in pages} >= {"i32", "hits"}
    assert all(record.compression for record in pages)


def test_lists_of_the_same_lengths_have_one_set_of_offsets(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    counts = random.poisson(1.5, 9000)
    other = random.permutation(counts)
    columns = {
        "x": ak.unflatten(random.normal(size=counts.sum()), counts),
        "y": ak.unflatten(random.integers(0, 99, counts.sum(), dtype=np.int32), counts),
        "z": ak.unflatten(random.normal(size=other.sum()), other),
    }
    with uproot.recreate(tmp_path / "lists.root") as file:
        ntuple = file.mkrntuple("n", {name: each[:5000] for name, each in columns.items()})
        ntuple.extend({name: each[5000:] for name, each in columns.items()})
    ours = farroot.open(f"{tmp_path / 'lists.root'}:n").arrays()
    for name, column in columns.items():
        assert ak.array_equal(ours[name], column), name
    offsets = {name: ours[name].layout.offsets.data for name in columns}
    assert offsets["x"].ctypes.data == offsets["y"].ctypes.data != offsets["z"].ctypes.data


def test_a_field_in_use_is_one_object() -> None:
    """Users of uproot compare fields with ``is``: each look-up returns the same object."""
    ntuple = farroot.open({TESTDATA / "ntuple_fields.root": "events"})
    assert ntuple["i32"] is ntuple["i32"]
    assert ntuple["both"].fields[0].parent is ntuple["both"]
