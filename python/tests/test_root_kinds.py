"""Objects of further kinds that ROOT writes: of a user's classes, of many dimensions, of RooFit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot.objects import Graph, Object

from .root import written_by

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of `kinds.py`."""
    return written_by("kinds", tmp_path_factory.mktemp("kinds")) / "kinds.root"


@pytest.fixture(scope="module")
def file(written: Path) -> Any:
    return farroot.open(written)


@pytest.fixture(scope="module")
def other(written: Path) -> Any:
    return uproot.open(written)


def test_a_users_classes_have_the_methods_of_those_that_they_derive_from(file: Any) -> None:
    """They were objects with members only: uproot knows profiles, graphs and parameters so."""
    assert file["histogram"].values().tolist() == [0, 1, 0]
    assert (file["histogram"].classname, file["histogram"]["extra"]) == ("kinds::Histogram", 7)
    deeper = file["deeper"]
    assert deeper.values(flow=True).tolist() == [0, 0, 0, 3, 0]
    assert (deeper["more"], deeper["extra"], deeper.class_version) == (8, 7, 2)
    assert file["plane"].to_numpy()[0].tolist() == [[0, 0], [0, 1], [0, 0]]
    assert file["mean"].values().tolist() == [0, 3, 0]
    assert file["means"].values().tolist() == [[0, 0], [0, 3], [0, 0]]
    assert [each.tolist() for each in file["graph"].values()] == [[1, 2], [3, 4]]
    assert file["graph"].errors("low", "y").tolist() == [3, 4]
    assert float(file["parameter"]) == 2.5
    assert [each.name for each in file["list"]["items"]] == ["in"]
    assert file["list"]["run"] == 42
    holder = file["holder"]
    assert holder["pointed"].values().tolist() == holder["several"][0].values().tolist() == [0, 1]
    assert holder["array"][0] is holder["pointed"]
    assert holder["own"].values().tolist() == [0]


def test_a_users_trees_are_trees(file: Any) -> None:
    for name in ("tree", "ntuple"):
        assert isinstance(file[name], farroot.Tree)
        assert file[name].member("run") == 42
    assert file["tree"].arrays().to_list() == [{"i": i} for i in range(5)]
    assert file["ntuple"].arrays().to_list() == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_parts_of_base_classes(file: Any) -> None:
    deeper = file["deeper"]
    assert [base.classname for base in deeper.base("TH1", "TNamed")] == ["TH1", "TNamed"]
    assert deeper.base("kinds::Histogram")[0].member("extra") == 7
    assert "TObject" in [base.classname for base in deeper.base()]
    assert deeper.is_instance("TH2", "TH1F")
    assert not deeper.is_instance("TH2")
    assert deeper.member("fTitle") == "title"
    assert deeper.member("more", all=False) == 8
    assert deeper.has_member("fTitle")
    assert not deeper.has_member("fTitle", all=False)
    assert deeper.member("fNothing", none_if_missing=True) is None
    assert deeper.member("fTitle", all=False, none_if_missing=True) is None
    for name in ("fTitle", "fNothing"):
        with pytest.raises(farroot.KeyInFileError, match=name):
            deeper.member(name, all=False)
    assert deeper.member_names == ["more"]
    assert deeper.member("fN") == 5


def test_histograms_of_many_dimensions(file: Any) -> None:
    """Dense and sparse ones got the same entries."""
    pytest.importorskip("hist")
    for kind, dtype in (("", "f8"), ("_whole", "i4"), ("_weighted", "f4")):
        dense, sparse = file[f"dense{kind}"], file[f"sparse{kind}"]
        for one in (dense, sparse):
            assert one.values().shape == (3, 40, 2, 5)
            assert one.values().dtype == dtype
            assert one.values(flow=True).sum() == sum(1 + i % 3 for i in range(400))
            assert one.weighted == (kind == "_weighted")
            assert one.axis(0).edges().tolist() == [0, 1, 4, 5]
            assert one.axis(-1) is one.axes[3]
            assert one.kind == "COUNT"
        squares = sum((1 + i % 3) ** 2 for i in range(400))
        if kind == "_weighted":
            assert dense.variances(flow=True).sum() == sparse.variances(flow=True).sum() == squares
        for flow in (False, True):
            np.testing.assert_array_equal(dense.values(flow), sparse.values(flow))
            np.testing.assert_array_equal(dense.variances(flow), sparse.variances(flow))
        made, other = dense.to_hist(), sparse.to_hist()
        assert made == other
        np.testing.assert_array_equal(made.values(flow=True), dense.values(flow=True))
        assert [axis.size for axis in made.axes] == [3, 40, 2, 5]
        assert len(sparse.contents) == np.count_nonzero(dense.values(flow=True))


