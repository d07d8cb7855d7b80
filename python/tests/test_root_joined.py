"""RNTuples of several hands: parallel writers, and mergers of files with different fields."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .root import by_root, written_by
from .test_merge_ntuples import checked

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `joined_ntuples.py`."""
    return written_by("joined_ntuples", tmp_path_factory.mktemp("joined"))


def test_clusters_of_a_parallel_writer(written: Path) -> None:
    ntuple = farroot.open(f"{written}/parallel.root:events")
    entries = ntuple.arrays().to_list()
    assert sorted(entry["number"] for entry in entries) == list(range(300))
    assert [entry["number"] for entry in entries] != list(range(300))
    for entry in entries:
        i = entry["number"]
        assert entry["points"] == [{"x": 0.5 * i, "id": i}] * (i % 3)
        assert entry["text"] == "t" * (i % 4)


def part(number: int) -> list[dict[str, Any]]:
    """The values of `part`."""

    def entry(n: int) -> dict[str, Any]:
        both = {
            "i": 5_000_000_000 * n,
            "text": "m" * (n % 5),
            "points": [{"x": 0.25 * n, "id": -n}] * (n % 3),
            "fixed": [n, 2 * n, 3 * n],
            "either": 0.5 * n if n % 2 else "e" * (n % 4),
            "n_points": n % 3,
        }
        if number == 0:
            return {**both, "real": n / 3}
        return {**both, "lists": [[n] * (n % 2)] * (n % 3), "maybe": n if n % 3 else None}

    return [entry(100 * number + k) for k in range(60)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [("union", [0, 1, 0]), ("union_as_first", [1, 0]), ("filter", [0, 0])],
)
def test_files_that_were_merged(written: Path, name: str, parts: list[int]) -> None:
    """Where a file had a field and another had not, it is zero."""
    zeros = {"real": 0.0, "lists": [], "maybe": None}
    ntuple = farroot.open(f"{written}/{name}.root:events")
    expected = [entry for number in parts for entry in part(number)]
    names = {key for entry in expected for key in entry}
    assert set(ntuple.keys(recursive=False)) == names
    for key in names:
        wanted = [entry.get(key, zeros.get(key)) for entry in expected]
        assert ntuple[key].array().to_list() == wanted, key
        assert ntuple[key].array(entry_start=50, entry_stop=130).to_list() == wanted[50:130], key


def late(i: int) -> dict[str, Any]:
    """The values of `late`; zeros where a field was not there yet."""
    of_lists, of_pairs = i >= 50, i >= 93
    return {
        "number": i,
        "list": [i] * (i % 3),
        "lists": [[i] * (i % 3)] * (i % 4) if of_lists else [],
        "text": "s" * (i % 5) if of_lists else "",
        "maybe": i if of_lists and i % 2 else None,
        "either": (i if i % 3 else f"x{i}") if of_pairs else None,
        "pairs": [(i + k, [i] * (i % 3)) if of_pairs else (0, []) for k in range(2)],
        "bits": [of_pairs and bool(i >> bit & 1) for bit in range(11)],
        "last": i if i >= 180 else 0,
    }


def test_entries_of_fields_that_come_late(written: Path) -> None:
    """In groups of two clusters: a field begins within a cluster, between two, or in the last."""
    ntuple = farroot.open(f"{written}/late.root:events")
    expected = [late(i) for i in range(200)]
    assert ntuple.arrays().to_list() == expected
    for start in range(0, 200, 13):
        for length in (1, 9, 40, 100):
            entries: dict[str, Any] = {"entry_start": start, "entry_stop": start + length}
            wanted = expected[start : start + length]
            assert ntuple.arrays(**entries).to_list() == wanted, entries
            for key in expected[0]:
                got = ntuple[key].array(**entries).to_list()
                assert got == [entry[key] for entry in wanted], (key, entries)
    for step in (7, 50, "1 kB"):
        steps = ntuple.iterate(step_size=step)
        assert [entry for batch in steps for entry in batch.to_list()] == expected, step
    kept = ntuple.arrays(["number", "pairs", "maybe"], cut="last > 185").to_list()
    assert kept == [{key: late(i)[key] for key in kept[0]} for i in range(186, 200)]


