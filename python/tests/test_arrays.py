"""Arrays that farroot reads, beside those that uproot reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pytest
import uproot
from hypothesis import given, settings
from hypothesis import strategies as st

import farroot
from farroot import _core

from .conftest import ENTRIES
from .same import same_awkward, same_numpy

#: Enough for columns to look for others with the same offsets.
ROWS = 6000
ENTRY = st.one_of(st.none(), st.integers(-ENTRIES - 10, ENTRIES + 10))


@pytest.fixture(scope="module")
def tree(made: Path) -> farroot.Tree:
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    return tree


@pytest.fixture(scope="module")
def theirs(made: Path) -> Any:
    return uproot.open(f"{made}:events")


def test_awkward(tree: farroot.Tree, theirs: Any) -> None:
    ours, expected = tree.arrays(), theirs.arrays()
    assert ak.fields(ours) == ak.fields(expected)
    assert same_awkward(ours, expected)
    for branch in tree:
        assert same_awkward(branch.array(), theirs[branch.name].array()), branch.name


def test_numpy(tree: farroot.Tree, theirs: Any) -> None:
    assert same_numpy(tree.arrays(library="np"), theirs.arrays(library="np"))
    for branch in tree:
        array = branch.array(library="np")
        assert same_numpy(array, theirs[branch.name].array(library="np")), branch.name


def test_pandas(tree: farroot.Tree, theirs: Any) -> None:
    flat = ["int8", "uint64", "float32", "float64", "bool"]
    ours = tree.arrays(flat, library="pd", entry_start=10, entry_stop=700)
    expected = theirs.arrays(flat, library="pd", entry_start=10, entry_stop=700)
    pd.testing.assert_frame_equal(ours, expected)
    pd.testing.assert_series_equal(
        tree["int8"].array(library="pd", entry_start=-5),
        theirs["int8"].array(library="pd", entry_start=-5),
    )
    objects = tree.arrays(["jagged", "fixed", "text"], library="pd", entry_stop=50)
    for name in objects.columns:
        entries = theirs[name].array(library="np", entry_stop=50)
        assert all(np.array_equal(a, b) for a, b in zip(objects[name], entries, strict=True))


@settings(max_examples=60, deadline=None)
@given(start=ENTRY, stop=ENTRY)
def test_entry_ranges_are_uproots(made: Path, start: int | None, stop: int | None) -> None:
    names = ["int16", "jagged", "text", "matrix"]
    ours = farroot.open(f"{made}:events")
    assert isinstance(ours, farroot.Tree)
    with uproot.open(f"{made}:events") as theirs:
        expected = theirs.arrays(names, entry_start=start, entry_stop=stop)
    assert same_awkward(ours.arrays(names, entry_start=start, entry_stop=stop), expected)


def test_expressions_name_columns_as_uproot(tree: farroot.Tree, theirs: Any) -> None:
    assert ak.fields(tree.arrays("int8")) == ["int8"]
    assert ak.fields(tree.arrays(["text", "int8", "text"])) == ["text", "int8"]
    assert ak.fields(tree.arrays(["float*", "int8"])) == ["float32", "float64", "int8"]
    for wanted in ("*int*", "/f.*/", ["bool", "jag*"], "absent"):
        ours, expected = tree.arrays(filter_name=wanted), theirs.arrays(filter_name=wanted)
        assert ak.fields(ours) == ak.fields(expected)
    assert ak.fields(tree.arrays(filter_typename="float*")) == ak.fields(
        theirs.arrays(filter_typename="float*")
    )


@pytest.mark.parametrize("library", ["ak", "np", "pd"])
def test_containers(tree: farroot.Tree, theirs: Any, library: Any) -> None:
    names = ["int8", "float32"]
    containers: tuple[Any, ...] = (tuple, list, dict)
    for how in containers:
        ours = tree.arrays(names, library=library, how=how)
        expected = theirs.arrays(names, library=library, how=how)
        assert type(ours) is type(expected) is how
        if how is dict:
            assert list(ours) == list(expected)
            ours, expected = ours.values(), expected.values()
        for mine, other in zip(ours, expected, strict=True):
            assert type(mine) is type(other)
            assert np.array_equal(np.asarray(mine), np.asarray(other))


def test_zip_puts_lists_of_equal_counts_together(tree: farroot.Tree) -> None:
    zipped = tree.arrays(["jagged", "other", "int8"], how="zip")
    assert str(zipped.type.content) == (
        "{int8: int8, jagged0: var * {jagged: float32, other: int64}}"
    )
    assert zipped["jagged0", "other"].tolist() == tree["other"].array().tolist()
    with pytest.raises(farroot.InvalidArgumentError):
        tree.arrays("int8", how="zip", library="np")


def test_zip_names_are_uproots(corpus: Path) -> None:
    ours = farroot.open(f"{corpus / 'uproot-HZZ.root'}:events")
    assert isinstance(ours, farroot.Tree)
    theirs = uproot.open(f"{corpus / 'uproot-HZZ.root'}:events")
    names = ["NMuon", "Muon_Px", "Muon_Py", "Jet_Px", "Jet_Py", "Photon_E", "Photon_Px"]
    assert same_awkward(ours.arrays(names, how="zip"), theirs.arrays(names, how="zip"))


def test_branches_that_group_others_come_nested(corpus: Path) -> None:
    name = "uproot-issue-85.root"
    file, ours = uproot.open(corpus / name), farroot.open(corpus / name)
    assert isinstance(ours, farroot.File)
    nested = 0
    for key in file.keys(filter_classname="TTree"):
        for branch in file[key].branches:
            mine = ours[key][branch.name]
            assert isinstance(mine, farroot.Branch)
            if not mine.is_group or not all(b.is_readable for b in mine.values() if not b.is_group):
                continue
            assert same_awkward(mine.array(), branch.array()), branch.name
            nested += 1
    assert nested


#: Only their data show that there are objects which nobody describes.
OPAQUE = {"triggeredHits", "snapshotHits"}


def opaque(corpus: Path) -> str:
    return f"{corpus / 'uproot-issue407.root'}:KM3NET_EVENT"


def test_what_cannot_be_read_is_left_out_with_a_warning(corpus: Path) -> None:
    tree = farroot.open(opaque(corpus))
    assert isinstance(tree, farroot.Tree)
    with pytest.warns(farroot.UnreadableWarning) as caught:
        arrays = tree.arrays(how=dict)
    assert {warning.filename for warning in caught} == {__file__}
    told = " ".join(str(warning.message) for warning in caught)
    assert all(name in told for name in OPAQUE)
    assert arrays
    assert not OPAQUE & set(arrays)
    for name in OPAQUE:
        with pytest.raises(NotImplementedError, match=name):
            tree.arrays([name])
        with pytest.raises(farroot.UnsupportedError, match=name):
            tree[name].array()


def test_what_cannot_be_read_is_left_out_of_steps_and_files_and_streams(corpus: Path) -> None:
    tree = farroot.open(opaque(corpus))
    assert isinstance(tree, farroot.Tree)
    with pytest.warns(farroot.UnreadableWarning):
        whole = tree.arrays()
    assert not OPAQUE & set(whole.fields)
    with pytest.warns(farroot.UnreadableWarning):
        steps = list(tree.iterate(step_size=1))
    assert len(steps) > 1
    assert same_awkward(ak.concatenate(steps), whole)
    with pytest.warns(farroot.UnreadableWarning):
        twice = farroot.concatenate([opaque(corpus), tree])
    assert same_awkward(twice, ak.concatenate([whole, whole]))
    with pytest.warns(farroot.UnreadableWarning):
        some = farroot.concatenate([opaque(corpus), tree], entry_start=2, entry_stop=len(whole) + 1)
    assert same_awkward(some, ak.concatenate([whole[2:], whole[:1]]))
    pytest.importorskip("pyarrow")
    plain = lambda branch: branch.name != "Evt" and not branch.is_group  # noqa: E731
    with pytest.warns(farroot.UnreadableWarning):
        table = tree.to_arrow(filter_branch=plain, step_size=1).read_all()
    assert table.num_rows == len(whole)
    assert not OPAQUE & set(table.column_names)


def test_a_glob_leaves_out_what_a_name_does_not(corpus: Path) -> None:
    tree = farroot.open(opaque(corpus))
    assert isinstance(tree, farroot.Tree)
    with pytest.warns(farroot.UnreadableWarning):
        assert not OPAQUE & set(tree.arrays("*").fields)
    with pytest.raises(farroot.UnsupportedError, match="triggeredHits"):
        tree.arrays(["*", "triggeredHits"])


def test_every_entry_range_may_be_empty(tree: farroot.Tree, theirs: Any) -> None:
    ours = tree.arrays(entry_start=5, entry_stop=5)
    assert same_awkward(ours, theirs.arrays(entry_start=5, entry_stop=5))
    numpy = tree.arrays(entry_start=5, entry_stop=5, library="np")
    expected = theirs.arrays(entry_start=5, entry_stop=5, library="np")
    assert same_numpy(numpy, expected)


def test_wrong_arguments_are_told(tree: farroot.Tree) -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="library"):
        tree.arrays("int8", library="cupy")  # type: ignore[call-overload]
    with pytest.raises(farroot.InvalidArgumentError, match="how"):
        tree.arrays("int8", how="outer")
    with pytest.raises(farroot.InvalidArgumentError):
        tree.arrays([3])  # type: ignore[list-item]
    with pytest.raises(farroot.InvalidArgumentError, match="whole number"):
        tree.arrays("int8", entry_start=1.5)


def test_awkward_arrays_share_the_engines_memory(tree: farroot.Tree) -> None:
    from farroot._libraries.awkward import to_layout

    names = ("float64", "bool", "matrix", "jagged", "text")
    live: Any = tree._live()
    asked = _core.Request([_core.ColumnRequest(name) for name in names])
    columns = live.read(asked, 0, ENTRIES).columns
    flat, boolean, matrix, jagged, text = columns
    assert np.shares_memory(to_layout(flat).data, flat.array)
    assert np.shares_memory(to_layout(boolean).data, boolean.array)
    assert np.shares_memory(to_layout(matrix).content.content.data, matrix.array)
    assert np.shares_memory(to_layout(jagged).offsets.data, jagged.offsets)
    assert np.shares_memory(to_layout(jagged).content.data, jagged.content.array)
    assert np.shares_memory(to_layout(text).offsets.data, text.offsets)
    assert np.shares_memory(to_layout(text).content.data, text.bytes)
    record = tree.arrays(["float64"])
    assert record.layout.content("float64").data.flags.writeable


def test_numpy_arrays_share_the_engines_memory(tree: farroot.Tree) -> None:
    from farroot._libraries.numpy import to_numpy

    asked = _core.Request([_core.ColumnRequest(name) for name in ("float64", "jagged")])
    live: Any = tree._live()
    flat, jagged = live.read(asked, 0, ENTRIES).columns
    assert to_numpy(flat) is flat.array
    lists = to_numpy(jagged)
    assert all(np.shares_memory(lists[n], jagged.content.array) for n in range(9) if len(lists[n]))


def test_the_report_counts_what_was_read(made: Path) -> None:
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    opening = tree.report()["bytes_received"]
    tree.arrays("float64")
    report = tree.report()
    # Baskets that came with the opening are not fetched again.
    assert report["bytes_received"] >= tree["float64"].compressed_bytes
    assert opening <= report["bytes_received"] <= made.stat().st_size
    assert report["requests"] >= 1
    assert sum(source["failures"] for source in report["sources"]) == 0
    assert sum(source["requests"] for source in report["sources"]) == report["requests"]
    assert sum(report["time_s"].values()) == pytest.approx(report["wall_s"])
    assert report["bytes_baskets"] == report["bytes_received"] - opening
    assert "serial round trip" in str(report)
    assert farroot.report()["requests"] >= report["requests"]
    json.dumps(dict(report))


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with three columns of lists that have one counter, and one with its own, which is the
    same for 5,000 entries."""
    path = tmp_path_factory.mktemp("counted") / "counted.root"
    random = np.random.default_rng(3)
    counts = random.poisson(1.5, ROWS)
    numbers = {
        name: ak.unflatten(random.normal(size=counts.sum()).astype(kind), counts)
        for name, kind in (("x", "f4"), ("y", "f8"), ("n", "i2"))
    }
    counts[5000:] += 1
    columns = {"hit": ak.zip(numbers), "lone": ak.unflatten(np.arange(counts.sum()), counts)}
    types = {name: column.type.content for name, column in columns.items()}
    with uproot.recreate(path) as file:
        tree = file.mktree("events", types)
        for begin in range(0, ROWS, 700):
            tree.extend({name: column[begin : begin + 700] for name, column in columns.items()})
    return path


