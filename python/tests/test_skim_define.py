"""Skims with new columns, which are written beside the copied ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .root import by_root
from .test_skim import skimmed

#: New columns: formulas and functions.
DEFINED: dict[str, str | Callable[..., Any]] = {
    "sum": "x + n",
    "is_high": "sum > 3.0",
    "root": "sqrt(abs(x))",
    "first": lambda jets: ak.fill_none(ak.firsts(jets), -1.0),
    "scaled": lambda jets, n: jets * n,
    "text": lambda n: [f"<{each}>" for each in n],
}


def made(path: Path, kind: str = "tree", clusters: int = 4, entries: int = 500) -> Path:
    """Writes clusters of which some, all or none of the entries pass the cuts below."""
    numbers = np.random.default_rng(len(path.name))
    with farroot.recreate(path) as file:
        make = file.mkrntuple if kind == "rntuple" else file.mktree
        types = {"n": "int32", "x": "float64", "jets": "var * float64"}
        table = make("t", types, cluster=entries)
        for cluster in range(clusters):
            counts = numbers.integers(0, 4, entries)
            jets = ak.unflatten(numbers.random(counts.sum()), counts)
            table.extend(
                {"n": np.full(entries, cluster), "x": numbers.random(entries), "jets": jets}
            )
    return path


def expected(paths: list[Path], cut: Callable[[Any], Any] | None) -> dict[str, list[Any]]:
    all_of: dict[str, list[Any]] = {}
    for path in paths:
        arrays = uproot.open(path)["t"].arrays(["n", "x", "jets"])
        n, x, jets = (arrays[name] for name in ("n", "x", "jets"))
        arrays = {
            "n": n,
            "x": x,
            "jets": jets,
            "sum": x + n,
            "is_high": x + n > 3.0,
            "root": np.sqrt(abs(x)),
            "first": ak.fill_none(ak.firsts(jets), -1.0),
            "scaled": jets * n,
            "text": ak.Array([f"<{each}>" for each in n]),
        }
        for name, array in arrays.items():
            left = array if cut is None else array[cut(arrays)]
            all_of.setdefault(name, []).extend(ak.to_list(left))
    return all_of


CUTS: dict[str | None, Callable[[Any], Any] | None] = {
    None: None,
    "n >= 2": lambda of: of["n"] >= 2,
    "is_high & (x < 0.9)": lambda of: of["is_high"] & (of["x"] < 0.9),
    "n < 0": lambda of: of["n"] < 0,
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_new_columns_are_what_their_formulas_give(
    tmp_path: Path, kind: str, cut: str | None
) -> None:
    paths = [made(tmp_path / "one.root", kind), made(tmp_path / "second.root", kind, entries=900)]
    output = tmp_path / "out.root"
    found = farroot.skim([f"{path}:t" for path in paths], output, cut=cut, define=DEFINED)
    values = expected(paths, CUTS[cut])
    assert found.entries == len(values["n"])
    for reader in (farroot, uproot):
        table = reader.open(output)["t"]
        assert table.num_entries == found.entries
        for name, column in values.items():
            assert ak.to_list(table[name].array()) == column, (reader.__name__, name)


def test_columns_of_formulas_need_not_be_kept(tmp_path: Path) -> None:
    path, output = made(tmp_path / "in.root"), tmp_path / "out.root"
    farroot.skim({path: "t"}, output, "x", cut="twice > 2", define={"twice": "2 * n"})
    table = farroot.open(output)["t"]
    assert table.keys() == ["x", "twice"]
    assert table["twice"].array().tolist() == [4] * 500 + [6] * 500


def test_clusters_are_those_of_what_is_copied(tmp_path: Path) -> None:
    path, output = made(tmp_path / "in.root"), tmp_path / "out.root"
    farroot.skim({path: "t"}, output, define={"y": "2 * x"})
    table = uproot.open(output)["t"]
    entries = [list(table[name].member("fBasketEntry")[:5]) for name in ("x", "y")]
    assert entries == [[0, 500, 1000, 1500, 2000]] * 2


def test_a_shell_defines_too(tmp_path: Path) -> None:
    path, output = made(tmp_path / "in.root"), tmp_path / "out.root"
    new = ("--define", "y = x * 2 + n", "--define", "high=y > 3")
    report = skimmed(f"{path}:t", output, *new, "--cut", "high")
    values = expected([path], lambda of: of["x"] * 2 + of["n"] > 3)
    assert report["entries"] == len(values["x"])
    table = farroot.open(output)["t"]
    found = table.arrays(["y", "high"])
    assert found["y"].tolist() == [2 * x + n for x, n in zip(values["x"], values["n"], strict=True)]
    assert all(found["high"].tolist())


def test_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    paths = [made(tmp_path / name) for name in ("a.root", "bc.root", "def.root")]
    contents = set()
    for at in range(3):
        output = tmp_path / str(at) / "out.root"
        output.parent.mkdir()
        farroot.skim(
            [f"{path}:t" for path in paths],
            output,
            cut="x < 0.5",
            define=DEFINED,
            reproducible=True,
        )
        contents.add(output.read_bytes())
    assert len(contents) == 1


def test_what_is_no_new_column(tmp_path: Path) -> None:
    path, output = made(tmp_path / "in.root"), tmp_path / "out.root"
    wrong: dict[str, tuple[dict[str, Any], str]] = {
        "there": ({"x": "2 * n"}, "x is there already"),
        "counter": ({"y": lambda jets: jets, "ny": "n"}, 'than "ny" counts'),
        "length": ({"y": lambda x: x[1:]}, "values for"),
        "no column": ({"y": lambda: 3}, "computed from no column"),
        "constant": ({"y": "3"}, "computed from no column"),
        "any": ({"y": lambda *all: all}, r"\*args"),
        "formula": ({"y": "2 *"}, "ends too early"),
    }
    for case, (define, why) in wrong.items():
        with pytest.raises(farroot.Error, match=why):
            farroot.skim({path: "t"}, output, define=define)
        assert not output.exists(), case
    with pytest.raises(farroot.KeyInFileError, match="nothing"):
        farroot.skim({path: "t"}, output, define={"y": "nothing + 1"})
    with pytest.raises(ZeroDivisionError):
        farroot.skim({path: "t"}, output, define={"y": lambda x: x / (1 // 0)})
    assert not output.exists()


#: Prints sums and counts of the new columns, as ROOT reads them: a line for each file.
BY_ROOT = """
import sys
import ROOT

