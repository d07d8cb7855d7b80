"""What uproot's users call: each compared with what uproot gives."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .same import same_awkward

#: Files with directories, histograms, trees, and of writers from 5.24 to 6.28.
FILES = (
    "uproot-issue38c.root",
    "uproot-HZZ-objects.root",
    "uproot-issue64.root",
    "uproot-sample-5.24.00-zlib.root",
    "uproot-sample-6.18.00-zlib.root",
)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=FILES)
def both(request: pytest.FixtureRequest, corpus: Path) -> tuple[Any, Any]:
    path = corpus / request.param
    return farroot.open(path), uproot.open(path)


def test_what_a_file_says_of_its_classes(both: tuple[Any, Any]) -> None:
    mine, theirs = both
    assert (mine.root_version, mine.root_version_tuple) == (
        theirs.file.root_version,
        theirs.file.root_version_tuple,
    )
    expected = theirs.file.streamers
    assert set(mine.streamers) == set(expected)
    for name, versions in expected.items():
        assert list(mine.streamers[name]) == list(versions)
        for version, info in versions.items():
            told = io.StringIO()
            info.show(stream=told)
            assert mine.streamers[name][version].text() == told.getvalue()
    shown = io.StringIO()
    mine.show_streamers("TNamed", stream=shown)
    assert shown.getvalue().startswith("TNamed (v1): TObject (v1)\n    fName: TString")
    with pytest.raises(farroot.KeyInFileError, match="TNothing"):
        mine.show_streamers("TNothing")
    assert mine.streamers["TNamed"][1].element("fTitle").typename == "TString"


def test_directories(both: tuple[Any, Any]) -> None:
    mine, theirs = both
    for filters in (
        {},
        {"recursive": False},
        {"filter_classname": ["TH1*", "TDirectory"]},
        {"filter_name": "*a*", "recursive": False},
    ):
        for method in ("keys", "iterkeys", "classnames"):
            got = getattr(mine, method)(**filters)
            assert list(got) == list(getattr(theirs, method)(**filters)), (method, filters)
        assert dict(mine.iterclassnames(**filters)) == theirs.classnames(**filters)
    first = mine.keys(recursive=False)[0]
    assert mine.classname_of(first) == theirs.classname_of(first)
    assert mine.title_of(first) == theirs.title_of(first)
    name = first.partition(";")[0]
    assert mine.title_of(name) == theirs.title_of(name)
    for method in (mine.classname_of, mine.title_of):
        with pytest.raises(farroot.KeyInFileError, match="nothing_of_it"):
            method("nothing_of_it")
    assert mine.get("nothing_of_it", 3) == 3
    assert mine.get(first) is not None
    names = [key for key, _ in mine.items(recursive=False)]
    assert names == [key for key, _ in theirs.items(recursive=False)]
    assert len(mine.values(recursive=False)) == len(names)
    without = [key for key, _ in mine.iteritems(recursive=False, cycle=False)]
    assert without == theirs.keys(recursive=False, cycle=False)


def test_directories_in_directories(corpus: Path) -> None:
    mine = farroot.open(corpus / "uproot-issue64.root")
    theirs = uproot.open(corpus / "uproot-issue64.root")
    deep = mine["detector/materials"]
    assert deep.path == theirs["detector/materials"].path == ("detector", "materials")
    assert deep.parent.path == ("detector",)
    assert deep.parent.parent is mine
    assert (mine.parent, mine.path) == (None, ())
    assert deep.classname_of("Water") == "TDirectory"


def test_trees_and_branches(corpus: Path) -> None:
    path = corpus / "uproot-HZZ.root"
    mine, theirs = farroot.open(f"{path}:events"), uproot.open(f"{path}:events")
    for name in ("compressed_bytes", "uncompressed_bytes", "compression_ratio"):
        assert getattr(mine, name) == getattr(theirs, name)
    for arguments in (("10 kB",), (10_000,), ("10 kB", "NJet"), ("1 MB", ["NJet", "Jet_*"])):
        got = mine.num_entries_for(*arguments)
        if len(arguments) == 2 and not isinstance(arguments[1], str):
            assert got == mine.num_entries_for(arguments[0], filter_name=list(arguments[1]))
        else:
            assert got == theirs.num_entries_for(*arguments)
    for method in ("iterkeys", "itertypenames"):
        got, expected = (list(getattr(tree, method)(filter_name="J*")) for tree in (mine, theirs))
        assert got == expected
    assert [branch.name for branch in mine.itervalues()] == theirs.keys()
    assert [name for name, _ in mine.iteritems()] == theirs.keys()
    assert mine.get("NJet") == mine["NJet"]
    assert (mine.get("nothing"), mine.get("nothing", 3), mine.get(1000, 4)) == (None, 3, 4)
    branch, other = mine["Jet_Py"], theirs["Jet_Py"]
    assert (branch.index, branch.aliases) == (other.index, {})
    np.testing.assert_array_equal(np.asarray(mine["NJet"]), np.asarray(theirs["NJet"]))
    assert np.asarray(mine["NJet"], dtype="f8").dtype == "f8"


@pytest.mark.parametrize("doc", [True, False, {"what": "title", "which": "name"}])
def test_titles_go_with_arrays(corpus: Path, doc: Any) -> None:
    path = corpus / "uproot-HZZ.root"
    mine, theirs = farroot.open(f"{path}:events"), uproot.open(f"{path}:events")
    names = ["NJet", "Jet_Px"]
    got, expected = (tree.arrays(names, ak_add_doc=doc) for tree in (mine, theirs))
    assert same_awkward(got, expected)
    assert got.layout.parameters == expected.layout.parameters
    for name in names:
        assert got[name].layout.parameters == expected[name].layout.parameters
    steps = next(mine.iterate(names, step_size=100, ak_add_doc=doc))
    assert steps.layout.parameters == expected.layout.parameters
    both = farroot.concatenate([f"{path}:events"] * 2, names, ak_add_doc=doc)
    assert both.NJet.layout.parameters == expected.NJet.layout.parameters
    single = mine["NJet"].array(ak_add_doc=bool(doc))
    assert single.layout.parameters == theirs["NJet"].array(ak_add_doc=bool(doc)).layout.parameters
    pairs = mine.arrays(names, ak_add_doc=doc, how=dict)
    assert pairs["NJet"].layout.parameters == expected.NJet.layout.parameters
    assert mine.arrays("NJet", ak_add_doc=doc, library="np")["NJet"].dtype == np.int32


def test_names_of_fields(corpus: Path) -> None:
    path = corpus / "ntpl001_staff_rntuple_v1-0-0-0.root"
    mine, theirs = farroot.open(f"{path}:Staff"), uproot.open(f"{path}:Staff")
    assert list(mine.iterkeys()) == list(theirs.iterkeys())
    assert list(mine.itertypenames()) == list(theirs.itertypenames())
    assert (mine.get("nothing"), mine.get("Age").name) == (None, "Age")
    assert mine.arrays(["Age"], ak_add_doc=True).Age.to_list()[:3] == [58, 63, 56]
