"""Names, types and filters of branches."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .corpus import corpus_folder

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
    with pytest.raises(KeyError, match=r"did you mean .*'float32'"):
        tree["Float32"]
    with pytest.raises(farroot.KeyInFileError, match="flaot32"):
        tree.arrays(["flaot32"])
    with pytest.raises(farroot.KeyInFileError, match=r"nothing\*"):
        tree.arrays(["nothing*"])


def test_show_is_a_table(tree: farroot.Tree) -> None:
    out = io.StringIO()
    tree.show(stream=out, name_width=8, filter_name=["float32", "jagged"])
    assert out.getvalue() == (
        "name     | typename                 | interpretation\n"
        "---------+--------------------------+-------------------------------\n"
        "float32  | float                    | float32\n"
        "jagged   | float[]                  | var * float32\n"
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


@pytest.mark.skipif(corpus_folder() is None, reason="THE CORPUS IS NOT HERE")
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
    finally:
        farroot.unregister("int32_t")
        farroot.unregister("float[]")
    assert ak.array_equal(farroot.open(made)["events"].arrays(["int32", "jagged"]), expected)
