"""Reading in steps, and many files as one."""

from __future__ import annotations

import gc
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

from .conftest import ENTRIES
from .same import same_awkward, same_numpy

NAMES = ["int32", "jagged", "text"]


@pytest.fixture
def tree(made: Path) -> farroot.Tree:
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    return tree


@settings(max_examples=25, deadline=None)
@given(step=st.integers(1, ENTRIES + 10), start=st.integers(0, 500), length=st.integers(0, 600))
def test_steps_of_entries_are_uproots(made: Path, step: int, start: int, length: int) -> None:
    step = max(step, (length + 19) // 20)
    arguments: dict[str, Any] = {
        "entry_start": start,
        "entry_stop": start + length,
        "step_size": step,
        "report": True,
    }
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    with uproot.open(f"{made}:events") as theirs:
        expected = list(theirs.iterate(NAMES, **arguments))
    steps = list(tree.iterate(NAMES, **arguments))
    assert len(steps) == len(expected)
    for (ours, mine), (other, report) in zip(steps, expected, strict=True):
        assert same_awkward(ours, other)
        assert (mine.start, mine.stop) == (report.start, report.stop)
        assert mine.tree_entry_start == report.tree_entry_start


def test_steps_of_bytes(tree: farroot.Tree) -> None:
    whole = tree.arrays(NAMES)
    for size in ("1 kB", "20 kB", "1 GB"):
        steps = list(tree.iterate(NAMES, step_size=size))
        assert ak.array_equal(ak.concatenate(steps), whole)
        if size == "20 kB":
            assert len(steps) > 1
            assert max(step.nbytes for step in steps) < 4 * 20_000
    assert len(list(tree.iterate(NAMES, step_size="1 GB"))) == 1


def test_a_step_of_bytes_of_an_rntuple_takes_so_many(corpus: Path) -> None:
    """uproot counts those of pages: its steps take up to three times as many in memory."""
    path = corpus / "Run2012BC_DoubleMuParked_Muons_1000evts_rntuple_v1-0-0-0.root"
    for size in (5_000, 10_000, 40_000):
        steps = farroot.open(path)["Events"].iterate(step_size=f"{size} B")
        bytes_of = [sum(ak.to_packed(step[name]).nbytes for name in step.fields) for step in steps]
        whole = bytes_of[:-1]
        assert 0.8 * size < sum(whole) / len(whole) < 1.1 * size


def test_steps_that_make_no_sense(tree: farroot.Tree) -> None:
    for wrong in (0, -3, 1.5, "many", "3 parsec", None):
        with pytest.raises(farroot.InvalidArgumentError):
            tree.iterate(NAMES, step_size=wrong)  # type: ignore[arg-type]


def test_no_columns_are_no_steps(tree: farroot.Tree, made: Path) -> None:
    assert list(tree.iterate(filter_name="absent")) == []
    assert list(farroot.iterate(f"{made}:events", filter_name="absent")) == []


def test_an_iteration_may_be_left_early(tree: farroot.Tree) -> None:
    for _ in range(20):
        for step in tree.iterate(NAMES, step_size=50):
            assert len(step) == 50
            break
    steps = tree.iterate(NAMES, step_size=50)
    next(steps)
    del steps
    gc.collect()
    assert len(tree.arrays(NAMES)) == ENTRIES


def test_many_files(several: list[Path]) -> None:
    files = {str(path): "events" for path in several}
    expected = uproot.concatenate(files, NAMES)
    assert same_awkward(farroot.concatenate(files, NAMES), expected)
    reports = []
    arrays = []
    for array, report in farroot.iterate(files, NAMES, step_size=200, report=True):
        assert len(array) == report.stop - report.start == len(array)
        arrays.append(array)
        reports.append((Path(report.file_path).name, report.tree_entry_start, report.start))
    assert same_awkward(ak.concatenate(arrays), expected)
    assert reports == [
        ("part0.root", 0, 0),
        ("part0.root", 200, 200),
        ("part1.root", 0, 300),
        ("part2.root", 0, 301),
        ("part2.root", 200, 501),
        ("part2.root", 400, 701),
    ]


def test_ways_to_say_files(several: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = several[0].parent
    monkeypatch.chdir(folder)
    tree = farroot.open(f"{several[1]}:events")
    for files in (
        [f"{path}:events" for path in several],
        several,
        [several[0], tree, {several[2]: "events"}],
        f"{folder}/part*.root:events",
        "part[012].root:events",
        "part{0,1,2}.root:events",
        {"part*.root": "events"},
        f"{folder}/part*.root",
    ):
        counted = [entries for _, _, entries in farroot.num_entries(files)]
        assert counted == [300, 1, 500], files
        assert len(farroot.concatenate(files, "int8")) == 801
    with pytest.raises(FileNotFoundError, match="absent"):
        farroot.concatenate("absent*.root:events", "int8")
    for wrong in (3, None, [3], {"part0.root": 3}):
        with pytest.raises(farroot.InvalidArgumentError):
            farroot.concatenate(wrong, "int8")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "stop"), [(None, None), (0, 0), (299, 302), (-10, None), (310, -5), (900, None)]
)
def test_ranges_over_many_files(several: list[Path], start: int | None, stop: int | None) -> None:
    files = [f"{path}:events" for path in several]
    ours = farroot.concatenate(files, NAMES, entry_start=start, entry_stop=stop)
    whole = uproot.concatenate(files, NAMES)
    assert same_awkward(ours, whole[slice(start, stop)])


