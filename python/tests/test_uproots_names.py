"""Names that uproot's users call: each compared with uproot's result."""

from __future__ import annotations

import importlib
import io
import pickle
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
    # The classes that it depends on come first; they were left out.
    told = io.StringIO()
    theirs.file.show_streamers("TNamed", stream=told)
    assert shown.getvalue() == told.getvalue()
    for name in ("TNamed", "TTree", "TList"):
        if name in expected:
            dependencies = theirs.file.streamer_dependencies(name)
            assert mine.streamer_dependencies(name) == dependencies, name
    assert mine.streamer_named("TNamed") == mine.streamers_named("TNamed")[-1]
    assert mine.streamer_named("TNothing") is None
    assert mine.streamer_named("TNamed", version=99) is None
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
    mine: Any
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


def test_places_in_directories_have_cycles_at_each_level(nested: Path) -> None:
    """`file["one;1/two;1"]` was the directory `one`, and `in` said that it was not there."""
    ours, theirs = farroot.open(nested), uproot.open(nested)
    for where in ("one;1/two;1", "one;1/two", "one/two;1", "one;1", "one;1/two;1/tree;1"):
        assert where in ours, where
        assert where in theirs, where
        assert ours[where].name == theirs[where].name if "tree" in where else True
    assert ours["one;1/two;1"].keys() == theirs["one;1/two;1"].keys() == ["tree;1"]
    assert ours["one;1/two;1"].path == ("one", "two")
    assert ours["one;1/two;1"]["tree"].num_entries == 7
    assert ours["one;1/two;1/tree;1/y"].array().tolist() == list(range(7))
    assert ours["top;1"].num_entries != ours["top"].num_entries == ours["top;2"].num_entries
    assert ours["top;1/x"].num_entries == 5
    assert ours.title_of("one;1/two;1/tree;1") == ours.title_of("one/two/tree")
    assert ours["one"].keys() == ours["one;1"].keys()
    for where in ("one;2", "one;2/two", "one;1/two;3", "top;3", "two;1", "one;x"):
        assert where not in ours, where
        with pytest.raises(farroot.KeyInFileError):
            ours[where]


def test_columns_come_as_often_as_they_are_named(made: Path) -> None:
    """`arrays(["i4", "i4"], how=tuple)` had one member."""
    names = ["int32", "float64", "int32"]
    ours, theirs = (each.open(f"{made}:events") for each in (farroot, uproot))
    for how in (tuple, list):
        mine, expected = (tree.arrays(names, how=how) for tree in (ours, theirs))
        assert type(mine) is how
        assert len(mine) == len(expected) == 3
        assert all(same_awkward(a, b) for a, b in zip(mine, expected, strict=True))
    assert ours.arrays(names).fields == ["int32", "float64"]
    first, second = farroot.concatenate(f"{made}:events", ["int8", "int8"], how=tuple)
    assert first is second


def test_axes_are_as_wide_as_in_uproot(corpus: Path) -> None:
    """The width was the mean of the widths, which differs in the last bit."""
    widths = [0.08, 0.1, 1 / 3]
    compared = 0
    for name in FILES[:3]:
        ours, theirs = farroot.open(corpus / name), uproot.open(corpus / name)
        for key in theirs.keys(filter_classname=["TH1*", "TH2*"]):
            for mine, other in zip(ours[key].axes, theirs[key].axes, strict=True):
                assert mine.width == other.width
                compared += 1
    assert compared
    axis = farroot._classes.make("TAxis", 10, None)
    for width in widths:
        axis.fill({"fNbins": 100, "fXmin": 0.0, "fXmax": 100 * width, "fXbins": []}, [])
        assert axis.width == 100 * width / 100


def test_trees_say_where_their_baskets_are(made: Path, several: list[Path]) -> None:
    ours, theirs = farroot.open(made)["events"], uproot.open(made)["events"]
    for name in ("int32", "jagged", "text"):
        assert ours[name].entry_offsets == theirs[name].entry_offsets
        for number in range(ours[name].num_baskets):
            expected = theirs[name].basket_entry_start_stop(number)
            assert ours[name].basket_entry_start_stop(number) == expected
            begin, end = ours[name].basket_record(number)
            key = theirs[name].basket_key(number)
            assert (begin, end) == (key.fSeekKey, key.fSeekKey + key.fNbytes)
    assert ours.common_entry_offsets() == theirs.common_entry_offsets()
    wanted = {"filter_name": ["int*", "text"]}
    assert ours.common_entry_offsets(**wanted) == theirs.common_entry_offsets(**wanted)
    with pytest.raises(farroot.InvalidArgumentError, match="no basket 99"):
        ours["int32"].basket_record(99)
    with pytest.raises(farroot.UnsupportedError, match="chain"):
        _ = farroot.chain([f"{path}:events" for path in several])["int32"].entry_offsets