def test_a_sparse_histogram_that_is_too_large_to_be_laid_out(file: Any) -> None:
    large = file["large"]
    with pytest.raises(farroot.LimitReachedError, match="5030060040 bins"):
        large.values()
    assert large.coordinates.shape == (20_000, 4)
    order = np.lexsort((large.coordinates[:, 0], large.coordinates[:, 1]))
    where, contents = large.coordinates[order], large.contents[order]
    i = np.arange(20_000)
    expected = np.stack((i % 1000 + 1, i // 1000 + 1, np.full(20_000, 1000), np.zeros(20_000)), 1)
    np.testing.assert_array_equal(where, expected)
    np.testing.assert_array_equal(contents, i % 7)


def test_bins_that_are_polygons(file: Any, other: Any) -> None:
    for name in ("polygons", "polygons_weighted"):
        mine, theirs = file[name], other[name]
        assert mine.values().tolist() == [2, 4, 6]
        assert mine.variances().tolist() == [4, 8, 12]
        np.testing.assert_allclose(mine.errors(), np.sqrt([4, 8, 12]))
        assert [each.values("x").tolist()[:3] for each in mine.polygons] == [
            [0, 1, 0],
            [1, 2, 1],
            [2, 3, 2],
        ]
        for axis in ("x", "y", 0, 1, -1, -2):
            assert mine.axis(axis).edges().tolist() == theirs.axis(axis).edges().tolist()
        with pytest.raises(farroot.UnsupportedError, match="polygons"):
            mine.to_hist()
        with pytest.raises(farroot.InvalidArgumentError):
            mine.axis("z")


def test_efficiencies_have_roots_errors(file: Any) -> None:
    for name in ("efficiency", "efficiency_weighted"):
        one = file[name]
        np.testing.assert_allclose(one.errors(), file[f"{name}_errors"]["fElements"], rtol=1e-12)
        np.testing.assert_allclose(
            one.values(), one.passed.values() / one.total.values(), rtol=1e-12
        )
        assert one.counts().tolist() == one.total.values().tolist()
        values, edges = one.to_numpy()
        assert (len(values), edges.tolist()) == (4, [0, 1, 2, 3, 4])
        assert one.axis("x").edges().tolist() == edges.tolist()
        made = one.to_hist()
        np.testing.assert_allclose(made.values(), values)
        np.testing.assert_allclose(made.variances(), one.variances())


def test_objects_whose_streamers_are_written_by_hand(file: Any) -> None:
    assert file["numbers"] == {3: 4, 100: -7, 5: 1 << 40}
    line, markers = file["line"], file["markers"]
    for points in (line, markers):
        assert points["fP"].tolist() == [1, 2, 3, 4, 5, 6]
    assert (line["fOption"], markers.name, markers["fMarkerStyle"]) == ("option", "named", 20)
    # An object that cannot be read is an error, and does not hide the objects beside it.
    with pytest.raises(farroot.UnsupportedError, match="class TASImage"):
        file["image"]
    image, line = file["both"]
    assert (repr(image), line["fN"]) == ("<TASImage (unread)>", 2)
    with pytest.raises(farroot.UnsupportedError, match="class TASImage"):
        image["fName"]


def test_curves_and_points_of_roofit(file: Any, other: Any) -> None:
    pytest.importorskip("hist")
    edges, at = np.linspace(0, 10, 11), np.linspace(0.5, 9.5, 30)
    curve, theirs = file["curve"], other["curve"]
    assert (curve.curve_type, curve.name, curve.title) == ("VALUES", theirs.name, theirs.title)
    np.testing.assert_array_equal(curve.interpolate(at), theirs.interpolate(at))
    errors, their_errors = file["errors"], other["errors"]
    assert errors.curve_type == their_errors.curve_type == "ERRORS"
    np.testing.assert_array_equal(
        errors.interpolate_errors(at), their_errors.interpolate_errors(at)
    )
    for mine, expected in zip(
        errors.interpolate_asymm_errors(at), their_errors.interpolate_asymm_errors(at), strict=True
    ):
        np.testing.assert_array_equal(mine, expected)
    assert curve.to_hist(edges) == theirs.to_hist(edges)
    assert curve.to_boost(edges, errors) == theirs.to_boost(edges, their_errors)
    for wrong in (errors.interpolate, curve.interpolate_errors):
        with pytest.raises(farroot.InvalidArgumentError):
            wrong(at)
    points, their_points = file["points"], other["points"]
    assert repr(points.to_numpy()) == repr(their_points.to_numpy())
    assert repr(points.to_numpy(dd=True)) == repr(their_points.to_numpy(dd=True))
    assert points.to_boost() == their_points.to_boost()
    assert points.to_hist() == their_points.to_hist()
    for which in ("low", "high", "mean", "diff"):
        for mine, expected in zip(points.errors(which), their_points.errors(which), strict=True):
            np.testing.assert_array_equal(mine, expected)
    assert isinstance(points, Graph)


def test_other_objects_of_roofit_by_their_members(file: Any) -> None:
    """uproot refuses these: their variables and lists have streamers written by hand."""
    x = file["x"]
    assert (x.name, x["_binning"]["_xlo"], x["_binning"]["_xhi"]) == ("x", 0, 10)
    final = {each.name: each["_value"] for each in file["result"]["_finalPars"]["_list"]}
    assert abs(final["mean"] - 5) < 1
    vectors = file["data"]["_dstore"]["_realStoreList"]
    vectors += file["data"]["_dstore"]["_realfStoreList"]
    assert [len(each["_vec"]) for each in vectors] == [200]
    nodes = {each.name: each.classname for each in file["space"]["_allOwnedNodes"]["_list"]}
    assert nodes["g"] == "RooGaussian"
    assert isinstance(file["frame"], Object)