def test_two_rntuples_of_one_name(written: Path) -> None:
    file = farroot.open(written / "attributes.root")
    assert set(file.keys()) == {"events;1", "events;2"}
    for cycle in (1, 2):
        ntuple = file[f"events;{cycle}"]
        assert ntuple["number"].array().to_list() == [1000 * cycle + k for k in range(30)]
        runs = ntuple.attributes["runs"]
        assert runs.description == f"runs of cycle {cycle}"
        assert runs["run"].array()[0] == 100 * cycle
    assert file["events"]["number"].array()[0] == 2000
    assert file["events"].attributes["runs"]["run"].array()[0] == 200


def test_attribute_sets(written: Path) -> None:
    """No directory lists them; the footer of their RNTuple does."""
    ntuple = farroot.open(f"{written}/attributes.root:events")
    assert list(ntuple.attributes) == ["runs", "flags"]
    assert "runs" in ntuple.attributes
    assert "Runs" not in ntuple.attributes
    runs, flags = ntuple.attributes.values()
    assert (runs.name, runs.schema_version) == ("runs", (1, 0))
    assert runs.keys(recursive=False) == ["_rangeStart", "_rangeLen", "_userData"]
    assert runs["_userData"].keys() == ["run", "note", "points", "points.x", "points.id"]
    # Each time a range in another one, that one, and an empty one.
    ranges = [(10 * k + a, 10 * k + b) for k in range(3) for a, b in [(5, 8), (0, 10), (10, 10)]]
    assert runs.ranges.tolist() == [list(each) for each in ranges]
    points = [[{"x": 0.5 * k, "id": k}] * k for k in range(3)]
    assert runs.arrays()["_userData"].to_list() == [
        {"run": 200 + 10 * k + at, "note": "n" * k, "points": points[k]}
        for k in range(3)
        for at in range(3)
    ]
    assert flags["run"].array(library="np").tolist() == [65535, 65534, 65533]
    assert flags.ranges.tolist() == [[5, 10], [15, 20], [25, 30]]
    with pytest.raises(farroot.KeyInFileError, match=r"no attribute set .* did you mean runs"):
        ntuple.attributes["run"]


#: Prints the sets of an RNTuple as ROOT reads them: each entry, and those about each entry of it.
FOUND = """
import json
import sys
import ROOT
from tests.root import dictionary

ROOT.gErrorIgnoreLevel = ROOT.kError
dictionary.load(dictionary.HERE / "joined_ntuples.h")
reader = ROOT.RNTupleReader.Open(sys.argv[2], sys.argv[1])
found = {}
for name in sys.argv[3:]:
    attributes = reader.OpenAttributeSet(name)
    entry = attributes.CreateEntry()
    def noted(numbers):
        rows = []
        for number in numbers:
            row = attributes.LoadEntry(number, entry)
            run = entry["run"]
            rows.append([number, row.GetStart(), row.GetEnd(), int(run)])
        return rows
    of_each = [noted(attributes.GetAttributes(at)) for at in range(reader.GetNEntries())]
    found[name] = [noted(attributes.GetAttributes()), of_each]
print(json.dumps(found))
"""


def noted(path: Path, names: tuple[str, ...] = ("runs", "flags")) -> None:
    """Compares the sets of an RNTuple as farroot and ROOT read them."""
    found = json.loads(by_root(FOUND, path, "events", *names))
    events = farroot.open(f"{path}:events")
    assert tuple(events.attributes) == names
    for name in names:
        mine = events.attributes[name]
        runs = mine["run"].array().to_list()
        rows = [[n, *mine.ranges[n].tolist(), runs[n]] for n in range(mine.num_entries)]
        # ROOT has them in the order of where they start.
        rows.sort(key=lambda row: row[1])
        whole, of_each = found[name]
        assert sorted(whole) == sorted(rows)
        for entry, about in enumerate(of_each):
            assert sorted(row[0] for row in about) == sorted(mine.containing(entry).tolist())