def test_files_trees_and_branches_know_what_they_are(made: Path, corpus: Path) -> None:
    ours, theirs = farroot.open(made), uproot.open(made)
    assert ours.uuid == theirs.file.uuid
    tree, other = ours["events"], theirs["events"]
    assert (tree.classname, tree.class_version) == (other.classname, other.class_version)
    assert tree.file.keys() == ours.keys()
    with tree["int32"] as branch:
        assert branch.file is tree.file
        assert branch.classname == other["int32"].classname
        for name in ("fName", "fEntries", "fBasketSize"):
            assert branch.member(name) == other["int32"].member(name)
            assert branch.all_members[name] == other["int32"].member(name)
    staff = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")["Staff"]
    assert staff.classname == "ROOT::RNTuple"
    with staff["Age"] as field:
        assert field.file is staff.file


def test_objects_know_their_file(nested: Path) -> None:
    histogram = farroot.open(nested)["one/hist"]
    again = pickle.loads(pickle.dumps(histogram))
    assert histogram.file.file_path == again.file.file_path == farroot.open(nested).url
    assert histogram["fXaxis"].file is None
    assert histogram.behaviors[0] is farroot.behaviors.TH1.TH1
    assert isinstance(histogram, farroot.behaviors.TH1.Histogram)
    assert not isinstance(histogram, farroot.behaviors.TH2.TH2)
    assert np.asarray(histogram.bases[-1]).sum() == histogram.values(flow=True).sum()


def test_classes_have_uproots_names(nested: Path) -> None:
    for name in dir(farroot.behaviors):
        module = getattr(farroot.behaviors, name)
        assert importlib.import_module(f"uproot.behaviors.{name}").__name__.endswith(name)
        assert all(getattr(module, each).__doc__ for each in module.__all__)
    with pytest.raises(AttributeError, match="no 'TNothing'"):
        _ = farroot.behaviors.TNothing
    file = farroot.open(nested)
    assert isinstance(file, farroot.reading.ReadOnlyFile)
    assert isinstance(file["one"], farroot.reading.ReadOnlyDirectory)
    assert isinstance(file["one/hist"], farroot.model.Model)
    assert isinstance(file["top"], farroot.behaviors.TTree.TTree)
    assert isinstance(file["top/x"], farroot.behaviors.TBranch.TBranch)
    assert farroot.AsJagged is farroot.interpretation.jagged.AsJagged


def test_entries_for_a_size_are_estimated_as_by_uproot(made: Path) -> None:
    """They were rounded down, where uproot rounds: 3 entries for 4 in `1 kB`."""
    ours, theirs = farroot.open(made)["events"], uproot.open(made)["events"]
    for size in ("1 kB", "3 kB", "10 kB", "0.1 MB", 12_345):
        for wanted in (None, "int32", ["text", "jagged"]):
            assert ours.num_entries_for(size, wanted) == theirs.num_entries_for(size, wanted)


def test_keys_of_objects(both: tuple[Any, Any]) -> None:
    mine, theirs = both
    names = ["fName", "fTitle", "fClassName", "fCycle", "fSeekKey", "fSeekPdir", "fNbytes"]
    names += ["fKeylen", "fObjlen", "created_on"]
    names += ["data_compressed_bytes", "data_uncompressed_bytes"]
    compared = 0
    for name in theirs.keys(recursive=False):
        ours, key = mine.key(name), theirs.key(name)
        for member in names:
            assert getattr(ours, member) == getattr(key, member), (name, member)
            compared += 1
    assert compared
    with pytest.raises(farroot.KeyInFileError, match="nothing_of_it"):
        mine.key("nothing_of_it")
    assert ours._replace(fDatime=0).created_on is None


def test_where_things_are(nested: Path, made: Path, corpus: Path) -> None:
    """`object_path` was the caller's path, which custom interpretations for uproot do not match."""
    ours, theirs = farroot.open(nested), uproot.open(nested)
    for where in ("one", "one/two", "one;1/two", "one/two/tree", "top", "top;1", "one/two/tree/y"):
        assert ours[where].object_path == theirs[where].object_path, where
        assert ours[where].cache_key == theirs[where].cache_key, where
    assert (ours.object_path, ours.cache_key) == (theirs.object_path, theirs.cache_key)
    for path, name in (
        ("uproot-mc10events.root", "Events/Info/evtNum"),
        ("uproot-issue513.root", "Delphes/Particle_size"),
    ):
        branch, other = farroot.open(corpus / path)[name], uproot.open(corpus / path)[name]
        assert branch.object_path == other.object_path
        assert branch.cache_key == other.cache_key
    tree = farroot.open(f"{nested}:one/two/tree")
    assert farroot.open(tree.address).object_path == tree.object_path == "/one/two/tree;1"
    chain = farroot.chain([f"{made}:events", f"{made}:events"])
    assert chain.object_path == "/events;1"


