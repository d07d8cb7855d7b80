"""Damaged files in processes that have little memory: values, or an error of farroot.

Numbers of entries of 2^62 once ended the process, or took all memory, in steps, cuts, skims and
the shell's ``cat``.
"""

from __future__ import annotations

from . import exhausted
from .skips import REPOSITORY

TESTDATA = REPOSITORY / "crates" / "rootfile" / "testdata"


def test_damaged_files_end_in_values_or_an_error() -> None:
    assert exhausted.run(exhausted.cases(0, 10, exhausted.files())) == []


def test_a_number_of_entries_that_no_file_has() -> None:
    content = (TESTDATA / "plain.root").read_bytes()
    ways = [
        "iterate",
        "iterate 1",
        "cut",
        "cut steps",
        "skim",
        "skim cut",
        "cat",
        "virtual",
        "split",
    ]
    cases = [case for case in exhausted.replaced(content, 100) if "0x4000000000000000" in case[0]]
    assert cases
    assert exhausted.run(iter(cases[:6]), ways) == []