def sets_of(path: Path, name: str) -> tuple[list[list[int]], list[Any]]:
    mine = farroot.open(f"{path}:events").attributes[name]
    return mine.ranges.tolist(), mine.arrays()["_userData"].to_list()


def test_root_finds_the_same_in_attribute_sets(written: Path) -> None:
    noted(written / "attributes.root")


@pytest.mark.parametrize("how", [{}, {"recompress": farroot.ZSTD(1)}, {"append": True}])
def test_merges_count_the_ranges_of_attribute_sets_anew(
    written: Path, tmp_path: Path, how: dict[str, Any]
) -> None:
    """They were left out."""
    source = written / "attributes.root"
    output = tmp_path / "merged.root"
    if "append" in how:
        farroot.merge(source, output)
    sources = [source] * (2 if "append" in how else 3)
    merged = farroot.merge(sources, output, **how)
    assert merged.tables == {"events": 90}
    assert not any("attribute" in note for note in merged.notes)
    for name in ("runs", "flags"):
        ranges, values = sets_of(source, name)
        shifted = [[start + by, stop + by] for by in (0, 30, 60) for start, stop in ranges]
        assert sets_of(output, name) == (shifted, 3 * values)
    noted(checked(output))
    events = farroot.open(f"{output}:events")
    assert events.attributes["runs"].description == "runs of cycle 2"
    assert events["number"].array().to_list() == 3 * [2000 + k for k in range(30)]


@pytest.mark.parametrize(
    "cut", ["number > 2005", "number % 3 == 1", "number == 2011", "number < 0", "number >= 2000"]
)
def test_skims_map_the_ranges_of_attribute_sets(written: Path, tmp_path: Path, cut: str) -> None:
    source = written / "attributes.root"
    output = tmp_path / "skimmed.root"
    skimmed = farroot.skim(f"{source}:events", output, ["number"], cut=cut)
    number = farroot.open(f"{source}:events")["number"].array().to_numpy()
    kept = eval(cut, {"number": number})
    rank = np.concatenate([[0], np.cumsum(kept)])
    lost = 0
    for name in ("runs", "flags"):
        ranges, values = sets_of(source, name)
        expected: tuple[list[list[int]], list[Any]] = ([], [])
        for (start, stop), value in zip(ranges, values, strict=True):
            mapped = [int(rank[start]), int(rank[stop])]
            if mapped[0] == mapped[1] and start != stop:
                lost += 1
                continue
            expected[0].append(mapped)
            expected[1].append(value)
        assert sets_of(output, name) == expected
    notes = [note for note in skimmed.notes if "no entry of their ranges is kept" in note]
    assert sum(int(note.partition(" entries are")[0].rpartition(" ")[2]) for note in notes) == lost
    noted(checked(output))


def test_columns_that_are_encoded_anew_name_the_sets_that_they_lack(
    written: Path, tmp_path: Path
) -> None:
    source = f"{written}/attributes.root:events"
    skimmed = farroot.skim(source, tmp_path / "tree.root", format="tree")
    assert any("attribute sets (runs, flags) are left out" in note for note in skimmed.notes)


