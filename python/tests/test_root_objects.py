"""Single objects that ROOT writes: every member, and the values of histograms and graphs."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot._classes import make
from farroot.objects import Object

from .members import differences
from .root import written_by

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]

#: Objects that ROOT's JSON does not give as farroot's members: those by hand, or lists of lists by
#: their lengths.
NOT_AS_MEMBERS = ("graph_multi", "std_nested", "std_map_of_maps", "style", "matrix_symmetric_")
#: Its fills are in its buffer, of which uproot and members of the record know nothing.
BUFFERED = "buffered"
HISTOGRAMS = ("TH1", "TH2", "TH3", "TProfile")
#: Which uproot has as histograms, but without bins.
POLYGONS = ("TH2Poly", "TProfile2Poly")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file of `objects.py`, and its members as ROOT has them."""
    return written_by("objects", tmp_path_factory.mktemp("objects"))


@pytest.fixture(scope="module")
def file(written: Path) -> Any:
    return farroot.open(written / "objects.root")


@pytest.fixture(scope="module")
def other(written: Path) -> Any:
    return uproot.open(written / "objects.root")


def test_every_member_is_what_root_says(written: Path, file: Any) -> None:
    compared = 0
    for line in (written / "objects.txt").read_text().splitlines():
        name, values = line.split("\t", 1)
        if name.startswith((*NOT_AS_MEMBERS, BUFFERED)):
            continue
        theirs = json.loads(values, strict=False)
        if name == "canvas":
            # In the file, lists of colours come behind the drawn objects.
            theirs["fPrimitives"]["arr"] += [{"$ref": 0}] * 2
        assert list(differences(file[name], theirs, name)) == []
        compared += 1
    assert compared > 150


def histograms(file: Any) -> dict[str, str]:
    return {
        name: classname
        for name, classname in file.classnames().items()
        if classname.startswith(HISTOGRAMS)
        and classname not in POLYGONS
        and not name.startswith(BUFFERED)
    }


def test_histograms_give_what_uproot_gives(file: Any, other: Any) -> None:
    compared = 0
    for name in histograms(file):
        ours, theirs = file[name], other[name]
        what = (ours.name, ours.title, ours.kind, ours.weighted)
        assert what == (theirs.name, theirs.title, theirs.kind, theirs.weighted)
        for flow in (False, True):
            for method in ("values", "variances", "errors", "counts"):
                # Without a mode uproot has the errors of the mean, and not the profile's own.
                is_error = ours.kind == "MEAN" and method in ("variances", "errors")
                mine = getattr(ours, method)(flow, **({"error_mode": ""} if is_error else {}))
                expected = getattr(theirs, method)(flow)
                assert mine.dtype == expected.dtype, (name, method)
                np.testing.assert_array_equal(mine, expected, err_msg=f"{name} {method}")
            if ours.kind == "COUNT":
                for dd in (False, True):
                    mine, expected = ours.to_numpy(flow, dd), theirs.to_numpy(flow, dd)
                    assert repr(mine) == repr(expected)
        compared += 1
    assert compared > 45


def test_axes_give_what_uproot_gives(file: Any, other: Any) -> None:
    for name in histograms(file):
        for ours, theirs in zip(file[name].axes, other[name].axes, strict=True):
            for flow in (False, True):
                for method in ("edges", "intervals", "centers", "widths"):
                    expected = getattr(theirs, method)(flow)
                    got = getattr(ours, method)(flow)
                    np.testing.assert_array_equal(got, expected, err_msg=f"{name} {method}")
                assert ours.labels(flow) == theirs.labels(flow)
            facts = (len(ours), ours.low, ours.high, ours.width, ours.traits.discrete)
            assert facts == pytest.approx(
                (len(theirs), theirs.low, theirs.high, theirs.width, theirs.traits.discrete)
            )
            assert list(ours) == [
                each if isinstance(each, str) else pytest.approx(tuple(each)) for each in theirs
            ]
            assert ours[0] in ours


def test_profiles_know_their_errors(file: Any, other: Any) -> None:
    for name in ("profile", "profile_weightedi", "profile_fews", "profile2g", "profile3"):
        for mode in ("", "s", "i", "g"):
            expected = other[name].errors(flow=True, error_mode=mode)
            got = file[name].errors(flow=True, error_mode=mode)
            np.testing.assert_array_equal(got, expected)