@pytest.mark.parametrize("library", ["np", "pd"])
def test_other_libraries_over_many_files(several: list[Path], library: Any) -> None:
    files = [f"{path}:events" for path in several]
    names = ["int32", "float64"]
    ours = farroot.concatenate(files, names, library=library)
    expected = uproot.concatenate(files, names, library=library)
    if library == "pd":
        pd.testing.assert_frame_equal(ours, expected)
    else:
        assert same_numpy(ours, expected)
    containers: tuple[Any, ...] = (tuple, list, dict)
    for how in containers:
        grouped = farroot.concatenate(files, names, library=library, how=how)
        assert type(grouped) is how
        first = grouped["int32"] if isinstance(grouped, dict) else grouped[0]
        assert np.array_equal(np.asarray(first), np.asarray(expected["int32"]))


def test_errors_name_the_file(several: list[Path], tmp_path: Path, nested: Path) -> None:
    absent = tmp_path / "absent.root"
    with pytest.raises(farroot.NotFoundError, match=r"absent\.root"):
        farroot.concatenate([f"{several[0]}:events", f"{absent}:events"], "int8")
    with pytest.raises(farroot.KeyInFileError, match=r"nested\.root"):
        farroot.concatenate([f"{several[0]}:events", f"{nested}:top"], "int8")
    with pytest.raises(farroot.KeyInFileError, match=r"nested\.root"):
        farroot.concatenate([f"{several[0]}:events", f"{nested}:events"], "int8")


def test_steps_arrive_before_a_later_file_fails(several: list[Path], tmp_path: Path) -> None:
    steps = farroot.iterate([f"{several[0]}:events", f"{tmp_path / 'no.root'}:events"], "int8")
    assert len(next(steps)) == 300
    with pytest.raises(FileNotFoundError):
        next(steps)
    with pytest.raises(StopIteration):
        next(steps)


def spoilt(path: Path, tree: str, branch: str, basket: int) -> Path:
    """A copy of a file with the length of one basket's record destroyed."""
    with uproot.open(path) as file:
        at = int(file[tree][branch].member("fBasketSeek")[basket])
    data = bytearray(path.read_bytes())
    data[at : at + 4] = b"\x7f\xff\xff\xff"
    copy = path.with_name(f"spoilt-{path.name}")
    copy.write_bytes(data)
    return copy


def test_what_cannot_be_read_is_left_out_on_demand_and_told(
    several: list[Path], tmp_path: Path
) -> None:
    first = tmp_path / "first.root"
    first.write_bytes(several[0].read_bytes())
    bad = spoilt(first, "events", "int32", 1)
    missing = tmp_path / "missing.root"
    files = [f"{missing}:events", f"{bad}:events", f"{several[2]}:events"]
    options: dict[str, Any] = {"step_size": 50, "library": "np"}
    with pytest.raises(farroot.NotFoundError):
        list(farroot.iterate(files, "int32", **options))
    with pytest.raises(farroot.CorruptError):
        list(farroot.iterate(files[1:], "int32", **options))
    steps = farroot.iterate(files, "int32", report=True, on_error="report", **options)
    with pytest.warns(farroot.SkippedWarning) as caught:
        read = list(steps)
    assert {one.filename for one in caught} == {__file__}
    gone, *rest = steps.skipped
    assert (gone.file_path, gone.tree_entry_start) == (str(missing), None)
    assert isinstance(gone.error, farroot.NotFoundError)
    # The second basket holds entries 170 to 300.
    assert [(one.tree_entry_start, one.tree_entry_stop) for one in rest] == [
        (150, 200),
        (200, 250),
        (250, 300),
    ]
    as_json = json.loads(json.dumps(rest[0].as_dict()))
    assert (as_json["file_path"], as_json["error"]) == (str(bad), "CorruptError")
    with uproot.open(several[0]) as file:
        expected = file["events"]["int32"].array(library="np")
    assert np.concatenate([a["int32"] for a, _ in read[:3]]).tolist() == expected[:150].tolist()
    # Skipped entries count among the entries of all files.
    assert read[3][1].global_entry_start == 300
    assert read[-1][1].global_entry_stop == 800


def test_nothing_is_left_out_where_all_can_be_read(several: list[Path]) -> None:
    steps = farroot.iterate(several, "int32", on_error="report", library="np")
    assert (sum(len(step["int32"]) for step in steps), steps.skipped) == (801, [])
    with pytest.raises(farroot.InvalidArgumentError):
        farroot.iterate(several, on_error="ignore")  # type: ignore[arg-type]