def test_root_reads_attribute_sets_of_farroot(tmp_path: Path) -> None:
    path = tmp_path / "written.root"
    with farroot.recreate(path) as file:
        events = file.mkrntuple("events", {"number": np.arange(12)})
        runs = events.mkattributes("runs", {"run": "int32", "note": "string"}, "runs of farroot")
        runs.extend({"run": [7, 8], "note": ["a", ""]}, [(0, 5), (5, 12)])
        events.extend({"number": np.arange(12, 20)})
        runs.extend({"run": [9], "note": ["c"]}, np.array([[12, 20]]))
        with pytest.raises(farroot.UnsupportedError, match="is there already"):
            events.mkattributes("runs", {"run": "int32"})
        for wrong in ([(0, 21)], [(3, 2)], [(-1, 2)], [(0, 1), (1, 2)], [0, 1], [(0.5, 1)]):
            with pytest.raises(farroot.InvalidArgumentError):
                runs.extend({"run": [9], "note": ["c"]}, wrong)
    assert farroot.open(checked(path)).keys() == ["events;1"]
    noted(path, ("runs",))
    with farroot.update(path) as file:
        events = file["events"]
        with pytest.raises(farroot.UnsupportedError, match="is there already"):
            events.mkattributes("runs", {"run": "int32"})
        flags = events.mkattributes("flags", {"run": "uint16"})
        flags.extend({"run": [1]}, [(2, 3)])
    noted(checked(path), ("runs", "flags"))
    assert farroot.open(f"{path}:events").attributes["runs"].description == "runs of farroot"
    ranges, values = sets_of(path, "runs")
    assert ranges == [[0, 5], [5, 12], [12, 20]]
    noted_values = [(7, "a"), (8, ""), (9, "c")]
    assert values == [{"run": run, "note": note} for run, note in noted_values]


def test_attribute_sets_by_their_paths(written: Path) -> None:
    address = f"{written}/attributes.root:events"
    runs = farroot.open(f"{address};1/runs")
    assert runs["run"].array()[0] == 100
    assert runs.num_entries == 9
    with pytest.raises(farroot.KeyInFileError, match="attribute sets of events, which has runs"):
        farroot.open(f"{address}/run")
    assert farroot.open(f"{address}/number").array()[0] == 2000
    with pytest.raises(farroot.KeyInFileError, match=r"no field is called .* did you mean number"):
        farroot.open(f"{written}/parallel.root:events/numbre")
    both = farroot.concatenate([f"{address}/flags", f"{address};1/flags"], ["run", "_rangeLen"])
    noted = [{"_rangeLen": 5, "_userData": {"run": 65535 - k}} for k in range(3)]
    assert both.to_list() == noted * 2
    opened = farroot.open(f"{address};1").attributes["runs"]
    again = pickle.loads(pickle.dumps(opened))
    assert again.ranges.tolist() == opened.ranges.tolist()
    assert again["run"].array()[0] == 100
    assert not farroot.open(f"{written}/parallel.root:events").attributes
    assert not farroot.chain([address, address]).attributes


def test_which_attributes_belong_to_which_entries(written: Path) -> None:
    """As ROOT's `GetAttributes` and its kin have it, in the order that they were asked."""
    found = iter(json.loads((written / "attributes.json").read_text()))
    runs = farroot.open(f"{written}/attributes.root:events").attributes["runs"]
    number = runs["run"].array(library="np")

    def told(entries: Any) -> list[list[int]]:
        return [[int(e), *map(int, runs.ranges[e]), int(number[e])] for e in entries]

    everything = sorted(range(9), key=lambda entry: runs.ranges[entry, 0])
    assert told(everything) == next(found)
    for entry in range(30):
        assert told(runs.containing(entry)) == next(found), entry
    for start in range(0, 30, 3):
        for stop in range(start, 31, 2):
            assert told(runs.containing(start, stop)) == next(found), (start, stop)
            assert told(runs.within(start, stop)) == next(found), (start, stop)
    assert next(found, None) is None


def test_attribute_sets_in_the_shell(written: Path) -> None:
    def shown(*more: str) -> str:
        command = [sys.executable, "-m", "farroot", "show", *more]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    address = f"{written}/attributes.root:events"
    lines = [line.split() for line in shown(address).splitlines()]
    assert ["attribute", "set", "entries"] in lines
    assert ["events/runs", "9"] in lines
    assert ["events/flags", "3"] in lines
    sets = json.loads(shown(address, "--json"))["attribute_sets"]
    assert sets[0] == {"name": "runs", "path": "events/runs", "entries": 9}
    assert "_userData.points" in shown(f"{address}/runs")