def test_hist_and_boost_histogram_have_them_as_from_uproot(file: Any, other: Any) -> None:
    pytest.importorskip("hist")
    for name, classname in histograms(file).items():
        if classname in ("TProfile2D", "TProfile3D"):
            # uproot does not give them.
            assert file[name].to_boost().values().shape == file[name].values().shape
            continue
        ours, theirs = file[name], other[name]
        if any(axis["fLabels"] is not None and axis.labels() is None for axis in ours.axes):
            # Of bins of which some only have names, uproot leaves the others out, or fails.
            assert ours.to_boost().axes[0].size == len(ours.axes[0])
            continue
        for mine, expected in (
            (ours.to_boost(), theirs.to_boost()),
            (ours.to_hist(), theirs.to_hist()),
        ):
            assert type(mine) is type(expected)
            assert mine.axes == expected.axes
            assert type(mine.storage_type) is type(expected.storage_type)
            for flow in (False, True):
                view, wanted = mine.view(flow=flow), expected.view(flow=flow)
                for field in wanted.dtype.names or (...,):
                    np.testing.assert_allclose(view[field], wanted[field], rtol=1e-9, atol=1e-9)
            assert [axis.label for axis in mine.axes] == [axis.label for axis in expected.axes]
            assert (mine.name, mine.label) == (expected.name, expected.label)


def test_graphs_and_other_single_objects(file: Any, other: Any) -> None:
    for name in ("graph", "graph_empty", "graph_asymm"):
        for mine, expected in zip(file[name].values(), other[name].values(), strict=True):
            np.testing.assert_array_equal(mine, expected)
    assert file["datime"].to_datetime() == datetime.datetime(2020, 1, 2, 3, 4, 5)
    begin = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert file["timestamp"].to_datetime() == begin
    assert file["parameter_double"].value == 3.5
    assert (int(file["parameter_int"]), float(file["parameter_float"])) == (-3, 3.5)
    assert file["f1"]["fFormula"]["fFormula"] == other["f1"].member("fFormula").member("fFormula")


def test_graphs_of_more_kinds(file: Any) -> None:
    x, y, e = [1, 2, 3, 4], [1, 4, 9, 16], [0.1, 0.2, 0.3, 0.4]
    assert [each.tolist() for each in file["graph2d"].values()] == [x, y, e]
    assert [each.tolist() for each in file["graph2d_errors"].errors()] == [x, y, e]
    asymmetric = file["graph2d_asymm"]
    for axis, low, high in (("x", x, y), (1, e, x), (-1, y, e)):
        assert asymmetric.errors("low", axis).tolist() == low
        assert asymmetric.errors("high", axis).tolist() == high
    assert asymmetric.values("z").tolist() == e
    for wrong in ({"axis": "t"}, {"which": "middle"}):
        with pytest.raises(farroot.InvalidArgumentError):
            asymmetric.errors(**wrong)
    with pytest.raises(farroot.UnsupportedError, match="no errors"):
        file["graph2d"].errors()


def test_graphs_with_several_errors(file: Any) -> None:
    graph = file["graph_multi"]
    e = [0.1, 0.2, 0.3, 0.4]
    assert [each.tolist() for each in graph.errors("low")] == [e, e]
    assert [each.tolist() for each in graph.errors("high")] == [e, e]
    # As many numbers as ROOT's GetErrorYlow gives for the ways to sum.
    for mode, expected in ((0, 0.3), (1, 0.431393), (2, 0.61)):
        made = make("TGraphMultiErrors", 1, None)
        made.fill({"fSumErrorsMode": mode, "fEyL": [[0.3], [0.31]], "fEyH": [[1.0], [0.0]]}, [])
        assert made.errors("low", "y")[0] == pytest.approx(expected, rel=1e-5)
        assert made.errors("high", "y")[0] == 1


def test_matrices_are_arrays(file: Any) -> None:
    symmetric = [[0, 1, 2], [1, 4, 5], [2, 5, 8]]
    for number, dtype in (("float", np.float32), ("double", np.float64)):
        matrix = np.asarray(file[f"matrix_{number}"])
        assert matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert matrix.dtype == dtype
        assert file[f"matrix_symmetric_{number}"].to_numpy().tolist() == symmetric
        assert file[f"matrix_sparse_{number}"].to_numpy().tolist() == [[0] * 3, [0, 0, 4], [0] * 3]
        assert np.asarray(file[f"vector_{number}"], dtype=np.int32).tolist() == [0, 1, 4, 9]
    assert np.flatnonzero(file["bits"]).tolist() == [3]
    assert len(file["bits"].to_numpy()) == 20


