"""Conversions keep each value, or are an error: each test began as a value that changed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import farroot
from farroot.writing import _types
from farroot.writing._exact import cast

from .test_writing_arrays import NUMBERS, given_back

masked: Any = np.ma.array

INTEGERS = [0, 1, -1, 127, 128, 255, 256, -128, -129, 2**24, 2**24 + 1, 2**31, 2**53, 2**53 + 1]
INTEGERS += [-(2**53) - 1, 2**62 + 3, 2**63 - 1, -(2**63), 2**64 - 1, 2**63, 2**63 + 2**11]
REALS = [0.0, -0.0, 1.0, 0.5, -1.0, 1e10, 2.0**63, 2.0**64, -(2.0**63), 1e300, 1e-300, 0.1, 255.0]
REALS += [256.0, float("inf"), float("nan")]


def numbers_of(name: str) -> Any:
    """All numbers above that a type has."""
    dtype = np.dtype(name)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(REALS).astype(dtype)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    low, high = (limits.min, limits.max) if limits else (0, 1)
    return np.array([each for each in INTEGERS if low <= each <= high], dtype)


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_numbers_of_another_type_are_the_same_or_an_error(source: str, target: str) -> None:
    """int64 above 2**53 was rounded in columns of float64, and 1e300 was infinite in float32."""
    for number in numbers_of(source):
        one = number.item()
        with np.errstate(all="ignore"):
            naive = np.array([number]).astype(target)[0].item()
        try:
            found = cast(np.array([number]), np.dtype(target))[0].item()
        except farroot.InvalidArgumentError:
            assert one != naive
        else:
            is_rounded = source == "float64" and target == "float32" and np.isfinite([one, found])
            if np.all(is_rounded):
                assert abs(Fraction(one) - Fraction(found)) <= abs(Fraction(one)) / 2**24
            else:
                assert one == found or (one != one and found != found)


@pytest.mark.parametrize(
    ("array", "type_", "said"),
    [
        ([2**53 + 1, 0.5], None, "among reals"),
        ([[2**53 + 1], [0.5]], None, "among reals"),
        ([{"a": 2**53 + 1}, {"a": 0.5}], None, "among reals"),
        ([2**63 + 1, -1], None, "among reals"),
        ([2**64], None, "does not fit into int64 or uint64"),
        ([[2**53 + 1]], "var * float64", "does not fit into float64"),
        ([{"a": [2**53 + 1]}], "{a: var * float64}", "does not fit into float64"),
        (ak.Array([[2**53 + 1]]), "var * ?float64", "does not fit into float64"),
        (np.array([[2**53 + 1]]), "1 * float64", "does not fit into float64"),
        (pa.array([2**53 + 1, None]), "?float64", "does not fit into float64"),
        (np.array([2**63], np.uint64), "int64", "does not fit into int64"),
        ([1e300], "float32", "does not fit into float32"),
        ([1e-300], "float32", "does not fit into float32"),
        (np.array([1 / 3], np.longdouble), "float64", "float64"),
        ([np.longdouble(1) / 3], None, "float64"),
        ([2], "bool", "does not fit into bool"),
        ({"a": [1, 2], "b": [1]}, None, "one length"),
        (["\ud800"], None, "UTF-8"),
        ({1, 2}, None, "sorted"),
    ],
)
def test_numbers_and_texts_within_others(array: Any, type_: Any, said: str) -> None:
    with pytest.raises(farroot.Error, match=said):
        given_back(array, type_)


MASKED: list[Any] = [
    masked([1.0, -999.0, 3.0], mask=[0, 1, 0]),
    masked([[1, 2], [3, 4], [5, 6]], mask=[[0, 1], [0, 0], [1, 1]]),
    masked(["a", "b", "c"], mask=[0, 1, 0]),
    [masked([1, 2], mask=[0, 1]), masked([3], mask=[0]), masked([], "i8")],
    masked([(1, 2.0)] * 3, [("a", "i4"), ("b", "f8")], mask=[(1, 0), (0, 1), (0, 0)]),
    [1.5, np.ma.masked, 2.5],
]


@pytest.mark.parametrize("array", MASKED, ids=range(len(MASKED)))
def test_masked_values_are_missing(tmp_path: Path, array: Any) -> None:
    """The mask was lost, and the hidden numbers written."""
    path = tmp_path / "f.root"
    expected: list[Any] = [
        None if each is np.ma.masked else each.tolist() if hasattr(each, "tolist") else each
        for each in array
    ]
    if getattr(array, "dtype", np.dtype("i1")).names:
        expected = [dict(zip("ab", each, strict=True)) for each in expected]
    with farroot.recreate(path) as file:
        file["n"] = {"x": array}
        file["n"].extend({"x": array})
        with pytest.raises(farroot.InvalidArgumentError, match="missing values"):
            file.mktree("t", {"x": array})
        # One that could miss values, but does not, is no error.
        file.mktree("u", {"x": masked([1, 2])})
    assert farroot.open(path)["n"]["x"].array().tolist() == expected * 2
    assert farroot.open(path)["u/x"].array().tolist() == [1, 2]


RECORDS: list[Any] = [
    ak.Array([{"a": 1}, None]),
    ak.Array([[{"a": 1}], [{"a": 2}, None]]),
    ak.Array([[{"a": 1}], None]),
    pa.array([{"a": 1}, None]),
    pl.Series([{"a": 1}, None]),
    [{"a": 1}, None],
]


@pytest.mark.parametrize("column", RECORDS, ids=range(len(RECORDS)))
def test_records_that_are_missing_are_no_lists(tmp_path: Path, column: Any) -> None:
    """An RNTuple had lists of none or one instead, since C++ has no name for such records; and
    where no record was missing, too."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        for make in (file.mktree, file.mkrntuple):
            with pytest.raises(farroot.InvalidArgumentError, match=r"ak\.singletons"):
                make("t", {"x": column})
        with pytest.raises(farroot.UnsupportedError, match="may be missing"):
            file.mkrntuple("t", {"x": "?{a: int64}"})
        file.mkrntuple("n", {"x": column[:1]})
        with pytest.raises(farroot.InvalidArgumentError, match=r"ak\.singletons"):
            file["n"].extend({"x": column})
        file.mkrntuple("lists", {"x": ak.singletons(ak.Array([{"a": 1}, None]))})
    expected = ak.to_list(ak.Array(column[:1])) if not hasattr(column, "to_pylist") else [{"a": 1}]
    assert farroot.open(path)["n"]["x"].array().tolist() == expected
    assert farroot.open(path)["lists/x"].array().tolist() == [[{"a": 1}], []]


