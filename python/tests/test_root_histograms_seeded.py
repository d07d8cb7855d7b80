"""Histograms that seeds make up, as ROOT fills, reads and adds them, and as farroot does."""

from __future__ import annotations

from pathlib import Path

import pytest

import farroot

from .root import by_root
from .seeded_histograms import run

pytestmark = pytest.mark.interop

SEEDS = 30


def test_histograms_are_those_of_root_after_each_way(tmp_path: Path) -> None:
    """Fills that waited in a buffer were lost in copies, errors without squared weights were 0, and
    sums of histograms read other bins than reading did: each way had its own idea of them."""
    faults, counts = run(tmp_path, 0, SEEDS)
    assert faults == []
    # Each way was taken, and is not refused most of the time.
    assert all(counts[way] > SEEDS for way in ("read", "copied", "updated", "merged3", "pickled"))
    assert counts["converted"] > SEEDS


#: Histograms of other seeds that found faults.
FOUND = (
    # A part of an axis stayed shown where ROOT had chosen limits.
    *("103-h2", "159-h3", "168-h1", "244-p2", "422-h1b"),
    # Merged axes of other limits: ROOT forgets functions and contours of the first.
    *("113-p1", "123-h1", "181-h2"),
    # ROOT merges names of z as those of y.
    *("375-h3", "399-h3"),
    # Profiles whose weights cancel have the sums of their bins.
    *("106-p2", "139-p2", "297-p3", "353-p1", "365-p1", "570-p3"),
    # ROOT's merger leaves out entries of profiles, and squares of their weights.
    *("45-p3", "119-p1", "277-p2", "338-p1", "381-p3", "449-p1", "572-p1"),
    # It takes contents below zero for squares of errors.
    "651-h1",
    # A labelled axis that grows, beside one without limits.
    "67-h2",
    # Profiles grow after NaN, and ROOT looks for no range on their third axis.
    *("654-p3", "606-p3"),
    # Entries of values of zero below an axis of names.
    "351-p3",
    # Squares of weights below zero.
    "450-p3",
    # A border at zero, but for rounding.
    "561-p3",
    # Errors of spreads that are zero, but for rounding.
    *("415-p2", "545-p1"),
)


def test_histograms_of_other_seeds_are_those_of_root(tmp_path: Path) -> None:
    faults, counts = run(tmp_path, *FOUND)
    assert faults == []
    assert counts["read"] > len(FOUND)


#: usage: FOLDER
WAITING = """
import sys
import ROOT

ROOT.TH1.AddDirectory(False)
with ROOT.TFile(f"{sys.argv[1]}/h.root", "RECREATE"):
    tree = ROOT.TTree("t", "")
    histogram = ROOT.TH1F("h", "", 4, 0, 4)
    tree.Branch("h", histogram, 32000, 0)
    histogram.Fill(1)
    tree.Fill()
    histogram.SetBuffer(20)
    histogram.Fill(2)
    tree.Fill()
    tree.Write()
"""


def test_entries_of_a_branch_whose_fills_wait_are_an_error(tmp_path: Path) -> None:
    """Their bins were shown without the waiting entries."""
    by_root(WAITING, tmp_path)
    first, second = farroot.open(f"{tmp_path}/h.root:t")["h"].array(library="np")
    assert first.values().tolist() == [0, 1, 0, 0]
    for name in ("values", "errors", "to_hist"):
        with pytest.raises(farroot.UnsupportedError, match="1 fills wait"):
            getattr(second, name)()