def test_looking_up_a_tree_gives_the_same_one(nested: Path, corpus: Path) -> None:
    file = farroot.open(nested)
    tree = file["one/two/tree"]
    assert file["one/two/tree;1"] is tree
    assert file["one"]["two"]["tree"] is tree
    assert file["one/two/tree/y"] is tree["y"]
    assert dict(file.items())["one/two/tree;1"] is tree
    assert file["top;1"] is not file["top;2"]
    nested_structs = farroot.open(corpus / "test_nested_structs_rntuple_v1-0-0-0.root")
    part = nested_structs["ntuple"]["my_struct"]
    assert nested_structs["ntuple/my_struct"] is part
    assert nested_structs["ntuple/my_struct/sub_struct"] is part["sub_struct"]


def test_classes_that_a_file_describes(corpus: Path, nested: Path) -> None:
    file = farroot.open(corpus / "uproot-HZZ-objects.root")
    theirs = uproot.open(corpus / "uproot-HZZ-objects.root")
    tree = file["events"]
    version: Any
    for name, version in (("TVector2", "max"), ("TLorentzVector", "min"), ("TLorentzVector", 4)):
        ours, other = file.class_named(name, version), theirs.file.class_named(name, version)
        assert ours.__name__ == other.__name__
    met = file.class_named("TVector2", "max").strided_interpretation(file)
    assert tree["MET"].interpretation == met
    muons = file.class_named("TLorentzVector", "max").strided_interpretation(file)
    assert tree["muonp4"].interpretation == farroot.AsJagged(muons, header_bytes=10)
    theirs_met = theirs.file.class_named("TVector2", "max").strided_interpretation(theirs.file)
    assert met.from_dtype == theirs_met.from_dtype == tree["MET"].interpretation.from_dtype
    expected = theirs["events/muonp4"].interpretation.content.from_dtype
    assert muons.from_dtype == expected
    stored = np.frombuffer(tree["MET"].basket(0).data, met.from_dtype)["fX"]
    assert stored.tolist() == tree["MET"].array(entry_stop=len(stored)).fX.tolist()
    bare = file.class_named("TVector2", "max").strided_interpretation()
    with pytest.raises(farroot.InvalidArgumentError, match="no file"):
        assert bare.from_dtype
    with pytest.raises(farroot.UnsupportedError, match="TString"):
        assert file.class_named("TTree", "max").strided_interpretation(file).from_dtype
    vector: Any = file.class_named("TVector2")
    assert isinstance(tree["MET"].array(library="np", entry_stop=1)[0], vector)
    assert not isinstance(tree["muonp4"].array(library="np", entry_stop=1)[0][0], vector)
    assert not isinstance("one", vector)
    with pytest.raises(farroot.KeyInFileError, match="TNothing"):
        file.class_named("TNothing")
    hists = farroot.open(nested)
    kinds: Any = [hists.class_named(name) for name in ("TH1D", "TNamed", "TAxis")]
    assert [isinstance(hists["one/hist"], kind) for kind in kinds] == [True, True, False]
    assert isinstance(hists["one/hist"], hists.class_named("TH1D", "max"))


def test_what_an_rntuple_says_of_its_parts(corpus: Path) -> None:
    path = corpus / "test_multiple_representations_rntuple_v1-0-0-0.root"
    mine, theirs = farroot.open(path)["ntuple"], uproot.open(path)["ntuple"]
    for name, value in mine.all_members.items():
        assert mine.member(name) == value == theirs.member(name)
    assert len(mine.all_members) == 11
    with pytest.raises(farroot.KeyInFileError, match="fVersionEpoch"):
        mine.member("nothing")
    assert len(mine.page_link_list) == len(theirs.page_link_list) == 3
    pages = 0
    for cluster, expected in zip(mine.page_link_list, theirs.page_link_list, strict=True):
        for column, other in zip(cluster, expected, strict=True):
            assert column.suppressed == other.suppressed
            assert column.compression_settings == other.compression_settings
            if not column.suppressed:
                assert column.element_offset == other.element_offset
            for page, theirs_page in zip(column.pages, other.pages, strict=True):
                assert page.num_elements == theirs_page.num_elements
                assert page.has_checksum == theirs_page.has_checksum
                assert page.locator.offset == theirs_page.locator.offset
                assert page.locator.num_bytes == theirs_page.locator.num_bytes
                pages += 1
    assert pages


def test_the_bytes_of_a_file(made: Path) -> None:
    with farroot.open(made) as file:
        source = file.file.source
        assert source.num_bytes == made.stat().st_size
        assert bytes(source.chunk(0, 4).raw_data) == b"root"
        assert file.source is source
    assert source.closed