@pytest.mark.parametrize(
    "type_",
    [
        *("int16", "string", "()", "{}", "{a: int64}", "(int64, string)", "(int64, {a: bool})"),
        *("var * float32", "var * {}", "3 * int8", "3 * (int8, var * {x: int8})"),
        *("union[int64, string]", "union[int64, {}]", "union[int64, (string, int8)]"),
    ],
)
def test_types_that_may_be_missing_are_those_that_are_written(tmp_path: Path, type_: str) -> None:
    """An empty record was a type with a name here, and none to the writer: a column of some, of
    which none was missing, was refused."""
    is_named = _types.has_name(_types.to_type(type_))
    with farroot.recreate(tmp_path / "f.root") as file:
        if is_named:
            file.mkrntuple("t", {"x": f"?{type_}"})
        else:
            with pytest.raises(farroot.UnsupportedError, match="may be missing"):
                file.mkrntuple("t", {"x": f"?{type_}"})
        # Without a missing value, the column has the type without.
        content = _types.empty(_types.to_type(type_))
        masked = ak.contents.UnmaskedArray.simplified(content)
        file.mkrntuple("data", {"x": ak.Array(masked)})
    found = farroot.open(tmp_path / "f.root")
    assert ("t" in found) == is_named
    assert ("std::optional" in found["data"].typenames()["x"]) == is_named