def test_a_tree_s_own_steps_go_on_behind_what_cannot_be_read(
    several: list[Path], tmp_path: Path
) -> None:
    first = tmp_path / "first.root"
    first.write_bytes(several[0].read_bytes())
    bad = spoilt(first, "events", "int32", 1)
    tree = farroot.open(f"{bad}:events")
    options: dict[str, Any] = {"entry_start": 20, "entry_stop": 299, "step_size": 50}
    with pytest.raises(farroot.CorruptError):
        list(tree.iterate("int32", **options))
    # The second basket holds entries 170 to 300.
    expected = [(170, 220), (220, 270), (270, 299)]
    for table in (tree, tree["int32"]):
        steps = table.iterate(on_error="report", report=True, filter_name="int32", **options)
        with pytest.warns(farroot.SkippedWarning) as caught:
            read = [(told.tree_entry_start, told.tree_entry_stop) for _, told in steps]
        assert {one.filename for one in caught} == {__file__}
        assert read == [(20, 70), (70, 120), (120, 170)]
        gaps = [(one.tree_entry_start, one.tree_entry_stop) for one in steps.skipped]
        assert gaps == expected
        assert {one.file_path for one in steps.skipped} == {str(bad)}
    for wrong in ({"on_error": "ignore"}, {"on_error": "report", "virtual": True}):
        with pytest.raises(farroot.InvalidArgumentError):
            tree.iterate("int32", **wrong)


def test_the_first_step_says_that_no_file_matches(several: list[Path], tmp_path: Path) -> None:
    """For a pattern, `iterate` itself raised the error; for a name, the first step."""
    for name in ("absent.root", "absent*.root"):
        steps = farroot.iterate(f"{tmp_path}/{name}:events", "int8")
        with pytest.raises(farroot.NotFoundError, match="absent"):
            next(steps)
    friends = {"other": f"{tmp_path}/absent*.root:events"}
    steps = farroot.iterate(f"{several[0]}:events", "int8", friends=friends)
    with pytest.raises(farroot.NotFoundError, match="absent"):
        next(steps)


def test_what_is_concatenated_has_gaps_on_demand(several: list[Path], tmp_path: Path) -> None:
    first = tmp_path / "first.root"
    first.write_bytes(several[0].read_bytes())
    bad = spoilt(first, "events", "int32", 1)
    missing = tmp_path / "missing.root"
    files = [f"{missing}:events", f"{several[2]}:events", f"{bad}:events"]
    with pytest.raises(farroot.NotFoundError):
        farroot.concatenate(files, "int32", library="np")
    with pytest.warns(farroot.SkippedWarning):
        arrays, skipped = farroot.concatenate(files, "int32", library="np", on_error="report")
    with uproot.open(several[2]) as file:
        expected = file["events"]["int32"].array(library="np")
    assert arrays["int32"].tolist() == expected.tolist()
    left_out = [(one.file_path, one.tree_entry_start) for one in skipped]
    assert left_out == [(str(missing), None), (str(bad), 0)]
    with pytest.raises(farroot.InvalidArgumentError):
        farroot.concatenate(files, on_error="report", entry_stop=5)
    with pytest.warns(farroot.SkippedWarning):
        nothing, gaps = farroot.concatenate(files[2:], "int32", library="np", on_error="report")
    assert (len(nothing["int32"]), len(gaps)) == (0, 1)
    with pytest.warns(farroot.SkippedWarning), pytest.raises(farroot.NotFoundError):
        farroot.concatenate(files[:1], "int32", on_error="report")


def test_a_file_that_is_listed_twice_is_read_twice(several: list[Path]) -> None:
    """Of the same file twice, the entries came once: 300 of 600, without a word."""
    first, second = (f"{path}:events" for path in several[::2])
    folder = several[0].parent
    wholes: list[tuple[Any, int]] = [
        ([first, first], 600),
        ([first, second, first], 1100),
        ([[first, first], [second]], 1100),
        # Within one of them, a file that several patterns name is read once, as in uproot.
        (f"{folder}/part{{0,?}}.root:events", 801),
        ({several[0]: "events", f"{folder}/part?.root": "events"}, 801),
        ([f"{folder}/part?.root:events", first], 1101),
    ]
    for files, entries in wholes:
        whole = farroot.concatenate(files, ["int32", "text"])
        assert len(whole) == entries == len(uproot.concatenate(files, ["int32", "text"]))
        assert farroot.chain(files).num_entries == entries
        assert sum(count for *_, count in farroot.num_entries(files)) == entries
        offset = 0
        for step, report in farroot.iterate(files, ["int32"], step_size=70, report=True):
            assert (report.start, report.stop) == (offset, offset + len(step))
            offset = report.stop
        assert offset == entries
    tree = farroot.open(first)
    assert len(farroot.concatenate([tree, tree], ["int32"])) == 600
    part = farroot.concatenate([first, second, first], ["int32"], entry_start=700, entry_stop=-100)
    assert part.int32.to_list() == (
        farroot.open(second)["int32"].array(entry_start=400).to_list()
        + tree["int32"].array(entry_stop=200).to_list()
    )
