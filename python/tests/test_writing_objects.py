"""Histograms, graphs and texts that farroot writes: read by farroot and uproot, equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boost_histogram as bh
import hist
import numpy as np
import pytest
import uproot

import farroot
from farroot.writing import identify

RANDOM = np.random.default_rng(5)
X, Y, Z = RANDOM.normal(size=(3, 200))
WEIGHTS = RANDOM.random(200)
NEW = hist.Hist.new


HISTOGRAMS: dict[str, Any] = {
    "one axis": NEW.Reg(5, -1, 1, name="x", label="X").Double().fill(X),
    "whole numbers": NEW.Reg(5, -1, 1).Int64().fill(X),
    "edges": NEW.Var([-1, 0, 0.5, 2]).Double().fill(X),
    "integers": NEW.Integer(-2, 2).Double().fill(X.astype(int)),
    "weights": NEW.Reg(5, -1, 1).Weight().fill(X, weight=WEIGHTS),
    "names": NEW.StrCat(["a", "b"]).Double().fill(["a", "b", "a", "c"]),
    "numbers as names": NEW.IntCat([4, 2]).Double().fill([4, 2, 4]),
    "two axes": NEW.Reg(3, -1, 1).Var([-1, 0, 3]).Weight().fill(X, Y, weight=WEIGHTS),
    "three axes": NEW.Reg(3, -1, 1).Reg(2, -1, 1).Reg(4, -1, 1).Double().fill(X, Y, Z),
    "no flow": NEW.Reg(5, -1, 1, flow=False).Double().fill(X),
    "boost": bh.Histogram(bh.axis.Regular(4, 0, 1)).fill(X),
}


def both(path: Path, key: str) -> tuple[Any, Any]:
    return farroot.open(path)[key], uproot.open(path)[key]


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_of_hist_and_boost(tmp_path: Path, name: str) -> None:
    histogram = HISTOGRAMS[name]
    with farroot.recreate(tmp_path / "f.root") as file:
        file["h"] = histogram
        assert np.array_equal(file["h"].values(), histogram.values())
    for read in both(tmp_path / "f.root", "h"):
        assert np.array_equal(read.values(), histogram.values())
        assert np.array_equal(read.variances(), histogram.variances())
        edges = [axis.edges for axis in histogram.axes]
        labels = ["names" in name] * len(edges)
        for axis, expected, is_named in zip(read.axes, edges, labels, strict=True):
            if is_named:
                assert axis.labels() == [str(label) for label in histogram.axes[0]]
            else:
                assert np.allclose(axis.edges(), expected)
        if "flow" not in name and "names" not in name:
            assert np.array_equal(read.values(flow=True), histogram.values(flow=True))
            assert read.member("fEntries") == histogram.values(flow=True).sum()
        weights = histogram.values()
        assert np.isclose(read.member("fTsumw"), weights.sum())


@pytest.mark.parametrize("storage", ["Mean", "WeightedMean"])
def test_profiles(tmp_path: Path, storage: str) -> None:
    profile = getattr(NEW.Reg(5, -1, 1), storage)()
    weight = {"weight": WEIGHTS} if storage == "WeightedMean" else {}
    profile.fill(X, sample=Y, **weight)
    with farroot.recreate(tmp_path / "f.root") as file:
        file["p"] = profile
    for read in both(tmp_path / "f.root", "p"):
        assert read.classname == "TProfile"
        assert np.allclose(read.values(), profile.values())
        assert np.allclose(read.member("fBinEntries")[1:-1], profile.view()[_weights(storage)])


def _weights(storage: str) -> str:
    return "count" if storage == "Mean" else "sum_of_weights"


def test_what_numpy_makes(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        file["one"] = np.histogram(X, bins=4)
        file["titled"] = (*np.histogram(X, bins=[-1, 0, 3]), "a title")
        file["two"] = np.histogram2d(X, Y, bins=(3, 4))
        file["many"] = np.histogramdd(np.stack([X, Y, Z], axis=1), bins=(2, 3, 4))
    for name, expected in [
        ("one", np.histogram(X, bins=4)),
        ("titled", np.histogram(X, bins=[-1, 0, 3])),
        ("two", np.histogram2d(X, Y, bins=(3, 4))),
    ]:
        for read in both(tmp_path / "f.root", name):
            for found, made in zip(read.to_numpy(), expected, strict=True):
                assert np.allclose(found, made)
    contents, edges = np.histogramdd(np.stack([X, Y, Z], axis=1), bins=(2, 3, 4))
    for read in both(tmp_path / "f.root", "many"):
        assert np.array_equal(read.values(), contents)
        assert np.allclose(read.axes[2].edges(), edges[2])
    assert farroot.open(tmp_path / "f.root")["titled"].member("fTitle") == "a title"


def test_what_was_read_is_written_again(tmp_path: Path) -> None:
    """With all that was filled, which bins alone do not tell."""
    first, second = tmp_path / "1.root", tmp_path / "2.root"
    with farroot.recreate(first) as file:
        for name, histogram in HISTOGRAMS.items():
            file[name] = histogram
        file["p"] = NEW.Reg(5, -1, 1).Mean().fill(X, sample=Y)
        file["g"] = farroot.as_TGraph({"x": X, "y": Y, "x_errors": WEIGHTS, "y_errors": WEIGHTS})
    for opened in (farroot.open(first), uproot.open(first)):
        with farroot.recreate(second) as file:
            for key in opened:
                file[key.partition(";")[0]] = opened[key]
        once, again = farroot.open(first), farroot.open(second)
        assert once.classnames() == again.classnames()
        for key in once:
            assert _members(once[key]) == _members(again[key]), key


def _members(read: Any) -> str:
    with np.printoptions(threshold=100_000):
        return repr(dict(read))


def test_graphs(tmp_path: Path) -> None:
    columns = {"x": [1.0, 2.0], "y": [3.0, 5.0]}
    sides = {f"{axis}_errors_{side}": [0.1, 0.2] for axis in "xy" for side in ("low", "high")}
    with farroot.recreate(tmp_path / "f.root") as file:
        file["plain"] = farroot.as_TGraph(columns, title="T", xAxisLabel="X", yAxisLabel="Y")
        file["sides"] = farroot.as_TGraph({**columns, **sides})
    for read in both(tmp_path / "f.root", "plain"):
        assert [list(each) for each in read.values()] == [[1, 2], [3, 5]]
        assert read.member("fTitle") == "T;X;Y"
    for read in both(tmp_path / "f.root", "sides"):
        assert list(read.errors("high", "y")) == [0.1, 0.2]
    for wrong in ({"x": [1]}, {"x": [1], "y": [1, 2]}, {**columns, "x_errors": [1, 2]}):
        with pytest.raises(farroot.InvalidArgumentError):
            farroot.as_TGraph(wrong).core()


def test_texts_and_lists_of_them(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        file["text"] = "häufig" * 100
        file["list"] = identify.to_TList([identify.to_TObjString("a"), np.histogram(X)])
    ours, theirs = both(tmp_path / "f.root", "text")
    assert ours == theirs == "häufig" * 100
    ours, theirs = both(tmp_path / "f.root", "list")
    assert ours[0] == theirs[0] == "a"
    assert ours[1].classname == theirs[1].classname == "TH1D"


@pytest.mark.parametrize(
    "what", [5, b"bytes", object(), None, [1, 2]], ids=lambda what: type(what).__name__
)
def test_what_root_has_no_class_for_is_an_error(tmp_path: Path, what: Any) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        with pytest.raises(farroot.ArgumentTypeError, match="is not written"):
            file["x"] = what
        assert file.keys() == []


def test_containers_that_were_read_are_copied_as_they_are_alone(tmp_path: Path) -> None:
    """A map without entries became an RNTuple without columns."""
    containers = farroot.STLMap([], []), farroot.STLMap(["a"], [1]), farroot.STLVector([1])
    with farroot.recreate(tmp_path / "f.root") as file:
        for container in containers:
            with pytest.raises(farroot.ArgumentTypeError, match="copy_from copies it"):
                file["x"] = container
        assert file.keys() == []


def test_a_name_has_no_cycle(tmp_path: Path) -> None:
    """A key named ``a;1``, which ROOT cannot find, was written."""
    with farroot.recreate(tmp_path / "f.root") as file:
        for name in ("a;1", "d/a;12"):
            with pytest.raises(farroot.InvalidArgumentError, match="cycle=False"):
                file[name] = "text"
            with pytest.raises(farroot.InvalidArgumentError, match="cycle=False"):
                file.mktree(name, {"x": "int32"})
        file["a;b"] = "text"
        assert file.keys(cycle=False) == ["a;b"]


def test_members_under_their_names_in_root(tmp_path: Path) -> None:
    axis = identify.to_TAxis(fName="xaxis", fTitle="", fNbins=2, fXmin=0, fXmax=1)
    members = {"fEntries": 5, "fTsumw": 4, "fTsumw2": 4, "fTsumwx": 1, "fTsumwx2": 1}
    cells = np.array([1, 2, 2, 0], dtype=np.float32)
    with farroot.recreate(tmp_path / "f.root") as file:
        file["h"] = identify.to_TH1x(
            fName=None, fTitle="title", data=cells, fSumw2=None, fXaxis=axis, **members
        )
        with pytest.raises(farroot.InvalidArgumentError, match="2 bins have 4 cells"):
            file["h"] = identify.to_TH1x(None, "", np.zeros(3), fXaxis=axis)
    for read in both(tmp_path / "f.root", "h"):
        assert read.classname == "TH1F"
        assert read.values(flow=True).tolist() == [1, 2, 2, 0]
        assert {name: read.member(name) for name in members} == members
