"""Merges of RNTuples with different fields and encodings, read by farroot, uproot and ROOT."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from . import filled
from .filled import ENTRIES, LISTS
from .root import by_root
from .test_merge import with_threads

#: Columns of every kind of field, each with the value that fills entries without it.
COLUMNS: filled.Columns = {
    **filled.COLUMNS,
    "flag": (filled.BITS, False),
    "real": (np.arange(ENTRIES, dtype="f4") / 4, 0.0),
    "maybe": (ak.Array([None if n % 3 else n for n in range(ENTRIES)]), None),
    "either": (ak.Array([n if n % 3 else "e" * n for n in range(ENTRIES)]), None),
    "record": (
        ak.Array([{"x": n, "y": [n] * (n % 2), "z": "z" * n} for n in range(ENTRIES)]),
        {"x": 0, "y": [], "z": ""},
    ),
    "records": (ak.Array([[{"pt": n / 2, "hits": [n]}] * (n % 4) for n in range(ENTRIES)]), []),
}


def written(path: Path, names: tuple[str, ...], **how: Any) -> Path:
    chosen = {name: ak.Array(COLUMNS[name][0]) for name in names}
    with farroot.recreate(path, compression=how.pop("compression", 505)) as file:
        file.mkrntuple("Events", chosen, titles={name: f"its {name}" for name in names}, **how)
    return path


def checked(path: Path) -> Path:
    """The file, in which `farroot check` finds nothing wrong."""
    command = [sys.executable, "-m", "farroot", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return path


def merged(output: Path, inputs: list[Path], **how: Any) -> Path:
    farroot.merge(inputs, output, overwrite=True, reproducible=True, **how)
    return checked(output)


#: Prints all entries as JSON.
BY_ROOT = """
import sys
import ROOT

reader = ROOT.RNTupleReader.Open(sys.argv[2], sys.argv[1])
stream = ROOT.std.stringstream()
for entry in range(reader.GetNEntries()):
    reader.Show(entry, stream)
