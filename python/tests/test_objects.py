"""Objects that are no trees, compared with uproot's."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot.objects import NOTHING, Graph, Object

#: Classes that are read in ways of their own.
TABLES = ("TTree", "TNtuple", "TNtupleD", "TDirectory", "TDirectoryFile", "ROOT::RNTuple")


def objects(corpus: Path, *kinds: str) -> Iterator[tuple[str, Any, Any]]:
    """Where each object of those classes is, as farroot and as uproot read it."""
    for path in sorted(corpus.glob("*.root")):
        ours = farroot.open(path)
        with uproot.open(path) as theirs:
            for key, classname in ours.classnames().items():
                if classname.startswith(kinds) and classname not in TABLES:
                    yield f"{path.name}:{key}", ours[key], theirs[key]


@pytest.mark.filterwarnings("ignore")
def test_histograms_and_profiles_are_equal(corpus: Path) -> None:
    compared = 0
    for where, ours, theirs in objects(corpus, "TH1", "TH2", "TH3", "TProfile"):
        assert (ours.name, ours.title, ours.kind) == (theirs.name, theirs.title, theirs.kind)
        for flow in (False, True):
            for what in ("values", "variances", "errors", "counts"):
                expected = getattr(theirs, what)(flow=flow)
                np.testing.assert_allclose(getattr(ours, what)(flow=flow), expected, err_msg=where)
        for mine, other in zip(ours.axes, theirs.axes, strict=True):
            np.testing.assert_array_equal(mine.edges(flow=True), other.edges(flow=True))
            np.testing.assert_array_equal(mine.centers(), other.centers())
            assert mine.labels() == other.labels()
        np.testing.assert_array_equal(np.asarray(ours), theirs.values())
        compared += 1
    assert compared >= 12


@pytest.mark.filterwarnings("ignore")
def test_histograms_are_taken_by_boost_histogram_and_hist(corpus: Path) -> None:
    pytest.importorskip("boost_histogram")
    hist = pytest.importorskip("hist")
    compared = 0
    for where, ours, _ in objects(corpus, "TH1", "TH2", "TProfile"):
        made = ours.to_hist()
        assert isinstance(made, hist.Hist)
        np.testing.assert_allclose(made.values(), ours.values(), err_msg=where)
        if ours.axis("x").labels() is None:
            np.testing.assert_allclose(made.axes[0].edges, ours.axis("x").edges())
        if ours.kind == "COUNT":
            np.testing.assert_allclose(made.variances(), ours.variances(), err_msg=where)
        compared += 1
    assert compared >= 15


@pytest.mark.filterwarnings("ignore")
def test_members_of_any_class_are_those_of_uproot(corpus: Path) -> None:
    compared = 0
    for where, ours, theirs in objects(corpus, "TParameter", "TNamed", "TGraph", "RooCurve"):
        assert isinstance(ours, Object)
        assert ours.classname == theirs.classname
        for name, value in theirs.all_members.items():
            if isinstance(value, int | float | np.ndarray | str) and not name.startswith("@"):
                np.testing.assert_array_equal(ours[name], value, err_msg=f"{where} {name}")
                compared += 1
    assert compared > 100


def test_graphs(corpus: Path) -> None:
    for _, ours, theirs in objects(corpus, "TGraphAsymmErrors"):
        assert isinstance(ours, Graph)
        for mine, other in zip(ours.values(), theirs.values(), strict=True):
            np.testing.assert_array_equal(mine, other)
        for which in ("low", "high", "mean"):
            for mine, other in zip(ours.errors(which), theirs.errors(which), strict=True):
                np.testing.assert_array_equal(mine, other)


def test_a_histogram_that_uproot_wrote(nested: Path) -> None:
    file = farroot.open(nested)
    histogram = file["one/hist"]
    counts, edges = np.histogram(np.arange(10))
    np.testing.assert_array_equal(histogram.values(), counts)
    values, read_edges = histogram.to_numpy()
    np.testing.assert_array_equal(read_edges, edges)
    np.testing.assert_array_equal(values, counts)
    assert dict(histogram)["fXaxis"]["fNbins"] == 10
    assert histogram.axis("x")[0] == (edges[0], edges[1])
    assert repr(histogram) == "<TH1D 'hist'>"
    # The same from its address at once.
    assert farroot.open(f"{nested}:one/hist").values().sum() == 10


def test_a_member_taken_alone_is_that_of_the_filled_object(tmp_path: Path) -> None:
    """Of many histograms the engine makes only those members that are asked for. The others come
    later, beside the same ones, changes in place included; pickles have all of them."""
    path = tmp_path / "many.root"
    contents = [np.histogram(np.arange(9.0) + k, bins=4 + k) for k in range(5)]
    with uproot.recreate(path) as out:
        for number, one in enumerate(contents):
            out[f"in/h{number}"] = one
    for name, histogram in farroot.open(path).items(filter_classname="TH1*"):
        filled = farroot.open(path)[name]
        filled.all_members  # noqa: B018
        for each in filled:
            # The number of items of an array is its own.
            if each == "fN":
                continue
            alone = farroot.open(path)[name]
            assert alone._alone(each) is not NOTHING
            assert "_members" not in alone.__dict__
            assert repr(alone[each]) == repr(filled[each])
            assert alone[each] is alone[each] or not isinstance(alone[each], np.ndarray | Object)
        squares, axis = histogram["fSumw2"], histogram["fXaxis"]
        if len(squares):
            squares[0] = 77
        np.testing.assert_array_equal(histogram.all_members["fSumw2"], squares)
        assert histogram["fSumw2"] is squares
        assert histogram["fXaxis"] is axis
        assert "_apart" not in histogram.__dict__
        again = pickle.loads(pickle.dumps(farroot.open(path)[name]))
        np.testing.assert_array_equal(again.values(flow=True), filled.values(flow=True))
        assert again.all_members.keys() == filled.all_members.keys()
        assert histogram.get("fNothing") is None
        assert histogram.name == filled.name


def test_wrong_names_and_arguments(nested: Path) -> None:
    histogram = farroot.open(nested)["one/hist"]
    with pytest.raises(farroot.KeyInFileError, match="fNothing"):
        histogram["fNothing"]
    for axis in ("w", "", 1, -2):
        with pytest.raises(farroot.InvalidArgumentError):
            histogram.axis(axis)
    with pytest.raises(IndexError):
        histogram.axis(0)[10]


def test_efficiencies(corpus: Path) -> None:
    efficiency = next(ours for _, ours, _ in objects(corpus, "TEfficiency"))
    passed, total = efficiency.passed.values(), efficiency.total.values()
    assert len(efficiency.axes) == passed.ndim
    there = total > 0
    np.testing.assert_array_equal(efficiency.values()[there], passed[there] / total[there])
    # Streamed member by member.
    assert all(set(dict(pair)) == {"first", "second"} for pair in efficiency["fBeta_bin_params"])


class _Slow:
    """Members that come when the test lets them, and not at the first attempt."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.attempts = 0

    def fill(self, instance: Any) -> None:
        self.attempts += 1
        self.begun.release()
        assert self.go_on.acquire(timeout=60)
        if self.attempts == 1:
            raise OSError("the first attempt fails")
        instance.fill({"fX": 3}, [])


def test_a_thread_waits_for_another_that_fills_the_object() -> None:
    """Waiting was sleeping in a loop; where the first thread failed, the next one has to try."""
    source = _Slow()
    made = Object("T", 1, source)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(lambda: made["fX"])
        assert source.begun.acquire(timeout=60)
        others = [pool.submit(lambda: made["fX"]) for _ in range(2)]
        source.go_on.release(2)
        with pytest.raises(OSError, match="first attempt"):
            first.result(timeout=60)
        assert [other.result(timeout=60) for other in others] == [3, 3]
    assert source.attempts == 2


def test_an_object_that_could_not_be_filled_is_filled_at_the_next_attempt(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its members had been taken from the record: the next attempt gave an object without any."""
    path, key = next(_histograms(corpus))
    expected = farroot.open(path)[key].values()
    histogram = farroot.open(path)[key]

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Object, "fill", interrupted)
        with pytest.raises(KeyboardInterrupt):
            histogram.values()
    np.testing.assert_array_equal(histogram.values(), expected)
    assert len(expected) > 0


def _histograms(corpus: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(corpus.glob("*.root")):
        for key, classname in farroot.open(path).classnames().items():
            if classname.startswith("TH1"):
                yield path, key
