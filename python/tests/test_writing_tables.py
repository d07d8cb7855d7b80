"""Trees and RNTuples that farroot writes: read by farroot and uproot, equal."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import uproot

import farroot

from .conftest import columns
from .same import same_awkward

NUMBERS = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
]
COMPRESSIONS = [None, 101, 109, 207, 404, 401, 505, farroot.ZLIB(4), uproot.ZSTD(3)]


def read(path: Path, name: str) -> dict[str, Any]:
    """The columns of a table, which farroot and uproot read alike."""
    ours, theirs = farroot.open(f"{path}:{name}"), uproot.open(f"{path}:{name}")
    arrays = ours.arrays()
    for field in arrays.fields:
        their_own = theirs[field].array()
        assert same_awkward(arrays[field], their_own), field
    return {field: arrays[field] for field in arrays.fields}


def assert_read(path: Path, name: str, expected: dict[str, Any]) -> None:
    found = read(path, name)
    for column, array in expected.items():
        assert ak.to_list(found[column]) == ak.to_list(array), column


def divided(data: dict[str, Any], steps: list[int]) -> Iterator[dict[str, Any]]:
    """The entries in batches that end there."""
    begin = 0
    for end in [*steps, len(next(iter(data.values())))]:
        yield {name: column[begin:end] for name, column in data.items()}
        begin = end


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=str)
def test_columns_of_every_type_in_a_tree(tmp_path: Path, compression: Any) -> None:
    data = columns(seed=3)
    # Not equal to itself.
    data["float64"] = np.nan_to_num(data["float64"])
    path = tmp_path / "f.root"
    with farroot.recreate(path, compression=compression) as file:
        tree = file.mktree("events", data, "all of them")
        assert tree.num_entries == 1000
        for batch in divided(data, [1, 2, 500]):
            tree.extend(batch)
        assert tree.num_entries == 2000
    twice = {name: ak.concatenate([column, column]) for name, column in data.items()}
    assert_read(path, "events", twice)
    assert farroot.open(f"{path}:events").title == "all of them"


@pytest.mark.parametrize("compression", COMPRESSIONS[:6:2], ids=str)
def test_columns_of_every_type_in_an_rntuple(tmp_path: Path, compression: Any) -> None:
    data = columns(seed=4)
    data["float64"] = np.nan_to_num(data["float64"])
    data["nested"] = ak.Array([[[1, 2], []], [], [[3]], [[4]]] * 250)
    data["texts"] = ak.Array([["a", "bc"], [], [""], ["d"]] * 250)
    data["records"] = ak.Array([[{"x": 1, "y": [1.5]}], [], [{"x": 2, "y": []}], []] * 250)
    data["optional"] = ak.Array([1.5, None, 2.5, None] * 250)
    path = tmp_path / "f.root"
    with farroot.recreate(path, compression=compression) as file:
        file["events"] = data
        file["events"].extend(data)
        assert file["events"].num_entries == 2000
    twice = {name: ak.concatenate([column, column]) for name, column in data.items()}
    assert_read(path, "events", twice)


def test_docs_of_awkward_become_titles(tmp_path: Path) -> None:
    path, again = tmp_path / "f.root", tmp_path / "again.root"
    x = ak.with_parameter(ak.Array([1.5, 2.5]), "__doc__", "in cm")
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": x, "y": x}, titles={"y": "in m"})
        file["n"] = {"x": x, "z": [1, 2]}
    with farroot.recreate(again) as file:
        file.mktree("t", farroot.open(path)["t"].arrays(ak_add_doc=True))
    assert [farroot.open(again)["t"][name].title for name in "xy"] == ["in cm", "in m"]
    assert farroot.open(path)["n"]["x"].description == "in cm"


def odd_columns() -> dict[str, Any]:
    """Columns that only RNTuples hold: values of several types, tuples."""
    point = {"x": 1, "y": [1.5]}
    return {
        "union": ak.Array([1, "two", 3, "four"] * 50),
        "maybe": ak.Array([1.5, None, "three", ["four"]] * 50),
        "unions": ak.Array([[1, "two"], [], ["three"], [[4], 5]] * 50),
        "of_records": ak.Array([point, "two", point, [point]] * 50),
        "tuple": ak.Array([(1, "a"), (2, ""), (3, "bc"), (4, "d")] * 50),
        "tuples": ak.Array([[(1, 1.5)], [], [(2, 2.5), (3, 3.5)], [(4, 4.5)]] * 50),
        "mixed": ak.Array([(1, [2]), ("two", [3]), (3, ["four"]), (4, [])] * 50),
        "fixed": ak.to_regular(ak.Array([[{"x": 1}, {"x": 2}], [{"x": 3}, {"x": 4}]] * 100)),
        "fixed_tuples": ak.to_regular(ak.Array([[(1, 2.5)] * 3, [(3, 4.5)] * 3] * 100)),
    }


def test_columns_that_only_an_rntuple_holds(tmp_path: Path) -> None:
    data = odd_columns()
    written = []
    for steps in ([], [1, 2, 3, 77], list(range(1, 200))):
        with farroot.recreate(tmp_path / "f.root", reproducible=True) as file:
            ntuple = file.mkrntuple("t", data, cluster="1 kB")
            for batch in divided(data, steps):
                ntuple.extend(batch)
        written.append((tmp_path / "f.root").read_bytes())
    assert written[0] == written[1] == written[2]
    ours = farroot.open(tmp_path / "f.root")["t"]
    theirs = uproot.open(tmp_path / "f.root")["t"]
    for name, column in data.items():
        twice = ak.to_list(column) * 2
        assert ours[name].array().to_list() == twice, name
        assert theirs[name].array().to_list() == twice, name


def test_a_batch_may_have_one_of_several_types_only(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        ntuple = file.mkrntuple("t", {"x": "union[int64, string]"})
        for batch in ([1, 2], ["a"], [], ["b", 3]):
            ntuple.extend({"x": batch})
        for wrong in ([1.5], [[1]], [1, [2]]):
            with pytest.raises(farroot.InvalidArgumentError, match="union"):
                ntuple.extend({"x": wrong})
        with pytest.raises(farroot.UnsupportedError, match="an RNTuple can hold them"):
            file.mktree("tree", {"x": [1, "a"]})
    assert farroot.open(path)["t"]["x"].array().to_list() == [1, 2, "a", "b", 3]


@pytest.mark.parametrize("jagged", ["counter", "vector"])
def test_lists_as_arrays_and_as_vectors(tmp_path: Path, jagged: str) -> None:
    some = ak.Array([[1, 0], [], [1]])
    lists = {name: ak.values_astype(some, name) for name in NUMBERS}
    lists["nested"] = ak.Array([[[1.5], []], [], [[2.5, 3.5]]])
    lists["texts"] = ak.Array([["a", "b"], [], [""]])
    path = tmp_path / "f.root"
    with farroot.recreate(path, jagged=jagged) as file:
        file.mktree("t", lists)
    assert_read(path, "t", lists)
    typename = farroot.open(f"{path}:t")["float32"].typename
    assert typename == {"counter": "float[]", "vector": "std::vector<float>"}[jagged]


def test_counters_and_names_of_fields_are_the_user_s(tmp_path: Path) -> None:
    muons = ak.Array([[{"pt": 1.5, "eta": 1}], [], [{"pt": 2.5, "eta": 2}] * 2])
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        types = {"Muon": muons.type, "Muon_phi": "var * float32", "point": {"x": "f8"}}
        tree = file.mktree(
            "t",
            types,
            counter_name=lambda column: "n" + column.split("_")[0],
            field_name=lambda outer, inner: (
                f"{outer}.{inner}" if outer == "point" else f"{outer}_{inner}"
            ),
        )
        data = {"Muon": muons, "Muon_phi": [[1], [], [2, 3]], "point": {"x": [1, 2, 3]}}
        tree.extend(data)
        # Counts follow from the lists; where they are given, they are compared.
        tree.extend({**data, "nMuon": [1, 0, 2]})
        with pytest.raises(farroot.InvalidArgumentError, match="'nMuon'"):
            tree.extend({**data, "nMuon": [1, 0, 3]})
        with pytest.raises(farroot.Error, match="Muon"):
            tree.extend({**data, "Muon_phi": [[1], [], [2]]})
    found = read(path, "t")
    assert list(found) == ["nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "point.x"]
    assert found["nMuon"].tolist() == [1, 0, 2] * 2
    assert found["Muon_pt"].tolist() == muons.pt.tolist() * 2


@pytest.mark.parametrize(
    ("types", "names"),
    [
        ({"nx": "f8", "x": "var * float64"}, {}),
        ({"x": "var * float64", "nx": bool}, {}),
        ({"x": "var * float64", "nx": "string"}, {}),
        ({"x": "var * float64", "nx": "var * float64"}, {}),
        ({"x": "var * float64", "nx": {"a": "i4"}}, {}),
        (
            {"x": "var * float64", "n": {"x": "i4"}},
            {"field_name": lambda outer, inner: outer + inner},
        ),
        ({"x": "var * float64"}, {"counter_name": lambda column: column}),
    ],
)
def test_a_counter_has_its_name_alone(
    tmp_path: Path, types: dict[str, Any], names: dict[str, Any]
) -> None:
    """Such a tree was made, and its first entries were refused with words about something else, or
    its second branch of the name."""
    with farroot.recreate(tmp_path / "f.root") as file:
        with pytest.raises(farroot.InvalidArgumentError, match="collides"):
            file.mktree("t", types, **names)
        assert file.keys() == []


def test_vectors_have_no_counters(tmp_path: Path) -> None:
    """A column of the name that a counter would have was compared with the lengths."""
    data = {"x": [[1.5], [], [2]], "nx": [0.5, 1.5, 2], "s": [["a"], [], ["b"]], "ns": [7, 8, 9]}
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mktree("vectors", data, jagged="vector")
        # Texts in lists are vectors in any case.
        file.mktree("texts", {"s": data["s"], "ns": data["ns"]})
    assert_read(path, "vectors", data)
    assert_read(path, "texts", {"s": data["s"], "ns": data["ns"]})
    assert farroot.open(f"{path}:texts")["ns"].typename == "int64_t"


def test_descriptions_of_a_form(tmp_path: Path) -> None:
    """They were taken from arrays, and not from their types; that of the records was lost."""
    data = ak.with_parameter(
        ak.Array({"x": ak.with_parameter([1, 2], "__doc__", "in cm"), "y": [3, 4]}),
        "__doc__",
        "of all",
    )
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        for name, said in (("data", data), ("form", data.layout.form), ("type", data.type)):
            file.mkrntuple(name, said)
            file.mktree(f"tree of {name}", said)
        file.mkrntuple("said", data, "as said", titles={"y": "in m"})
    found = farroot.open(path)
    for name in ("data", "form", "type"):
        ntuple = found[name]
        assert (ntuple.description, ntuple["x"].description) == ("of all", "in cm"), name
        tree = found[f"tree of {name}"]
        assert (tree.title, tree["x"].title) == ("of all", "in cm"), name
    said = found["said"]
    assert (said.description, said["y"].description) == ("as said", "in m")


def test_descriptions_of_fields_in_others(tmp_path: Path) -> None:
    """Of records in lists, and of their members, nothing was written."""
    members = ak.contents.RecordArray(
        [
            ak.contents.NumpyArray(np.arange(3), parameters={"__doc__": "a member"}),
            ak.contents.RecordArray(
                [ak.contents.NumpyArray(np.arange(3.0), parameters={"__doc__": "in a tuple"})], None
            ),
        ],
        ["x", "pair"],
        parameters={"__doc__": "a record"},
    )
    lists = ak.contents.ListOffsetArray(
        ak.index.Index64([0, 2, 3]), members, parameters={"__doc__": "a list"}
    )
    data = ak.Array(ak.contents.RecordArray([lists, members.content(0)[:2]], ["r", "x"]))
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        for name, said in (("data", data), ("form", data.layout.form), ("type", data.type)):
            file.mkrntuple(name, said)
    for name in ("data", "form", "type"):
        ntuple = uproot.open(f"{path}:{name}")
        found = {field.path: field.description for field in ntuple.fields}
        assert (found["r"], found["x"]) == ("a list", "a member"), name
        record = ntuple["r"].array(ak_add_doc=True).layout.content
        assert record.parameter("__doc__") == "a record", name
        assert record.contents[0].parameter("__doc__") == "a member", name
        assert ntuple["r.pair.0"].description == "in a tuple", name
    # Titles of a tree are of its columns.
    with farroot.recreate(path) as file:
        file.mktree("t", data)
    assert farroot.open(f"{path}:t")["r_x"].array().tolist() == [[0, 1], [2]]


def test_a_large_batch_is_converted_in_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: dict[str, Any] = {name: ak.Array(each) for name, each in columns(seed=5).items()}
    data["records"] = ak.Array([[{"x": 1, "y": [1.5]}], [], [{"x": 2, "y": []}], []] * 250)
    for make in ("mktree", "mkrntuple"):
        written = []
        for size in (1 << 30, 1000, 1):
            monkeypatch.setattr("farroot.writing._tables.RUN_BYTES", size)
            monkeypatch.setattr("farroot.writing._tables.COLUMN_RUN_BYTES", 0)
            with farroot.recreate(tmp_path / "f.root", reproducible=True) as file:
                # A slice of a larger array is not at its beginning.
                twice = {name: ak.concatenate([each, each]) for name, each in data.items()}
                table = getattr(file, make)("t", {name: each[:0] for name, each in data.items()})
                table.extend({name: each[500:1500] for name, each in twice.items()})
            written.append((tmp_path / "f.root").read_bytes())
        assert written[0] == written[1] == written[2], make


def test_a_large_batch_is_taken_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farroot.writing._tables.RUN_BYTES", 8)
    monkeypatch.setattr("farroot.writing._tables.COLUMN_RUN_BYTES", 0)
    lists = ak.Array([[1.5], [], [2.5, 3.5]])
    wrong = {"x_b": ak.Array([[1.5], [], [2.5]]), "y": np.array([1, 2, 1 << 40])}
    with farroot.recreate(tmp_path / "f.root") as file:
        types = {"x_a": "var * float64", "x_b": "var * float64", "y": "int32"}
        tree = file.mktree("t", types, counter_name=lambda name: "n" + name.split("_")[0])
        right = {"x_a": lists, "x_b": lists, "y": np.arange(3, dtype=np.int32)}
        for name, column in wrong.items():
            with pytest.raises(farroot.Error):
                tree.extend({**right, name: column})
            assert tree.num_entries == 0
        tree.extend(right)
    assert_read(tmp_path / "f.root", "t", right)


#: A type, and values that a column of a few entries may get.
FEW: list[tuple[str, list[Any]]] = [
    ("float32", [[0.1], [3], [(1 << 24) + 1], [True], [0.1, 1 << 40], ["x"], [1e300], [None]]),
    ("float32", [np.array([0.1], "f4"), np.array([0.1]), np.arange(6, dtype="f4")[::2], 1.5]),
    ("float64", [[0.1, 2], [np.float64(0.1)], [np.float32(0.1)], np.array([1], ">f8"), []]),
    ("int32", [[1], [1.0], [1.5], [1 << 40], [True], [np.int32(7)], np.array([[1]], "i4")]),
    ("uint8", [[255], [256], [-1], np.array([1], "u1"), np.ma.masked_array([1], [True], "u1")]),
    ("bool", [[True], [1], [0.5], np.array([False])]),
    ("var * int64", [[[1, 2], []], [[1.5]], [[True]], [1], [np.array([1, 2])], ak.Array([[1]])]),
    ("var * float32", [[[0.1, 2]], [np.array([0.1], "f4")], [(1.5,)], ["x"], [[None]]]),
    ("string", [["a", "ä€", ""], [b"a"], [1], "text", np.array(["a"])]),
    ("float32", [ak.Array(np.arange(6, dtype="f4"))[2:], ak.Array([0.1]), ak.Array([0.1, None])]),
    ("float32", [ak.Array(np.arange(6, dtype="f4"))[::2], ak.Array(np.ones((2, 1), "f4"))]),
    ("var * int64", [ak.Array([[1], [2, 3], [], [4]])[1:3], ak.Array([[1], None]), ak.Array([1])]),
    ("var * int64", [ak.Array([[1.0]]), ak.Array([[[1]]]), ak.Array([[1], [2]])[[1, 0]]]),
    ("var * int64", [ak.with_parameter(ak.Array([[1]]), "__doc__", "x"), ak.Array([[1, None]])]),
    ("var * uint8", [ak.Array(["ab"]), ak.Array([b"ab"]), ak.Array([np.array([1, 2], "u1")])]),
]


@pytest.mark.parametrize("form", ["mktree", "mkrntuple"])
def test_a_few_entries_go_the_short_way_and_become_the_same(tmp_path: Path, form: str) -> None:
    def outcome(type_: str, value: Any, **options: Any) -> Any:
        """The file, or the error: an exception before the end leaves an empty table."""
        path = tmp_path / "f.root"
        error = None
        with farroot.recreate(path, reproducible=True, **options) as file:
            table = getattr(file, form)("t", {"x": type_})
            try:
                table.extend({"x": value})
            except farroot.Error as raised:
                error = (type(raised), str(raised))
        return path.read_bytes(), error

    for type_, values in FEW:
        for value in values:
            # With a report of progress, entries go the long way.
            long = outcome(type_, value, progress=lambda state: None)
            assert outcome(type_, value) == long, (type_, value)


def test_branches_have_compressions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    columns = {name: np.zeros(5000, np.int32) for name in "xyz"}
    with farroot.recreate(path, compression=101) as file:
        tree = file.mktree("t", dict.fromkeys("xyz", "int32"))
        tree["y"].compression = farroot.LZMA(3)
        tree.compression = {"z": None}
        assert tree.compression == {"x": farroot.ZLIB(1), "y": farroot.LZMA(3), "z": None}
        assert file["t"]["y"].compression == farroot.LZMA(3)
        tree.extend(columns)
        with pytest.raises(farroot.UnsupportedError, match="after the first entries"):
            tree.compression = 404
        alike = file.mktree("alike", {"x": "int32"})
        alike.compression = uproot.LZ4(4)
        assert (alike.compression, alike["x"].compression) == (farroot.LZ4(4), farroot.LZ4(4))
    with uproot.open(path) as file:
        branches = file["t"].branches
        assert [branch.member("fCompress") for branch in branches] == [101, 203, 0]
        assert [branch.compressed_bytes > 20_000 for branch in branches] == [False, False, True]
        assert all(not branch.array(library="np").any() for branch in branches)


def test_levels_of_zstandard_are_its_own_or_those_of_root(tmp_path: Path) -> None:
    """Twice as many levels of Zstandard's are ROOT's: ``ZSTD(9)`` leaves more than 509."""
    words = np.random.default_rng(3).integers(0, 40, (30_000, 5))
    text = [" ".join(map(str, five)) for five in words]
    sizes = []
    for compression in (farroot.ZSTD(9), uproot.ZSTD(9), 509):
        path = tmp_path / "f.root"
        with farroot.recreate(path, compression=compression) as file:
            file.mktree("t", {"x": text})
            assert file.file.fCompress == 509
        assert farroot.open(path)["t"]["x"].array().tolist() == text
        sizes.append(path.stat().st_size)
    assert sizes[0] == sizes[1]
    assert sizes[0] > sizes[2]


def test_titles_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    titles = {"x": "how far / cm"}
    with farroot.recreate(path, title="the file") as file:
        file.mktree("t", {"x": np.float32, "y": "var * int8"}, titles=titles)
        file.mkrntuple("n", {"x": np.float32}, "an RNTuple", titles=titles)
        with pytest.raises(farroot.InvalidArgumentError, match="'z'"):
            file.mktree("u", {"x": np.float32}, titles={"z": ""})
    assert farroot.open(f"{path}:t")["x"].title == "how far / cm"
    assert farroot.open(f"{path}:n").description == "an RNTuple"


TABLES: list[Callable[[dict[str, Any]], Any]] = [
    dict,
    pd.DataFrame,
    pl.DataFrame,
    pa.table,
    ak.zip,
    lambda data: iter([data]),
    lambda data: pa.table(data).to_reader(1),
    lambda data: np.array([*zip(*data.values(), strict=True)], [("x", "f8"), ("n", "i2")]),
]


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_tables_of_every_library(tmp_path: Path, make: Any, kind: str) -> None:
    data = {"x": np.array([1.5, 2.5, 3.5]), "n": np.array([1, 2, 3], dtype=np.int16)}
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        table = getattr(file, kind)("t", make(data))
        table.extend(make(data))
        assert table.num_entries == 6
    twice = {name: np.concatenate([column, column]) for name, column in data.items()}
    assert_read(path, "t", twice)


def random_columns(random: np.random.Generator, entries: int) -> dict[str, Any]:
    """Columns that a tree can hold."""
    data: dict[str, Any] = {}
    for number in range(random.integers(1, 8)):
        dtype = NUMBERS[random.integers(len(NUMBERS))]
        shape = tuple(random.integers(1, 4, random.integers(0, 3)))
        counts = random.poisson(2, entries)
        match random.integers(5):
            case 0:
                column: Any = random.integers(0, 2, (entries, *shape)).astype(dtype)
            case 1:
                flat = random.integers(0, 2, (counts.sum(), *shape)).astype(dtype)
                column = ak.unflatten(ak.from_numpy(flat, regulararray=True), counts)
            case 2:
                column = ["x" * int(count) for count in counts * random.integers(1, 200)]
            case 3:
                column = ak.unflatten(ak.Array(["ab"] * int(counts.sum())), counts)
            case _:
                inner = random.poisson(1, counts.sum())
                flat = random.normal(size=inner.sum())
                column = ak.unflatten(ak.unflatten(flat, inner), counts)
        data[f"c{number}"] = column
    return data


@pytest.mark.parametrize("seed", range(60))
def test_random_columns(tmp_path: Path, seed: int) -> None:
    """The same entries are the same bytes, however they are divided and compressed at once."""
    random = np.random.default_rng(seed)
    entries = int(random.integers(1, 300))
    data = random_columns(random, entries)
    made = []
    for number in range(2):
        path = tmp_path / f"{number}" / "f.root"
        steps = np.unique(random.integers(0, entries, number * 5)).tolist()
        options: dict[str, Any] = {"threads": number + 1, "reproducible": True}
        with farroot.recreate(path, cluster=50, **options) as file:
            types = {name: ak.Array(column).type for name, column in data.items()}
            tree = file.mktree("t", types)
            ntuple = file.mkrntuple("n", types)
            for batch in divided(data, steps):
                tree.extend(batch)
                ntuple.extend(batch)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    expected = {name: ak.Array(column) for name, column in data.items()}
    for name in ("t", "n"):
        assert_read(path, name, expected)


def test_a_batch_that_does_not_fit_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        tree = file.mktree("t", {"x": np.float32, "y": np.int8})
        for batch, said in [
            ({"x": [1.0]}, "'y'"),
            ({"x": [1.0], "y": [1], "z": [1]}, "'z'"),
            ({"x": [1.0], "y": [1, 2]}, "one length"),
            ({"x": [1.0], "y": [300]}, "column 'y': 300"),
            ({"x": ["a"], "y": [1]}, "column 'x'"),
        ]:
            with pytest.raises(farroot.InvalidArgumentError, match=said):
                tree.extend(batch)
        with pytest.raises(farroot.ArgumentTypeError, match="a table is"):
            tree.extend(5)
        tree.extend({"x": [1.0], "y": [2]})
    assert_read(path, "t", {"x": [1.0], "y": [2]})


def test_what_a_tree_cannot_hold_is_an_error_before_it_is_begun(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        for types, said in [
            ({"x": "?int32"}, "missing"),
            ({}, "no batch|columns|take"),
            ({"x": np.dtype("M8[s]")}, "column 'x'"),
        ]:
            with pytest.raises(farroot.Error, match=said):
                file.mktree("t", types)
        with pytest.raises(farroot.InvalidArgumentError, match="missing values"):
            file.mktree("u", {"x": ak.Array([1, None])})


def test_types_are_not_assigned(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        with pytest.raises(farroot.InvalidArgumentError, match="mkrntuple"):
            file["t"] = {"x": np.float32}
        assert file.keys() == []


def test_show_prints_columns(tmp_path: Path) -> None:
    stream = io.StringIO()
    with farroot.recreate(tmp_path / "f.root") as file:
        file.mktree("t", {"x": np.float32, "long": "var * int8"}).show(stream=stream)
    assert stream.getvalue() == "x    | float32\nlong | var * int8\n"