def test_a_union_of_records_and_others_lacks_no_value(tmp_path: Path) -> None:
    """It was a `TypeError` of Awkward's, also where no value was missing."""
    some = ak.Array([1, {"a": 1}, 2])
    with farroot.recreate(tmp_path / "f.root") as file:
        file.mkrntuple("t", {"x": ak.mask(some, [True, True, True])})
        with pytest.raises(farroot.InvalidArgumentError, match="1 missing values"):
            file.mkrntuple("u", {"x": ak.mask(some, [True, True, False])})
    assert farroot.open(tmp_path / "f.root")["t/x"].array().to_list() == some.to_list()


def test_objects_of_polars_are_no_bytes(tmp_path: Path) -> None:
    """Their addresses in memory were written, as texts."""
    column = pl.Series([object(), object()], dtype=pl.Object)
    with farroot.recreate(tmp_path / "f.root") as file:
        for table in (pl.DataFrame({"x": column}), {"x": column}):
            for make in (file.mktree, file.mkrntuple):
                with pytest.raises(farroot.UnsupportedError, match="column 'x': polars' Object"):
                    make("t", table)


def arrow_batches() -> Any:
    batches = [pa.record_batch({"a": pa.array(each, pa.int64())}) for each in ([1, 2], [3, None])]
    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


NULLS: list[Any] = [
    arrow_batches,
    lambda: iter([{"a": ak.Array([1, 2, None])[:2]}, {"a": ak.Array([3, None])}]),
    lambda: iter([pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [3, None]})]),
    lambda: iter([{"a": masked([1, 2])}, {"a": masked([3, 4], mask=[0, 1])}]),
    lambda: iter([{"a": pd.array([1, 2], "Int64")}, {"a": pd.array([3, None], "Int64")}]),
]