for path in sys.argv[1:]:
    frame = ROOT.RDataFrame("t", path)
    print(frame.Count().GetValue(), frame.Sum("sum").GetValue(), end=" ")
    third = frame.Filter('std::string(text.data(), 3) == "<3>"')
    print(frame.Sum("scaled").GetValue(), frame.Filter("is_high").Count().GetValue(), end=" ")
    print(third.Count().GetValue())
"""


@pytest.mark.interop
def test_root_reads_new_columns(tmp_path: Path) -> None:
    paths, outputs = {}, {}
    for kind in ("tree", "rntuple"):
        paths[kind] = made(tmp_path / f"{kind}.root", kind)
        for at, cut in enumerate((None, "is_high & (x < 0.9)")):
            outputs[kind, cut] = output = tmp_path / f"{kind}-{at}.root"
            farroot.skim({paths[kind]: "t"}, output, cut=cut, define=DEFINED)
    lines = by_root(BY_ROOT, *outputs.values()).splitlines()
    for (kind, cut), line in zip(outputs, lines, strict=True):
        _is_read(expected([paths[kind]], CUTS[cut]), line)


def _is_read(values: dict[str, Any], line: str) -> None:
    """Compares a line of `BY_ROOT` with the values of all columns."""
    count, total, scaled, high, third = line.split()
    assert int(count) == len(values["n"])
    assert float(total) == pytest.approx(sum(values["sum"]), 1e-5)
    assert float(scaled) == pytest.approx(float(ak.sum(values["scaled"])), 1e-5)
    assert int(high) == sum(values["is_high"])
    assert int(third) == values["text"].count("<3>")