@pytest.mark.parametrize(("start", "stop"), [(0, ROWS), (100, 4500)])
def test_columns_of_the_same_lengths_have_one_set_of_offsets(
    counted: Path, start: int, stop: int
) -> None:
    def offsets(array: ak.Array) -> np.ndarray:
        return np.asarray(array.layout.offsets.data)

    tree = farroot.open(f"{counted}:events")
    with uproot.open(f"{counted}:events") as theirs:
        expected = theirs.arrays(entry_start=start, entry_stop=stop)
        ours = tree.arrays(entry_start=start, entry_stop=stop)
        assert same_awkward(ours, expected)
        both = theirs.arrays(library="np", entry_start=start, entry_stop=stop)
        assert same_numpy(tree.arrays(library="np", entry_start=start, entry_stop=stop), both)
    common = [offsets(ours[name]) for name in ("hit_x", "hit_y", "hit_n")]
    places = {each.ctypes.data for each in (*common, offsets(ours["lone"]))}
    # Who was first decides whose offsets the others leave where the lists begin to differ.
    if stop <= 5000:
        assert len(places) == 1
        assert not any(each.flags.writeable for each in common), "one would change the others"
    else:
        assert len(places) > 1
    zipped = tree.arrays(["hit_x", "hit_n"], how="zip", entry_start=start, entry_stop=stop)
    assert zipped.fields == ["hit"]
    assert same_awkward(zipped["hit", "x"], expected["hit_x"])
    assert same_awkward(zipped["hit", "n"], expected["hit_n"])
    del tree, ours
    assert common[0][-1] == len(ak.flatten(expected["hit_x"]))
    for number, batch in enumerate(farroot.iterate(f"{counted}:events", step_size=5000)):
        assert same_awkward(batch["hit_y"], expected_lists(counted, "hit_y", number * 5000, 5000))


def expected_lists(path: Path, name: str, start: int, count: int) -> ak.Array:
    with uproot.open(f"{path}:events") as tree:
        return tree[name].array(entry_start=start, entry_stop=start + count)


def test_a_text_that_is_no_utf_8_stays_the_same_in_pandas(tmp_path: Path) -> None:
    """Regression: one such text made the whole DataFrame an error, that of pandas."""
    path, texts = tmp_path / "t.root", ["plain", "bad\udcff\udcfe", "é"]
    with farroot.recreate(path) as file:
        file["t"] = {"s": texts, "n": [1, 2, 3]}
    tree = farroot.open(f"{path}:t")
    assert tree["s"].array(library="np").tolist() == texts
    assert tree["s"].array(library="pd").tolist() == texts
    frame = tree.arrays(library="pd")
    assert (frame["s"].tolist(), frame["n"].tolist()) == (texts, [1, 2, 3])