@pytest.mark.parametrize("make", NULLS, ids=range(len(NULLS)))
def test_a_value_is_missing_in_a_later_batch(tmp_path: Path, make: Any) -> None:
    """The first batch missed nothing, so the column was not optional."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mkrntuple("n", make())
        with pytest.raises(farroot.InvalidArgumentError, match="column 'a': 1 missing values"):
            file.mktree("t", make())
    ntuple = farroot.open(path)["n"]
    assert ntuple.typenames() == {"a": "std::optional<std::int64_t>"}
    assert ntuple["a"].array().tolist() == [1, 2, 3, None]


def test_a_schema_says_that_no_value_is_missing(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with farroot.recreate(tmp_path / "f.root") as file:
        file["n"] = pa.table({"a": [1, 2]}, schema)
    assert farroot.open(tmp_path / "f.root")["n"].typenames() == {"a": "std::int64_t"}


@pytest.mark.parametrize(
    "lists",
    [
        np.array([None, None, None], dtype=object),
        [[1.0, 2.0], [3.0, 4.0], [5.0]],
        [np.array([1, 2], "f4"), np.array([3, 4], "f4"), np.array([5], "f4")],
    ],
    ids=["objects", "lists", "arrays"],
)
def test_lists_of_equal_lengths_are_lists(tmp_path: Path, lists: Any) -> None:
    """Those of the first batch made the column an array of fixed length."""
    if isinstance(lists, np.ndarray):
        lists[:] = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0])]
    for kind in ("mktree", "mkrntuple"):
        with farroot.recreate(tmp_path / "f.root") as file:
            getattr(file, kind)("t", iter([{"x": lists[:2]}, {"x": lists[2:]}]))
        assert farroot.open(tmp_path / "f.root")["t/x"].array().tolist() == [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        (pd.MultiIndex.from_tuples([(0, 0), (0, 1)], names=["entry", "subentry"]), 2),
        (pd.MultiIndex.from_tuples([(0, "a"), (0, "b")]), ["level_0", "level_1"]),
        (pd.Index(["run1", "run2"]), ["index"]),
        (pd.Index([7, 8], name="event"), ["event"]),
        (pd.CategoricalIndex(["a", "b"], name="kind"), ["kind"]),
        (pd.RangeIndex(3, 5), ["index"]),
    ],
    ids=str,
)
def test_the_index_of_a_frame_is_columns(tmp_path: Path, index: Any, columns: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=index)
    for kind in ("mktree", "mkrntuple"):
        with farroot.recreate(tmp_path / "f.root") as file:
            getattr(file, kind)("t", frame).extend(frame)
        found = farroot.open(tmp_path / "f.root")["t"].arrays()
        expected = frame.reset_index()
        assert found.fields == list(expected.columns)
        for name in found.fields:
            assert found[name].tolist() == expected[name].tolist() * 2


def test_an_index_that_is_not_written_is_an_error(tmp_path: Path) -> None:
    dates = pd.to_datetime(["2020-01-01", "2020-01-02"])
    with farroot.recreate(tmp_path / "f.root") as file:
        for index in (
            dates,
            dates.tz_localize("UTC"),
            pd.period_range("2020", periods=2, freq="D"),
        ):
            with pytest.raises(farroot.UnsupportedError, match="reset_index"):
                file.mktree("t", pd.DataFrame({"a": [1, 2]}, index=index))
        with pytest.raises(farroot.InvalidArgumentError, match=r"'index'.*rename"):
            file.mktree("t", pd.DataFrame({"index": [1, 2]}))
        tree = file.mktree("t", {"a": "int64"})
        # Row numbers without a name are no column that the caller has asked for.
        tree.extend(pd.DataFrame({"a": [1, 2]}))
        for index in (pd.Index([7], name="event"), pd.Index(["text"])):
            with pytest.raises(farroot.InvalidArgumentError, match=r"no column '(event|index)'"):
                tree.extend(pd.DataFrame({"a": [3]}, index=index))
        with pytest.raises(farroot.InvalidArgumentError, match="no column 'index'"):
            tree.extend({"a": [3], "index": [3]})


def twice_named() -> list[Any]:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    numbers = ak.contents.NumpyArray(np.zeros(1))
    struct = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    return [
        table,
        table.to_batches()[0],
        table.to_reader(),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        ak.Array(ak.contents.RecordArray([numbers, numbers], ["a", "a"])),
        {"s": struct},
    ]


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_two_columns_of_one_name(tmp_path: Path, kind: str, number: int) -> None:
    """One of them was lost."""
    with (
        farroot.recreate(tmp_path / "f.root") as file,
        pytest.raises(farroot.InvalidArgumentError, match="rename"),
    ):
        getattr(file, kind)("t", twice_named()[number])


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        ("flaot32", "'flaot32'; did you mean \"float32\""),
        ("var * flaot32", 'did you mean "var [*] float32"'),
        ("int32_t", 'did you mean "int32"'),
        ("std::vector<float>", 'did you mean "var [*] float32"'),
        ("vector<vector<int>>", "not a NumPy dtype"),
        ("Double_t", 'did you mean "float64"'),
        ("std::array<double, 3>", 'did you mean "3 [*] float64"'),
        ("", "not a NumPy dtype"),
        ("var *", "not a NumPy dtype"),
        ({"r": "flaot32"}, "did you mean"),
        (("flaot32", (3,)), "not a NumPy dtype|of which"),
        ("M8[s]", "int64"),
        (complex, "real and imag"),
        (object, "ROOT has no type"),
    ],
    ids=str,
)
def test_misspelt_types(tmp_path: Path, type_: Any, said: str) -> None:
    """A misspelt type was taken for data."""
    with farroot.recreate(tmp_path / "f.root") as file:
        for kind in (file.mktree, file.mkrntuple):
            for types in ({"x": type_}, {"a": "int8", "x": type_}):
                with pytest.raises(farroot.Error, match=f"column 'x'.*({said})"):
                    kind("t", types)
        assert file.keys() == []
