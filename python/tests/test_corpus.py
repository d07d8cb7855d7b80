"""Real files: every branch is equal to uproot's or clearly refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

import farroot

from .corpus import TABLE, Outcome, compare_all, corpus_folder, table
from .same import same_numpy

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
    assert TABLE.read_text() == table(outcomes), "run `python -m tests.corpus` in python/"


@pytest.mark.skipif(corpus_folder() is None, reason="THE CORPUS IS NOT HERE")
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
