"""Cuts, aliases and computed columns: the same as uproot's, and nothing else than computing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot import _core

from .conftest import ENTRIES
from .entry_points import run_here

CUTS = [
    "int8 > 3",
    "(int8 > 3) & (float32 < 0.5)",
    "(int8 > 100) | ~(int16 > 0)",
    "bool",
    "~bool",
    "bool ^ (uint8 % 2 == 0)",
    "float64 != float64",
    "sqrt(abs(float32)) + 1 >= 1.5",
    "where(bool, int32, -int32) > 0",
    "hypot(float32, float64) < 1",
    "2 ** (int8 % 3) == 4",
    "int64 // 7 % 2 == 1",
    "(uint16 >> 3) & 1 == 1",
    "arctan2(float32, float64) > 0.1",
    "logical_and(bool, isfinite(float64))",
    "twice > 10",
    "deep < 0",
    "matrix[:, 1, 2] > 50",
    "fixed[:, 0] > 0",
    "get('float32') > 0",
    "(int8 > 100) & (int8 < 0)",
    "int8 >= -128",
    "text == 'entry 1'",
    "(text != '') & ('entry 3entry 3entry 3' != text)",
]
ALIASES = {"twice": "int8 * 2", "deep": "twice - int16 / 100"}
COLUMNS = ["int8", "float64", "jagged", "matrix", "text"]
#: Columns of which uproot makes a DataFrame.
FLAT = ["int8", "float64"]


@pytest.fixture(scope="module")
def place(made: Path) -> str:
    return f"{made}:events"


def tree_at(place: str) -> farroot.Tree:
    tree = farroot.open(place)
    assert isinstance(tree, farroot.Tree)
    return tree


def same(ours: Any, theirs: Any) -> bool:
    return bool(ak.array_equal(ours, theirs, equal_nan=True, dtype_exact=True))


@pytest.mark.parametrize("cut", CUTS)
def test_cuts_leave_what_they_leave_in_uproot(place: str, cut: str) -> None:
    ours = tree_at(place).arrays(COLUMNS, cut, aliases=ALIASES)
    theirs = uproot.open(place).arrays(COLUMNS, cut, aliases=ALIASES)
    assert ours.fields == theirs.fields == COLUMNS
    assert len(ours) == len(theirs)
    for name in COLUMNS:
        assert same(ours[name], theirs[name]), name


@pytest.mark.parametrize("library", ["np", "pd"])
def test_cuts_in_other_libraries(place: str, library: Any) -> None:
    names = ["int8", "float64", "twice"] + (["jagged"] if library == "np" else [])
    arguments: Any = {"aliases": ALIASES, "library": library}
    ours = tree_at(place).arrays(names, "(int16 > 0) & bool", **arguments)
    theirs = uproot.open(place).arrays(names, "(int16 > 0) & bool", **arguments)
    if library == "pd":
        assert list(ours.index) == list(theirs.index)
    for name in names:
        for mine, other in zip(ours[name], theirs[name], strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("step_size", [1, 7, 170, 333, ENTRIES, "1 kB"])
def test_steps_with_a_cut_are_those_without_it(place: str, step_size: Any) -> None:
    cut = "(int8 > 20) & (float32 < 1)"
    last = 40 if step_size == 1 else None
    tree = tree_at(place)
    steps = tree.iterate(
        COLUMNS, cut, step_size=step_size, report=True, library="pd", entry_stop=last
    )
    whole = uproot.open(place).arrays(FLAT, cut, library="pd", entry_stop=last)
    begin, index = 0, []
    for frame, report in steps:
        assert report.start == begin
        begin = report.stop
        assert all(report.start <= number < report.stop for number in frame.index)
        index.extend(frame.index)
    assert begin == (ENTRIES if last is None else last)
    assert index == list(whole.index)


def test_computed_columns(place: str) -> None:
    columns = ["jagged * 2 + int8", "twice", "deep", "sqrt(jagged ** 2)", "float32"]
    ours = tree_at(place).arrays(columns, aliases=ALIASES)
    theirs = uproot.open(place).arrays(columns, aliases=ALIASES)
    assert ours.fields == theirs.fields == columns
    for name in columns:
        assert same(ours[name], theirs[name]), name
    assert tree_at(place).arrays("int8*2", how=tuple)[0].tolist() == ours["twice"].tolist()


def test_every_function_of_uproot_is_there(place: str) -> None:
    from uproot.language.python import PythonLanguage

    assert PythonLanguage.default_functions.keys() <= set(_core.formula_functions())


def test_special_functions(place: str) -> None:
    """Those of uproot are approximations; here they are C's. Of floats of 32 bits, they were floats
    of 64 bits."""
    names = ("erf", "erfc", "gamma", "lgamma", "tgamma", "factorial")
    columns = [f"{name}(abs(float32) + int8 % 5 + 0.25)" for name in names]
    ours = tree_at(place).arrays(columns)
    theirs = uproot.open(place).arrays(columns)
    for name in columns:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-6)
        assert str(ours[name].type) == str(theirs[name].type)
    numbers = tree_at(place)["float32"].array(library="np").astype(float)
    found = tree_at(place).arrays(["erf(float32)", "factorial(int8 % 5)", "gamma(int8 * 0 - 1)"])
    of_c = [math.erf(number) for number in numbers]
    np.testing.assert_array_equal(found["erf(float32)"], np.array(of_c, np.float32))
    assert set(found["factorial(int8 % 5)"].tolist()) == {1, 2, 6, 24}
    assert np.all(np.isnan(found["gamma(int8 * 0 - 1)"]))
    assert tree_at(place).arrays("gamma(200.0 + int8 * 0)", how=tuple)[0][0] == np.inf
    jagged = tree_at(place).arrays(["jagged", "erfc(jagged)"])
    flat = ak.flatten(jagged["erfc(jagged)"])
    assert ak.num(jagged["erfc(jagged)"]).tolist() == ak.num(jagged.jagged).tolist()
    of_c = [math.erfc(number) for number in ak.flatten(jagged.jagged)]
    np.testing.assert_array_equal(flat, np.array(of_c, np.float32))


def test_a_glob_is_one_before_it_is_a_product(place: str) -> None:
    assert tree_at(place).arrays("int*8").fields == ["int8"]
    assert tree_at(place).arrays("int8*int16").fields == ["int8*int16"]


def test_many_files_with_a_cut(made: Path, tmp_path: Path) -> None:
    from .conftest import write

    other = write(tmp_path / "other.root", 2, 300)
    places = {str(made): "events", str(other): "events"}
    cut = "jump & (int8 > 0)"
    aliases = {"jump": "bool"}
    ours = farroot.concatenate(places, COLUMNS, cut, aliases=aliases, library="pd")
    theirs = [
        uproot.open({path: tree}).arrays(FLAT, cut, aliases=aliases, library="pd")
        for path, tree in places.items()
    ]
    assert list(ours["int8"]) == [value for frame in theirs for value in frame["int8"]]
    assert list(ours.index) == [*theirs[0].index, *(theirs[1].index + ENTRIES)]
    part = farroot.concatenate(places, COLUMNS, cut, aliases=aliases, entry_start=900)
    assert len(part) == int((ours.index >= 900).sum())
    sizes = [len(step) for step in farroot.iterate(places, "int8", cut, aliases=aliases)]
    assert sum(sizes) == len(ours)


def test_no_columns_and_no_survivors(place: str) -> None:
    tree = tree_at(place)
    none = tree.arrays(COLUMNS, "(int8 > 100) & (int8 < 0)")
    assert len(none) == 0
    assert none.fields == COLUMNS
    assert len(tree.arrays([], "int8 > 0")) == len(tree.arrays("int8", "int8 > 0"))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("jagged > 0", "one bool an entry"),
        ("int8", "one bool an entry"),
        ("True", "one bool an entry"),
        ("bool and bool", "&"),
        ("not bool", "~"),
        ("(int8 > 1) && (int8 < 5)", "write &,"),
        ("(int8 > 1) || (int8 != 5)", "write |,"),
        ("!(int8 > 1)", "write ~,"),
        ("0 < int8 < 5", "in a row"),
        ("int8 >", "ends too early"),
        ("int8.__class__ > 0", 'no branch is called "int8.__class__"'),
        ("(int8 > 0).all()", 'cannot be read at "."'),
        ("__import__('os')", "__import__"),
        ("open('x')", 'a function "open"'),
        ("[b for b in bool]", "cannot be read at"),
        ("(lambda: bool)()", 'cannot be read at ":"'),
        ("bool if bool else bool", 'cannot be read at "if"'),
        ("sqrt(x=int8) > 0", 'cannot be read at "="'),
        ("f'{int8}'", "cannot be read at"),
        ("int8 * 'a' == 'aa'", "may not contain"),
        ("text > 'a'", "may not contain"),
        ("nothing_of_that_name > 0", "nothing_of_that_name"),
        ("circle > 0", "refers to itself"),
        ("(" * 500 + "bool" + ")" * 500, "nests too deeply"),
    ],
)
def test_what_is_no_cut_is_refused(place: str, wrong: str, told: str) -> None:
    aliases = {"circle": "circular + 1", "circular": "circle * 2"}
    with pytest.raises((farroot.InvalidArgumentError, farroot.KeyInFileError)) as caught:
        tree_at(place).arrays(COLUMNS, wrong, aliases=aliases)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "wrong", ["int8 >", "0 < int8 < 5", "bool && bool", "open('x')", "abs(x=int8) > 0", "int8 = 1"]
)
def test_the_shell_reads_formulas_alike(
    place: str, wrong: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Cuts of the shell had a grammar of their own, with other words for the fault."""
    with pytest.raises(farroot.InvalidArgumentError) as caught:
        tree_at(place).arrays("int8", wrong)
    assert run_here("cat", place, "-c", "int8", "--cut", wrong) != 0
    assert str(caught.value) in capfd.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        "float32 & 1 == 0",
        "text > 1",
        "text + 1 == 2",
        "jagged[0] > 1",
        "int8[0] > 1",
        "int8[::2] > 1",
        "int8[..., 0] > 1",
        "int8[bool] > 1",
        "fixed[:, 99] > 1",
        "9 ** 9 ** 9 ** 9 > int8",
        "1 << 10000000000 > int8",
        "int8 + 300 > 2",
        "bool - bool",
    ],
)
def test_what_cannot_be_computed_is_an_error_of_farroot(place: str, wrong: str) -> None:
    """NumPy's and Awkward's own errors came out, or another number of values than of entries."""
    with pytest.raises(farroot.InvalidArgumentError):
        tree_at(place).arrays("int8", wrong)
    with pytest.raises(farroot.InvalidArgumentError):
        list(tree_at(place).iterate(wrong, step_size=100))


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
def test_a_constant_is_one_value_an_entry(place: str, library: Any) -> None:
    """Constants came as one value, and with Awkward not at all."""
    steps = tree_at(place).iterate(["int8", "three"], aliases={"three": "3"}, library=library)
    assert all(len(step["three"]) == len(step["int8"]) for step in steps)


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
def test_formulas_of_missing_entries(tmp_path: Path, library: Any) -> None:
    """With NumPy and pandas an error of Awkward came out."""
    for name, count in (("m", 4), ("s", 2)):
        with farroot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("t", {name: np.arange(count, dtype="f4")})
    tree = tree_at(f"{tmp_path / 'm.root'}:t")
    tree.add_friend(f"{tmp_path / 's.root'}:t", "s")
    found = tree.arrays(["y"], aliases={"y": "s + 1"}, library=library)["y"]
    values = found.to_pylist() if library == "arrow" else list(found.tolist())
    assert values[:2] == [1.0, 2.0]
    assert all(each is None or math.isnan(each) for each in values[2:])
