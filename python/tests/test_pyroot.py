"""Objects of PyROOT as farroot's, and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from .root import by_root
from .skips import need_root

pytestmark = pytest.mark.interop

FROM_PYROOT = """
import farroot
import ROOT

theirs = ROOT.TH1F("hist", "title", 10, -5, 5)
theirs.Fill(1.5, 2.0)
hist = farroot.from_pyroot(theirs)
assert isinstance(hist, farroot.behaviors.TH1.TH1)
assert (hist.name, hist.title) == ("hist", "title")
assert hist.values().tolist() == [theirs.GetBinContent(bin) for bin in range(1, 11)]
assert hist.axis().edges().tolist() == list(range(-5, 6))
vector = farroot.from_pyroot(ROOT.TLorentzVector(1, 2, 3, 4))
assert (vector.member("fP")["fY"], vector.member("fE")) == (2, 4)
assert farroot.from_pyroot(ROOT.TObjString("text")) == "text"
try:
    farroot.from_pyroot(ROOT.TTree("tree", ""))
except farroot.UnsupportedError as error:
    assert "farroot.open" in str(error)
else:
    raise AssertionError
"""

TO_PYROOT = """
import farroot
import numpy
import ROOT

theirs = farroot.to_pyroot(numpy.histogram([1, 2, 2], bins=3, range=(0, 3)), "counts")
assert theirs.IsA().GetName() == "TH1D"
assert theirs.GetName() == "counts"
assert [theirs.GetBinContent(bin) for bin in range(5)] == [0, 0, 1, 2, 0]
again = farroot.from_pyroot(farroot.to_pyroot(farroot.from_pyroot(theirs)))
assert again.values().tolist() == [0, 1, 2]
assert again.name == "counts"
"""

IN_A_FILE = """
import sys
import farroot
import ROOT

out = ROOT.TFile(sys.argv[1], "RECREATE")
hist = ROOT.TH1F("hist", "title", 10, -5, 5)
again = farroot.from_pyroot(hist)
assert ROOT.gDirectory.GetName() == out.GetName(), ROOT.gDirectory.GetName()
theirs = farroot.to_pyroot(again)
assert ROOT.gDirectory.GetName() == out.GetName(), ROOT.gDirectory.GetName()
assert not theirs.GetDirectory()
ROOT.TH1F("later", "", 1, 0, 1)
out.Write()
out.Close()
assert sorted(farroot.open(sys.argv[1]).keys(cycle=False)) == ["hist", "later"]
"""


def test_the_callers_file_stays_the_current_one(tmp_path: Path) -> None:
    """The temporary file became gDirectory, and closing it left none: what the caller made next
    was not in the caller's open file."""
    need_root()
    by_root(IN_A_FILE, tmp_path / "out.root")


@pytest.mark.parametrize("script", [FROM_PYROOT, TO_PYROOT], ids=["from", "to"])
def test_objects_of_pyroot(script: str, tmp_path: Path) -> None:
    need_root()
    by_root(script)
