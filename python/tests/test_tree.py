"""Names, types and filters of branches."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .conftest import ENTRIES

#: Files of the corpus with branches below branches.
NESTED = ("uproot-issue-250.root", "uproot-HZZ-objects.root", "uproot-issue431b.root")

FILTERS: tuple[Any, ...] = (
    None,
    "int32",
    "*int*",
    "?nt16",
    "/.*int(8|16)/",
    "/FLOAT.*/i",
    ["fixed", "jag*"],
    [],
    lambda name: name.endswith("t"),
)


@pytest.fixture
def tree(made: Path) -> farroot.Tree:
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    return tree


@pytest.mark.parametrize("wanted", FILTERS)
def test_filters_are_uproots(tree: farroot.Tree, opened: Any, wanted: Any) -> None:
    assert tree.keys(filter_name=wanted) == opened.keys(filter_name=wanted)


def test_types_are_uproots(tree: farroot.Tree, opened: Any) -> None:
    assert tree.typenames() == opened.typenames()
    assert tree.keys(filter_typename="*int*") == opened.keys(filter_typename="*int*")
    arrays = tree.keys(filter_branch=lambda branch: "[" in branch.typename)
    assert arrays == ["fixed", "matrix", "jagged", "other"]


def test_a_tree_is_a_mapping(tree: farroot.Tree, opened: Any) -> None:
    assert len(tree) == len(opened)
    assert tree
    assert [branch.name for branch in tree] == [branch.name for branch in opened]
    assert [name for name, _ in tree.items()] == tree.keys()
    assert "int8" in tree
    assert "int9" not in tree
    assert tree[0].name == opened[0].name
    assert tree["/int8"].name == "int8"
    assert tree.num_entries == opened.num_entries
    branch = tree["int8"]
    assert branch.tree is tree
    assert branch.parent is tree
    assert branch.num_baskets == opened["int8"].num_baskets
    assert branch.title == opened["int8"].title
    assert branch.compressed_bytes == opened["int8"].compressed_bytes
    assert branch.uncompressed_bytes == opened["int8"].uncompressed_bytes


def test_a_wrong_name_is_told_what_comes_near(tree: farroot.Tree) -> None:
    with pytest.raises(KeyError, match="did you mean float32"):
        tree["Float32"]
    with pytest.raises(farroot.KeyInFileError, match="flaot32"):
        tree.arrays(["flaot32"])
    with pytest.raises(farroot.KeyInFileError, match=r"nothing\*"):
        tree.arrays(["nothing*"])


def test_show_is_a_table(tree: farroot.Tree) -> None:
    out = io.StringIO()
    tree.show(
        stream=out,
        filter_name=["float32", "jagged"],
        name_width=8,
        typename_width=24,
        interpretation_width=30,
    )
    assert out.getvalue() == (
        "name     | typename                 | interpretation\n"
        "---------+--------------------------+-------------------------------\n"
        "float32  | float                    | float32\n"
        "jagged   | float[]                  | var * float32\n"
    )
    out = io.StringIO()
    tree.show(stream=out, filter_name=["float32", "jagged"])
    assert out.getvalue() == (
        "name    | typename | interpretation\n"
        "--------+----------+---------------\n"
        "float32 | float    | float32\n"
        "jagged  | float[]  | var * float32\n"
    )
    out = io.StringIO()
    tree.show(stream=out, name_width=5, typename_width=5, filter_name="float32")
    assert "fl... | float | float32" in out.getvalue()
    with pytest.raises(ValueError, match="3 characters"):
        tree.show(name_width=2)


def test_a_bad_regular_expression_is_an_argument_error(tree: farroot.Tree) -> None:
    for wrong in ("/(/", "/a/L"):
        with pytest.raises(farroot.InvalidArgumentError):
            tree.keys(filter_name=wrong)


@pytest.mark.parametrize("name", NESTED)
def test_branches_below_branches_are_named_as_by_uproot(corpus: Path, name: str) -> None:
    file = uproot.open(corpus / name)
    ours = farroot.open(corpus / name)
    assert isinstance(ours, farroot.File)
    for key in file.keys(filter_classname="TTree"):
        tree, theirs = ours[key], file[key]
        assert isinstance(tree, farroot.Tree)
        assert tree.keys() == theirs.keys()
        assert tree.keys(recursive=False) == theirs.keys(recursive=False)
        assert tree.keys(full_paths=False) == theirs.keys(full_paths=False)
        assert tree.keys(filter_name="f*") == theirs.keys(filter_name="f*")
        for branch in tree:
            assert branch.keys() == theirs[branch.name].keys()
            for below in branch.branches:
                assert below.path == f"{branch.name}/{below.name}"
                assert below.parent == branch


def test_the_timeline_is_text_and_a_picture(tree: farroot.Tree, tmp_path: Path) -> None:
    tree.arrays(filter_name="int32")
    text = tree.timeline(tmp_path / "timeline.svg", width=60)
    assert "#" in text
    assert max(len(line) for line in text.splitlines()) <= 70
    picture = ElementTree.parse(tmp_path / "timeline.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert tree.url in {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert tree.timeline(width=0)


def test_types_that_the_user_decodes(made: Path) -> None:
    expected = farroot.open(made)["events"].arrays(["int32", "jagged"])

    def numbers(entries: list[bytes]) -> Any:
        return np.frombuffer(b"".join(entries), ">i4").astype(np.int32)

    def lists(entries: list[bytes]) -> Any:
        counts = [len(entry) // 4 for entry in entries]
        return ak.unflatten(np.frombuffer(b"".join(entries), ">f4").astype(np.float32), counts)

    farroot.register("int32_t", numbers)
    farroot.register("float[]", lists)
    try:
        tree = farroot.open(made)["events"]
        assert tree["jagged"].is_readable
        read = tree.arrays(["int32", "jagged"])
        assert ak.array_equal(read, expected)
        part = tree.arrays(["int32", "jagged"], entry_start=100, entry_stop=700, cut="float64 > 0")
        kept = tree["float64"].array()[100:700] > 0
        assert ak.array_equal(part.int32, expected.int32[100:700][kept])
        np.testing.assert_array_equal(tree["int32"].array(library="np"), expected.int32)
        steps = list(tree.iterate(["jagged"], step_size=300))
        assert ak.array_equal(ak.concatenate(steps).jagged, expected.jagged)
        # Formulas once got values or bytes, depending on earlier reads of the tree.
        for one in (tree, farroot.open(made)["events"]):
            part = one.arrays(["jagged", "twice"], aliases={"twice": "int32 * 2"}, cut="int32 > 0")
            kept = expected[expected.int32 > 0]
            assert ak.array_equal(part.jagged, kept.jagged)
            assert ak.array_equal(part.twice, kept.int32 * 2)
    finally:
        farroot.unregister("int32_t")
        farroot.unregister("float[]")
    # The tree that was read as bytes is as it was.
    assert ak.array_equal(tree.arrays(["int32", "jagged"]), expected)


@pytest.fixture
def registered() -> Iterator[Callable[..., None]]:
    """Registers types for the time of a test."""
    known: list[str] = []

    def register(typename: str, decode: Any, **options: Any) -> None:
        farroot.register(typename, decode, **options)
        known.append(typename)

    yield register
    for typename in known:
        farroot.unregister(typename)


def test_types_of_fixed_size_are_read_by_a_dtype(
    made: Path, registered: Callable[..., None]
) -> None:
    plain = farroot.open(made)["events"].arrays(["int32", "jagged"])
    registered("int32_t", ">i4", single=True)
    registered("float[]", [("x", ">f4")])
    tree = farroot.open(made)["events"]
    read = tree.arrays(["int32", "jagged"])
    assert ak.array_equal(read.int32, plain.int32)
    assert ak.array_equal(read.jagged.x, plain.jagged)
    assert read.jagged.x.layout.content.dtype == np.dtype("=f4")
    cut = tree.arrays(["jagged"], cut="float64 > 0")
    assert ak.array_equal(cut.jagged.x, plain.jagged[tree["float64"].array() > 0])
    halves = [("", "V2"), ("low", ">u2")]
    registered("int32_t", halves, single=True)
    assert (tree["int32"].array().low == plain.int32 & 0xFFFF).to_list() == [True] * ENTRIES
    registered("int32_t", ">i2")
    halves_of = np.asarray(plain.int32).astype(">i4").view(">i2").reshape(-1, 2)
    assert tree["int32"].array().to_list() == halves_of.tolist()
    registered("int32_t", "u1", skip=3)
    assert ak.all(ak.flatten(tree["int32"].array()) == plain.int32 & 0xFF)


def test_registered_types_hold_in_every_file_and_way_to_read(
    made: Path, registered: Callable[..., None]
) -> None:
    """Other files of a list were read as farroot knows the type, not as the caller does."""
    registered("float[]", [("x", ">f4")])
    place = f"{made}:events"
    expected = farroot.open(place)["jagged"].array()
    assert expected.fields == ["x"]
    both = farroot.concatenate([place, str(made) + ":events;1"], ["jagged"])
    assert ak.array_equal(both.jagged, ak.concatenate([expected, expected]))
    steps = list(farroot.iterate([place, farroot.open(place)], ["jagged"], step_size=300))
    assert ak.array_equal(ak.concatenate(steps).jagged, both.jagged)
    tree = farroot.open(place)
    assert ak.array_equal(tree.arrays(["jagged"], virtual=True).jagged, expected)
    again = pickle.loads(pickle.dumps(tree))
    assert ak.array_equal(again["jagged"].array(), expected)
    with ThreadPoolExecutor(4) as pool:
        for read in pool.map(lambda _: tree["jagged"].array(), range(8)):
            assert ak.array_equal(read, expected)


def test_registered_sizes_that_are_wrong_are_told(
    made: Path, registered: Callable[..., None]
) -> None:
    tree = farroot.open(made)["events"]
    wrong: list[tuple[Any, dict[str, Any]]]
    wrong = [(">i8", {}), (">i2", {"single": True}), (">i4", {"skip": 5})]
    for decode, options in wrong:
        registered("int32_t", decode, **options)
        with pytest.raises(farroot.CorruptError, match="int32_t is registered as"):
            tree["int32"].array()
    wrong = [("no type", {}), ("O", {}), ("V0", {}), (len, {"skip": 1})]
    for decode, options in wrong:
        with pytest.raises(farroot.InvalidArgumentError):
            farroot.register("int32_t", decode, **options)


def test_what_no_file_describes_is_read_by_who_knows_it(
    corpus: Path, registered: Callable[..., None]
) -> None:
    """The example of docs/python.md."""
    hit = [("dom_id", ">i4"), ("channel_id", "u1"), ("time", "<u4"), ("tot", "u1")]
    registered("std::vector<KM3NETDAQ::JDAQKeyHit>", hit, skip=10)
    triggered = [*hit, ("", "V6"), ("trigger_mask", ">u8")]
    registered("std::vector<KM3NETDAQ::JDAQTriggeredHit>", triggered, skip=10)
    registered("KM3NETDAQ::JDAQHit*[]", [("pmt", "u1"), ("tdc", "<u4"), ("tot", "u1")], skip=6)
    registered("KM3NETDAQ::JDAQPreamble", [("length", ">i4"), ("type", ">i4")], single=True)
    file = farroot.open(corpus / "uproot-issue407.root")
    events = file["KM3NET_EVENT"].arrays(["snapshotHits", "triggeredHits"])
    assert ak.num(events.snapshotHits).to_list() == [96, 124, 78]
    assert ak.num(events.triggeredHits).to_list() == [18, 53, 9]
    # The triggered hits are among all hits.
    for event in events:
        seen = set(ak.to_list(ak.zip((event.snapshotHits.dom_id, event.snapshotHits.time))))
        cause = event.triggeredHits
        assert set(ak.to_list(ak.zip((cause.dom_id, cause.time)))) <= seen
        assert (cause.trigger_mask > 0).to_list() == [True] * len(cause)
    preamble = file["KM3NET_EVENT/KM3NET_EVENT/KM3NETDAQ::JDAQPreamble"].array()
    assert preamble["type"].to_list() == [10001] * 3
    frames = file["KM3NET_TIMESLICE_L1"]["vector<KM3NETDAQ::JDAQSuperFrame>"]
    hits = frames["vector<KM3NETDAQ::JDAQSuperFrame>.buffer"].array()
    counts = frames["vector<KM3NETDAQ::JDAQSuperFrame>.numberOfHits"].array()
    assert ak.array_equal(ak.num(hits), ak.sum(counts, axis=1), dtype_exact=False)


def test_a_branch_in_use_is_one_object(made: Path) -> None:
    tree = farroot.open(f"{made}:events")
    assert tree["int8"] is tree["int8"]
    assert tree.branches[0] is tree[tree.keys()[0]]
    assert tree["int8"] is not farroot.open(f"{made}:events")["int8"]
