"""Real files: every branch is equal to uproot's or clearly refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot

from . import corpus_root
from .corpus import TABLE, Outcome, compare_all, table
from .same import same_numpy
from .skips import need_root

#: Files whose branches are compared as NumPy arrays too: all leaf types, strings, vectors.
NUMPY_FILES = (
    "uproot-sample-6.10.05-lz4.root",
    "uproot-sample-5.24.00-zlib.root",
    "uproot-HZZ.root",
    "uproot-leaflist.root",
    "uproot-issue-589.root",
    "uproot-foriter2.root",
)


@pytest.fixture(scope="module")
def outcomes(corpus: Path) -> list[Outcome]:
    return compare_all(corpus)


@pytest.mark.timeout(600)
def test_every_branch_is_equal_or_refused(outcomes: list[Outcome]) -> None:
    print(table(outcomes))
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    assert not faults, "\n".join(faults[:50])


@pytest.mark.timeout(600)
def test_the_documented_table_is_up_to_date(outcomes: list[Outcome]) -> None:
    documented = TABLE.read_text().partition(corpus_root.HEADING)[0]
    assert documented == table(outcomes), "run `python -m tests.corpus` in python/"


#: Files with more branches that uproot does not read are compared by one of each type.
MANY = 100


@pytest.mark.interop
@pytest.mark.timeout(900)
def test_what_uproot_does_not_read_is_as_root_reads_it(
    corpus: Path, outcomes: list[Outcome]
) -> None:
    need_root()
    documented = TABLE.read_text().splitlines()
    for outcome in outcomes:
        count = sum(map(len, outcome.unread.values()))
        if count:
            unread = outcome.unread if count < MANY else _some(corpus / outcome.file, outcome)
            by_root = corpus_root.compare(corpus / outcome.file, unread)
            assert not by_root.faults, "\n".join(by_root.faults)
            if count < MANY:
                assert corpus_root.row(by_root) in documented


def _some(path: Path, outcome: Outcome) -> dict[str, list[int]]:
    """Of each type in each tree one branch."""
    file = farroot.open(path)
    some = {}
    for key, numbers in outcome.unread.items():
        branches = file[key].values()
        some[key] = list({branches[number].typename: number for number in numbers}.values())
    return some


@pytest.mark.parametrize("name", NUMPY_FILES)
def test_numpy_arrays_are_equal_too(corpus: Path, name: str) -> None:
    ours = farroot.open(corpus / name)
    assert isinstance(ours, farroot.File)
    file = uproot.open(corpus / name)
    compared = 0
    for key in file.keys(filter_classname="TTree"):
        for branch in file[key].branches:
            try:
                array = ours[key][branch.name].array(library="np")
            except farroot.UnsupportedError:
                continue
            assert same_numpy(array, branch.array(library="np")), branch.name
            compared += 1
    assert compared


def test_members_that_the_file_lacks_are_no_differences(tmp_path: Path) -> None:
    """ROOT prints the members that its classes have by now, with their defaults."""
    with farroot.recreate(tmp_path / "h.root") as file:
        file["h"] = np.histogram([1, 2, 3], bins=3)
    described = farroot.open(tmp_path / "h.root").file.streamers
    axis = {"_typename": "TAxis", "fXmin": 0.0, "fName": "x"}
    listed = {"_typename": "TList", "name": "TList", "arr": [axis | {"fNewer": 1}], "opt": []}
    of_the_file = corpus_root._of_the_file([listed, {"_typename": "Other", "fNewer": 1}], described)
    assert of_the_file == [listed | {"arr": [axis]}, {"_typename": "Other", "fNewer": 1}]


def test_an_array_of_one_in_a_collection_is_no_list() -> None:
    assert corpus_root._difference(5, [5], "") is None
    assert corpus_root._difference(5, [6], "") == ": 5 instead of 6"
    assert corpus_root._difference(5, [5, 5], "") == ": 5 instead of [5, 5]"