def test_collections_are_containers(file: Any, other: Any) -> None:
    """Every one as ROOT writes it at a key: without the header that it has inside of objects."""
    assert file["std_ints"].tolist() == [1, 2]
    assert np.asarray(file["std_none"]).dtype == np.float64
    assert isinstance(file["std_map"], farroot.STLMap)
    for name in ("std_ints", "std_none"):
        assert type(file[name]).__name__ == type(other[name]).__name__ == "STLVector", name
    assert file["std_bools"].tolist() == [True, False]
    assert file["std_strings"] == file["std_tstrings"] == ["a", "bc"]
    assert [each.tolist() for each in file["std_nested"]] == [[], [1], [1, 2]]
    assert file["std_map"] == {"a": 1, "b": 2}
    assert file["std_map_of_vectors"]["a"].tolist() == [1, 2]
    assert file["std_map_of_maps"] == {"k": {"v": 2}}
    assert [(each["first"], each["second"]) for each in file["std_pairs"]] == [(1, 2)]
    first, null, again = file["std_pointers"]
    assert (first["fName"], null) == ("n", None)
    assert first is again
    assert file["list"][0] == "s"
    assert file["map"]["one"] == "value"
    assert [each.name for each in file["clones"]] == ["c0", "c1", "c2"]
    assert [each.name for each in file["sorted_list"]] == ["a", "b"]


def test_a_canvas_has_what_is_drawn_in_it(file: Any) -> None:
    """`TCanvas` is written by hand, and no streamer info tells of it."""
    pads = file["canvas_divided"]["fPrimitives"][:2]
    assert [pad.classname for pad in pads] == ["TPad", "TPad"]
    drawn = [
        [each.classname for each in pad["fPrimitives"] if isinstance(each, Object)] for pad in pads
    ]
    assert "TH1F" in drawn[0]
    assert "TGraph" in drawn[1]


def test_histograms_of_a_file_that_was_never_closed(written: Path) -> None:
    """Nothing in such a file describes its classes; the common ones of ROOT are known."""
    closed = farroot.open(written / "closed.root")
    with pytest.warns(farroot.RecoveredWarning):
        unclosed = farroot.open(written / "unclosed.root")
    for name in ("TH1F", "TH2D", "TH3I", "TProfile"):
        ours, theirs = unclosed[name], closed[name]
        for flow in (False, True):
            np.testing.assert_array_equal(ours.values(flow), theirs.values(flow))
            np.testing.assert_array_equal(ours.variances(flow), theirs.variances(flow))
        assert dict(ours).keys() == dict(theirs).keys()
    assert [each.tolist() for each in unclosed["TGraphErrors"].values()] == [[0, 2, 0], [0, 3, 0]]
    assert unclosed["TParameter"].value == 1.5
    with pytest.raises(farroot.UnsupportedError, match="streamer info for version 12 of class TF1"):
        unclosed["TF1"]["fNpar"]


def test_parts_are_made_when_they_are_looked_at(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A histogram has two dozen parts. All of ten thousand took half of the time that Python spent
    with reading them, and as much again for its collector of garbage, which went over them."""
    made = []

    def counted(*what: Any) -> Object:
        made.append(what[0])
        return make(*what)

    monkeypatch.setattr("farroot.file.make", counted)
    name, classname = next(item for item in histograms(file).items() if item[1] == "TH1D")
    histogram = file[name]
    assert made == [classname]
    assert histogram["fXaxis"] is histogram.axes[0]
    assert not {"TObject", "TAttAxis"} & set(made)
    assert set(histogram.keys()) >= {"fXaxis", "fTitle", "fSumw2", "fUniqueID"}
    assert "TObject" in made
    before = len(made)
    assert histogram["fTitle"] == histogram.title
    assert len(made) == before


def test_objects_are_the_same_in_pickles_and_copies(file: Any) -> None:
    for name in ("graph", "list", "std_pointers", *list(histograms(file))[:5]):
        for again in (pickle.loads(pickle.dumps(file[name])), copy.deepcopy(file[name])):
            assert repr(again) == repr(file[name])
            if isinstance(again, Object):
                assert repr(dict(again)) == repr(dict(file[name]))


def test_objects_can_be_looked_at_by_several_threads(file: Any) -> None:
    name = next(iter(histograms(file)))
    for _ in range(50):
        histogram = file[name]
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _, h=histogram: len(h["fXaxis"]), range(8)))
        assert found == [len(histogram.axes[0])] * 8


def test_what_is_not_known_still_has_a_name() -> None:
    """`repr` once raised for an object of which a base class could not be read."""
    lacking, whole = Object("TBase", 1), Object("TWhole", 1)
    lacking.lack("not known", b"")
    whole.fill({"fMember": 1}, [lacking])
    assert repr(whole) == "<TWhole>"
    assert repr(lacking) == "<TBase (unread)>"
    assert whole["fMember"] == 1