print("[", str(stream.str()).replace("}\\n{", "},\\n{"), "]")
"""


def shown(path: Path, names: list[str]) -> list[dict[str, Any]]:
    """The entries of some fields as ROOT reads them, as Python objects."""
    entries = json.loads(by_root(BY_ROOT, path, "Events"))
    return [{name: entry[name] for name in names} for entry in entries]


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "number"])
@pytest.mark.parametrize("lacks", [0, 1, 2])
def test_a_field_that_one_of_three_inputs_lacks(tmp_path: Path, name: str, lacks: int) -> None:
    output, expected = filled.of_three(tmp_path, written, COLUMNS, name, lacks)
    checked(output)
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            ntuple = file["Events"]
            # uproot does not count the positions of variants from the beginning of each cluster.
            if reader is farroot or name != "either":
                assert ak.to_list(ntuple[name].array()) == expected
            assert ntuple["number"].array().tolist() == 3 * list(range(ENTRIES))
    assert farroot.open(output)["Events"][name].description == f"its {name}"


def test_filter_leaves_out_what_the_first_lacks(tmp_path: Path) -> None:
    few = written(tmp_path / "few.root", ("number", "records"))
    more = written(tmp_path / "more.root", ("text", "records", "either", "number"))
    output = tmp_path / "all.root"
    merged(output, [few, more], missing="filter")
    ntuple = farroot.open(output)["Events"]
    assert ntuple.keys(recursive=False) == ["number", "records"]
    assert ak.to_list(ntuple["records"].array()) == 2 * filled.values(COLUMNS, "records")
    with pytest.raises(farroot.UnsupportedError, match=r"more\.root.*that this one lacks|text"):
        farroot.merge([more, few], output, missing="filter", overwrite=True)


def test_fields_in_other_orders_are_the_same(tmp_path: Path) -> None:
    one = written(tmp_path / "one.root", ("number", "text", "records"))
    two = written(tmp_path / "two.root", ("records", "number", "text"))
    ntuple = farroot.open(merged(tmp_path / "all.root", [one, two]))["Events"]
    for name in ("number", "text", "records"):
        assert ak.to_list(ntuple[name].array()) == 2 * filled.values(COLUMNS, name)


def test_members_of_records_that_have_no_type(tmp_path: Path) -> None:
    """Filled members have as many items as the members that the input has."""
    pt = ak.Array(LISTS)
    muons = {
        "few": ak.zip({"pt": pt}),
        "more": ak.zip({"pt": pt, "hits": ak.Array([[[1, 2]] * len(n) for n in LISTS])},
                       depth_limit=2),
        "other": ak.zip({"eta": pt + 1, "text": ak.Array([["t"] * len(n) for n in LISTS])},
                        depth_limit=2),
    }  # fmt: skip
    for name, all_of_them in muons.items():
        with farroot.recreate(tmp_path / f"{name}.root") as file:
            file["Events"] = {"Muon": all_of_them}
    nothing = {"pt": 0.0, "hits": [], "eta": 0.0, "text": ""}
    for order in itertools.permutations(muons):
        output = merged(
            tmp_path / "all.root", [tmp_path / f"{name}.root" for name in order], missing="union"
        )
        expected = [
            [{**nothing, **muon} for muon in entry]
            for name in order
            for entry in ak.to_list(muons[name])
        ]
        for reader in (farroot, uproot):
            assert ak.to_list(reader.open(output)["Events"]["Muon"].array()) == expected


def test_inputs_without_entries_lack_what_they_like(tmp_path: Path) -> None:
    empty = tmp_path / "empty.root"
    with farroot.recreate(empty) as file:
        file.mkrntuple("Events", {"other": "float64"})
    full = written(tmp_path / "full.root", ("number", "list"))
    for inputs in ([empty, full], [full, empty], [full, empty, full, empty], [empty, empty]):
        output = merged(tmp_path / "all.root", inputs, missing="union")
        times = inputs.count(full)
        for reader in (farroot, uproot):
            ntuple = reader.open(output)["Events"]
            assert ntuple.num_entries == times * ENTRIES
            if times:
                assert ntuple["list"].array().tolist() == times * LISTS
                assert ntuple["other"].array().tolist() == times * ENTRIES * [0.0]


def test_large_inputs_are_filled_in_several_pages(tmp_path: Path) -> None:
    few, more, count = tmp_path / "few.root", tmp_path / "more.root", 300_000
    for path, columns in ((few, ["x"]), (more, ["x", "y"])):
        with farroot.recreate(path) as file:
            file.mkrntuple("t", {name: np.arange(count, dtype="f8") for name in columns})
    output = merged(tmp_path / "all.root", [more, few], missing="union")
    y = farroot.open(output)["t"]["y"]
    assert y.array().tolist() == [*range(count), *[0.0] * count]
    assert y.array(entry_start=count - 1, entry_stop=count + 1).tolist() == [count - 1, 0]
    assert uproot.open(output)["t"]["y"].array().tolist() == y.array().tolist()
    # Three pages of zeros, two of which are the same.
    assert output.stat().st_size < few.stat().st_size + more.stat().st_size


def test_other_encodings_are_other_representations(tmp_path: Path) -> None:
    names = tuple(name for name in COLUMNS if name != "either")
    # uproot mistakes offsets of texts for characters where both have two representations.
    texts = {"text", "texts", "record"}
    plain = written(tmp_path / "plain.root", names, compression=None)
    split = written(tmp_path / "split.root", names)
    others = written(tmp_path / "others.root", names, compression=207)
    output = merged(tmp_path / "all.root", [plain, split, others, plain])
    for reader in (farroot, uproot):
        ntuple = reader.open(output)["Events"]
        for name in names:
            there = filled.values(COLUMNS, name)
            if reader is farroot or name not in texts:
                assert ak.to_list(ntuple[name].array()) == 4 * there, (reader, name)
    again = merged(tmp_path / "again.root", [split, output], recompress=101)
    assert with_threads(again, [split, output], recompress=101) == again.read_bytes()
    for name in names:
        there = filled.values(COLUMNS, name)
        assert ak.to_list(farroot.open(again)["Events"][name].array()) == 5 * there, name


@pytest.mark.interop
def test_root_reads_what_was_filled_and_other_encodings(tmp_path: Path) -> None:
    names = [name for name in COLUMNS if name not in ("maybe", "either")]
    few = written(tmp_path / "few.root", ("number",))
    plain = written(tmp_path / "plain.root", tuple(names), compression=None)
    split = written(tmp_path / "split.root", tuple(names))
    for inputs in ([few, plain, split], [split, few, plain]):
        output = merged(tmp_path / "all.root", inputs, missing="union")
        expected = []
        for path in inputs:
            for entry in range(ENTRIES):
                row = {name: filled.values(COLUMNS, name)[entry] for name in names}
                lacking = {name: COLUMNS[name][1] for name in names if name != "number"}
                expected.append(row | (lacking if path == few else {}))
        assert shown(output, names) == expected


def nothing(form: Any) -> Any:
    """The value that fills an absent entry of an Awkward type."""
    if isinstance(form, ak.types.NumpyType):
        return False if form.primitive == "bool" else 0
    if isinstance(form, (ak.types.OptionType, ak.types.UnionType)):
        return None
    if isinstance(form, ak.types.RecordType):
        if form.is_tuple:
            return tuple(nothing(each) for each in form.contents)
        return {name: nothing(form.content(name)) for name in form.fields}
    if isinstance(form, ak.types.RegularType):
        return [nothing(form.content)] * form.size
    return "" if form.parameter("__array__") == "string" else []


@pytest.mark.interop
def test_everything_that_root_writes(ntuples_of_root: Path, tmp_path: Path) -> None:
    names = ["kinds_0", "kinds_505", "late", "representations", "widths", "unions", "arrays"]
    paths = {name: ntuples_of_root / f"{name}.root" for name in names}
    tables = {name: farroot.open(path)["events"] for name, path in paths.items()}
    arrays = {name: table.arrays() for name, table in tables.items()}
    # Files with different letters have fields of one name with different types.
    kinds = {"kinds_0": "k", "kinds_505": "k", "late": "l", "arrays": "a"}
    for pair in itertools.permutations(names, 2):
        output, inputs = tmp_path / "pair.root", [paths[name] for name in pair]
        if len({kinds[name] for name in pair if name in kinds}) > 1:
            with pytest.raises(farroot.UnsupportedError, match="where the inputs before have"):
                farroot.merge(inputs, output, missing="union", overwrite=True)
            continue
        farroot.merge(inputs, output, missing="union", overwrite=True)
        checked(output)
        found = farroot.open(output)["events"].arrays()
        begin = 0
        for name in pair:
            end = begin + tables[name].num_entries
            for field in found.fields:
                part = found[field][begin:end]
                if field in arrays[name].fields:
                    assert ak.array_equal(part, arrays[name][field], equal_nan=True), (pair, field)
                else:
                    lacking = nothing(ak.type(part).content)
                    assert ak.to_list(part) == [lacking] * (end - begin), (pair, field)
            begin = end


def with_empty_cluster(path: Path) -> Path:
    """As uproot writes an empty selection, and a full one behind it."""
    with uproot.recreate(path) as file:
        table = file.mkrntuple("t", {"x": np.array([], "i4")})
        table.extend({"x": np.arange(3, dtype="i4")})
    command = [sys.executable, "-m", "farroot", "check", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "a cluster without entries, which ROOT refuses" in done.stdout
    return path


def copies_without_empty_clusters(folder: Path) -> dict[str, list[int]]:
    """Files, and their entries."""
    empty, full = with_empty_cluster(folder / "empty.root"), folder / "full.root"
    with farroot.recreate(full) as file:
        file.mkrntuple("t", {"x": np.arange(3, dtype="i4")})
    farroot.merge([full, empty], folder / "merged.root")
    farroot.merge([empty, full], folder / "anew.root", recompress=farroot.LZ4(1))
    farroot.skim(f"{empty}:t", folder / "skimmed.root")
    farroot.skim(f"{empty}:t", folder / "defined.root", define={"y": "x + 1"})
    with farroot.update(empty) as file:
        file["t"].extend({"x": np.arange(3, dtype="i4")})
    three = [0, 1, 2]
    six = dict.fromkeys(("merged.root", "anew.root", "empty.root"), three + three)
    return {**six, **dict.fromkeys(("skimmed.root", "defined.root"), three)}


def test_clusters_without_entries_are_left_out(tmp_path: Path) -> None:
    """They were copied, and ROOT opened no such file, with the entries of all other inputs."""
    for name, entries in copies_without_empty_clusters(tmp_path).items():
        assert farroot.open(f"{checked(tmp_path / name)}:t")["x"].array().tolist() == entries, name
    assert farroot.open(f"{tmp_path / 'defined.root'}:t")["y"].array().tolist() == [1, 2, 3]


@pytest.mark.interop
def test_root_opens_copies_of_clusters_without_entries(tmp_path: Path) -> None:
    for name, entries in copies_without_empty_clusters(tmp_path).items():
        script = (
            "import sys, ROOT; frame = ROOT.RDataFrame('t', sys.argv[1]);"
            "print(frame.AsNumpy(['x'])['x'].tolist())"
        )
        assert by_root(script, tmp_path / name).strip() == str(entries), name
