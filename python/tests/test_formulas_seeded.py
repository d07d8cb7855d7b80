"""Formulas that seeds make up: Python's grammar beside NumPy and Awkward, ROOT's beside ROOT."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .root import written_by
from .seeded_formulas import in_python, in_root

ENTRIES = 60
SEEDS = 300


def columns() -> dict[str, Any]:
    """Numbers of all types, with their ends and zero, and lists."""
    chance = np.random.default_rng(7)
    made: dict[str, Any] = {"flag": chance.integers(0, 2, ENTRIES).astype(bool)}
    for size in (1, 2, 4, 8):
        for kind in "iu":
            dtype = np.dtype(f"{kind}{size}")
            numbers = chance.integers(-8 if kind == "i" else 0, 9, ENTRIES).astype(dtype)
            numbers[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
            made[dtype.str[1:]] = numbers
    for name in ("f4", "f8"):
        numbers = chance.normal(0, 3, ENTRIES).astype(name)
        numbers[:5] = 0, -0.0, math.inf, -math.inf, math.nan
        made[name] = numbers
    counts = chance.integers(0, 4, ENTRIES)
    made["v"] = ak.unflatten(chance.normal(0, 2, counts.sum()).astype("f4"), counts)
    made["w"] = ak.unflatten(chance.integers(-5, 6, counts.sum()).astype("i4"), counts)
    made["fixed"] = chance.normal(0, 2, (ENTRIES, 3))
    deep = ak.unflatten(chance.integers(0, 9, 2 * counts.sum()).astype("i2"), 2)
    made["deep"] = ak.unflatten(ak.from_regular(deep) if deep.ndim > 2 else deep, counts)
    made["text"] = ak.Array([chance.choice(["a", "b", "ab", ""]) for _ in range(ENTRIES)])
    return made


class _OtherError(Exception):
    """NumPy computes in floats of 16 bits, which farroot has not; Awkward's `where` gives constants
    a type, and mixes numbers with lists."""


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any) -> Any:
        found = function(*arguments)
        if "float16" in str(getattr(found, "type", getattr(found, "dtype", ""))):
            raise _OtherError
        return found

    return guarded


def _where(*arguments: Any) -> Any:
    if any(hasattr(each, "layout") for each in arguments):
        raise _OtherError
    return np.where(*arguments)


def _functions() -> dict[str, Any]:
    special = {"erf": math.erf, "erfc": math.erfc}

    def of_numbers(function: Callable[[float], float]) -> Callable[[Any], Any]:
        def of_any(values: Any) -> Any:
            if not hasattr(values, "layout"):
                array = np.asarray(values)
                found = np.array([function(x) for x in array.ravel().astype("f8")])
                dtype = array.dtype if array.dtype == "f4" else "f8"
                return found.reshape(array.shape).astype(dtype)

            def of_layout(layout: Any, **_: Any) -> Any:
                return ak.contents.NumpyArray(of_any(layout.data)) if layout.is_numpy else None

            return ak.transform(of_layout, values)

        return of_any

    names = farroot._core.formula_functions()
    of_numpy = {name: getattr(np, name) for name in names if hasattr(np, name)}
    of_numpy["neg"] = np.negative
    of_numpy["where"] = _where
    of_c = {name: of_numbers(function) for name, function in special.items()}
    return {name: _guarded(function) for name, function in {**of_numpy, **of_c}.items()}


def _expected(text: str, arrays: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = eval(text, _functions(), arrays)
    if not hasattr(found, "layout") and np.ndim(found) == 0:
        found = np.full(ENTRIES, found)
    return ak.from_regular(ak.Array(found), axis=None)


#: Whose last digits depend on the library of C.
_ROUNDED = re.compile("arc|cbrt|cos|erf|exp|hypot|log|sin|tan|[*][*]")


def _same(text: str, ours: Any, theirs: Any) -> bool:
    if str(ours.type) != str(theirs.type) or str(_counts(ours)) != str(_counts(theirs)):
        return False
    mine, other = (ak.to_numpy(ak.flatten(each, axis=None)) for each in (ours, theirs))
    if _ROUNDED.search(text) is None or not len(mine):
        return bool(np.array_equal(mine, other, equal_nan=mine.dtype.kind == "f"))
    # A value that is cut off behind a last digit may be another number.
    near = np.isclose(mine.astype("f8"), other.astype("f8"), 1e-4, 1e-300, equal_nan=True)
    return bool(near.mean() > 0.9)


def _counts(array: Any) -> Any:
    return [ak.num(array, axis=axis).to_list() for axis in range(1, array.ndim)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> farroot.Tree:
    path = tmp_path_factory.mktemp("formulas") / "python.root"
    with farroot.recreate(path) as file:
        file.mktree("t", columns())
    found = farroot.open(f"{path}:t")
    assert isinstance(found, farroot.Tree)
    return found


def test_formulas_give_what_numpy_and_awkward_give(tree: farroot.Tree) -> None:
    """Types, values and refusals; in steps of any size the same."""
    plain = columns()
    lists = {name: ak.from_regular(ak.Array(array), axis=None) for name, array in plain.items()}
    wrong, compared = [], 0
    for seed in range(SEEDS):
        text = in_python(seed)
        names = [name for name in plain if name in text]
        has_lists = any(lists[name].ndim > 1 or name == "text" for name in names)
        try:
            expected = _expected(text, lists if has_lists else plain)
        except _OtherError:
            continue
        except Exception as error:
            if "out of bounds" in str(error) and any(sign in text for sign in "<>=!"):
                # Awkward compares no constant that the type cannot hold; NumPy does.
                continue
            expected = error
        try:
            steps = list(tree.iterate(["f"], aliases={"f": text}, step_size=17 + seed % 50))
            found: Any = ak.from_regular(ak.concatenate([step["f"] for step in steps]), axis=None)
        except farroot.InvalidArgumentError as error:
            found = error
        compared += 1
        if isinstance(expected, Exception) or isinstance(found, Exception):
            if isinstance(expected, Exception) != isinstance(found, Exception):
                wrong.append((seed, text, str(expected)[:200], str(found)[:200]))
        elif not _same(text, found, expected):
            wrong.append((seed, text, str(expected)[:300], str(found)[:300]))
    assert not wrong, f"{len(wrong)} of {compared}: " + "\n".join(map(str, wrong[:20]))


#: Formulas that are not left to chance.
OF_ROOT = (
    "1*i2^2",
    "i4%3",
    "i2&3==2",
    "(i4>0)+(f4>0)",
    "i1*i1",
    "u4-5",
    "v[0]",
    "3",
    "v",
    "v+w",
    "v*matrix",
    "v[i2]",
    "v[u2]",
    "matrix[0]",
    "matrix[0][1]",
    "matrix[][1]",
    "vec",
    "vec[1]",
    "@vec.size()",
    "Sum$(v)",
    "Sum$(v*w)",
    "Length$(v)",
    "Length$(matrix)",
    "Sum$(v>0)",
    "Max$(v)-Min$(w)",
    "MinIf$(v,v>0)",
    "MaxIf$(w,w<0)",
    "Alt$(v[2],-1)",
    "v+Iteration$",
    "v*0+Length$",
    "Iteration$",
    "Entry$",
    "Entries$+0*Entry$",
    'text=="a"',
    'name=="yz"',
    'text!="a"',
    'strstr(text,"b")',
    "-f4^2",
    "2^3^2",
    "7%4%3",
    "1+2<<3",
    "2-3+4",
    "7-3-2",
    "8/4/2",
    "8/4*2",
    "7*5%3",
    "7%5*3",
    "!flag+1",
    "-7%3",
    "i4/0",
    "f4>0?v:w",
    "f4>0?1:i4>0?2:3",
    "sqrt(-4)",
    "TMath::Sqrt(f4)",
    "log(-1)",
    "exp(1000)",
    "acos(2)",
    "TMath::Pi()*pi",
    "TMath::Abs(i4)",
    "TMath::Max(f4,f8)",
    "min(f4,f8)",
    "floor(f4)",
    "exp(fmod(f4,0*f4))",
    "fabs(f4)",
    "int(f4)",
    "1e3+1.5e-2+0x10+.5",
    "f4 && v",
    "-1&3",
    "i8",
    "i8*2",
    "flag",
    "flag+flag",
    "n==2&&v[1]>0",
    "v[1]>0||n==0",
    "v[n-1]",
    "fixed*v",
    "fixed+matrix",
    "matrix[1]*fixed",
    "v*w*vec",
    "w*vec*one",
    "one*fixed",
    "fixed*one",
    "one*w",
    "matrix*w",
    "deep*w",
    "w*deep",
    "deep*deeper",
    "deeper*deep",
    "deep[0]*w",
    "matrix*deep",
    "square*w",
    "square*matrix",
    "Sum$(v*w)",
    "Max$(w*v)",
    "Length$(v*w)",
    "v*w*Iteration$",
    "v>0&&w>0",
    "v>0?w:vec",
    "a.b.c(1)",
    "TMath::Nint(f8*3)",
    "TMath::FloorNint(f8*3)",
    "TMath::CeilNint(f8*3)",
    "TMath::Sign(2.,f8)",
    "TMath::SignBit(f8)",
    "TMath::Odd(i4)",
    "TMath::Even(f8*3)",
    "TMath::Range(-2,5,f8*9)",
    "TMath::IsNaN(f4)+TMath::Finite(f8)",
    "TMath::Gaus(f8)",
    "TMath::Gaus(f8,1)",
    "TMath::Gaus(f8,1,2)",
    "TMath::Gaus(f8,u2,2,1)",
    "TMath::Gaus(v,w,2)",
    "TMath::Gamma(f8)",
    "TMath::LnGamma(u1+1)",
    "TMath::Factorial(u2)",
    "TMath::Prob(abs(f8),n)",
    "TMath::Prob(u1,u2*5)",
    "TMath::Freq(f8)",
    "TMath::Binomial(9,u2)",
    "TMath::Poisson(u2,2.5)",
    "round(f8*3)",
    "std::abs(f8)",
    "LocalEntry$",
    "LocalEntries$+0*Entry$",
    "vec@.size()",
    "Alt$(v,n)+0*w",
    "Alt$(v[1],n)",
)

#: ROOT reads items of the next row for these, or memory behind the end of the array.
UNDEFINED = ("matrix*matrix[1]", "square[1]*square", "square[0]*matrix", "thin*square")


def _flat(found: Any) -> list[float]:
    return [float(each) for each in ak.flatten(ak.drop_none(found), axis=None)]


@pytest.mark.interop
def test_aliases_of_files_give_what_root_draws(tmp_path: Path) -> None:
    """Aliases were taken for Python's: ^ was no power, % had another sign, v[0] took entries."""
    formulas = [*OF_ROOT, *(in_root(seed) for seed in range(300))]
    (tmp_path / "formulas.json").write_text(json.dumps([*formulas, *UNDEFINED]))
    written_by("formulas", tmp_path, tmp_path / "formulas.json")
    drawn = json.loads((tmp_path / "drawn.json").read_text())
    tree = farroot.open(tmp_path / "formulas.root")["t"]
    wrong: list[tuple[str, ...]] = []
    refused: list[tuple[str, str]] = []
    for number, (text, expected) in enumerate(zip(formulas, drawn[: len(formulas)], strict=True)):
        try:
            found = tree.arrays([f"formula{number}"])[f"formula{number}"]
        except farroot.InvalidArgumentError as error:
            if expected is not None and "must have as many items" not in str(error):
                refused.append((text, str(error)[:150]))
            continue
        except farroot.KeyInFileError as error:
            found = error
        if expected is None:
            continue
        if isinstance(found, Exception) or len(found) != tree.num_entries:
            wrong.append((text, str(found)[:200]))
            continue
        ours = _flat(found)
        if "deep" in text and len(ours) == len(expected):
            # ROOT reads any memory where farroot says that there is no item.
            expected = [ours[at] if np.isnan(ours[at]) else one for at, one in enumerate(expected)]
        is_same = len(ours) == len(expected) and np.allclose(
            ours, expected, rtol=1e-12, atol=1e-300, equal_nan=True
        )
        if not is_same:
            wrong.append((text, str(expected)[:300], str(ours)[:300]))
    assert not wrong, f"{len(wrong)} wrong: " + "\n".join(map(str, wrong[:20]))
    assert not refused, f"{len(refused)} refused: " + "\n".join(map(str, refused[:20]))
    for number in range(len(UNDEFINED)):
        with pytest.raises(farroot.InvalidArgumentError, match=r"more dimensions|next row"):
            tree.arrays([f"formula{len(formulas) + number}"])
