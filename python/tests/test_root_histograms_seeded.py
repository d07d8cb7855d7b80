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
    faults, counts = run(tmp_path, first=0, seeds=SEEDS)
    assert faults == []
    # Each way was taken, and is not refused most of the time.
    assert all(counts[way] > SEEDS for way in ("read", "copied", "updated", "merged3", "pickled"))
    assert counts["converted"] > SEEDS


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
