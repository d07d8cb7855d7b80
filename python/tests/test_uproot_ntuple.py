"""RNTuples that uproot writes: all types that it has, several clusters, fields that come late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .same import same_awkward

ENTRIES = 150
#: uproot takes positions in variants, which count from the beginning of a cluster, for ones of the
#: whole file: it is right about the first cluster only.
VARIANTS = {"either", "eithers"}


def entry(i: int) -> dict[str, Any]:
    """One of every type that Awkward has and uproot writes."""
    several = range(i % 4)
    return {
        "flag": i % 3 == 0,
        "text": "ü" * (i % 5),
        "list": [i + 0.5 * k for k in several],
        "lists": [[[i] * (k % 3)] * k for k in several],
        "texts": [str(i * k) for k in several],
        "flags": [(i + k) % 2 == 0 for k in several],
        "record": {"x": i, "y": 0.5 * i, "z": {"deep": [i] * (i % 3)}},
        "records": [{"pt": 1.0 * k, "id": i, "hits": [k] * k} for k in several],
        "tuple": (i, str(i), [0.25 * i] * (i % 2)),
        "tuples": [(k, 0.5 * i) for k in several],
        "maybe": None if i % 3 == 0 else i,
        "maybes": [None if k % 2 else "m" * k for k in several],
        "maybe_list": None if i % 4 == 0 else [i] * (i % 3),
        "maybe_record": None if i % 5 == 0 else {"a": i, "b": [i] * (i % 2)},
        "either": [i, "e" * (i % 4), [0.5 * i]][i % 3],
        "eithers": [[i, "s"][k % 2] for k in several],
    }


def columns() -> dict[str, Any]:
    entries = [entry(i) for i in range(ENTRIES)]
    made: dict[str, Any] = {name: ak.Array([each[name] for each in entries]) for name in entry(0)}
    numbers = np.arange(ENTRIES)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        made[name] = (numbers * 7919 * 7919 * 7919).astype(name)
    made["float32"] = (numbers / 7).astype(np.float32)
    made["float64"] = np.where(numbers % 17 == 0, np.nan, -numbers / 7)
    made["array"] = numbers[:, None].astype(np.float32) * np.arange(3, dtype=np.float32)
    made["grid"] = (numbers[:, None, None] + np.arange(6).reshape(2, 3)).astype(np.int16)
    made["regular"] = ak.to_regular(ak.Array([[str(i), "r"] for i in range(ENTRIES)]), axis=1)
    return made


@pytest.fixture(scope="module", params=[None, uproot.ZLIB(1), uproot.LZ4(1), uproot.ZSTD(1)])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("uproot") / "written.root"
    made = columns()
    with uproot.recreate(path, compression=request.param) as file:
        ntuple = file.mkrntuple(
            "events", {name: each[:60] for name, each in made.items()}, description="of uproot"
        )
        for begin, end in ((60, 61), (61, 120), (120, 150)):
            ntuple.extend({name: each[begin:end] for name, each in made.items()})
    return path


def test_every_type(written: Path) -> None:
    ours, theirs = farroot.open(f"{written}:events"), uproot.open(f"{written}:events")
    made = columns()
    assert (ours.description, ours.num_entries) == ("of uproot", ENTRIES)
    assert ours.keys() == theirs.keys()
    assert ours.typenames() == theirs.typenames()
    for name, filled in made.items():
        got = ours[name].array()
        expected = ak.Array(filled).to_list()
        if name == "maybe_record":
            # Without a type the field is not known for an option.
            expected = [[] if each is None else [each] for each in expected]
        assert str(got.to_list()) == str(expected), name
        part = ours[name].array(entry_start=55, entry_stop=125).to_list()
        assert str(part) == str(expected[55:125]), name
        if name not in VARIANTS:
            assert same_awkward(got, theirs[name].array()), name


def test_fields_that_are_added(tmp_path: Path) -> None:
    """uproot adds them to a file that is there, and fills entries from before with zeros."""
    path = tmp_path / "added.root"
    with uproot.recreate(path) as file:
        file.mkrntuple("events", {"x": np.arange(5), "y": ak.Array([[1], [], [2, 3], [], [4]])})
    with uproot.update(path) as file:
        file["events"].extend(
            {
                "x": np.arange(3),
                "y": ak.Array([[5], [6, 7], []]),
                "z": np.array([0.5, 1.5, 2.5]),
            },
            accept_new_fields=True,
        )
    got = farroot.open(f"{path}:events").arrays()
    assert got["x"].to_list() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert got["y"].to_list() == [[1], [], [2, 3], [], [4], [5], [6, 7], []]
    assert got["z"].to_list() == [0] * 5 + [0.5, 1.5, 2.5]


def test_forms_without_entries_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "forms.root"
    form = ak.Array([{"x": 1.0, "inner": [{"a": 1}]}]).layout.form
    with uproot.recreate(path) as file:
        file.mkrntuple("empty", form)
        file["folder/table"] = ak.Array([{"x": 1, "y": [{"a": "b"}]}, {"x": 2, "y": []}])
    ours = farroot.open(path)
    assert ours["empty"].num_entries == 0
    assert str(ours["empty"].arrays().type) == "0 * {x: float64, inner: var * {a: int64}}"
    assert ours["folder/table"].arrays().to_list() == [
        {"x": 1, "y": [{"a": "b"}]},
        {"x": 2, "y": []},
    ]
