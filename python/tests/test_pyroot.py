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


WRITTEN = """
import sys
import farroot
import numpy
import ROOT

histogram = ROOT.TH1F("of ROOT", "title;x in cm;y", 10, 0, 1)
histogram.FillN(4, numpy.array([0.11, 0.12, 0.55, 5]), numpy.full(4, 2.0))
histogram.GetXaxis().SetBinLabel(1, "one")
histogram.SetFillColor(5)
histogram.GetListOfFunctions().Add(ROOT.TF1("line", "[0] + [1] * x", 0, 1))
profile = ROOT.TProfile("profile", "", 3, 0, 1)
profile.Fill(0.3, 4)
profile.Fill(0.31, 6)
# Its entries wait in a buffer until something asks for them.
automatic = ROOT.TH1D("automatic", "", 4, 0, 0)
automatic.Fill(3)
inputs = {
    "h": histogram,
    "below/p": profile,
    "automatic": automatic,
    "g": ROOT.TGraph(2, numpy.array([1.0, 2]), numpy.array([3.0, 4])),
    "vector": ROOT.TLorentzVector(1, 2, 3, 4),
    "function": ROOT.TF1("function", "[0] * x", 0, 2),
    "text": ROOT.TObjString("text"),
    "numbers": ROOT.std.vector("int")([1, 2]),
}


def check(path):
    file = ROOT.TFile(path)
    h = file.Get("h")
    assert (h.GetTitle(), h.GetXaxis().GetTitle()) == ("title", "x in cm")
    assert (h.GetEntries(), h.GetMean()) == (histogram.GetEntries(), histogram.GetMean())
    assert list(h) == list(histogram)
    assert [h.GetBinError(bin) for bin in range(12)] == [
        histogram.GetBinError(bin) for bin in range(12)
    ]
    assert (h.GetXaxis().GetBinLabel(1), h.GetFillColor()) == ("one", 5)
    assert h.GetFunction("line").GetExpFormula() == "[p0]+[p1]*x"
    p = file.Get("below/p")
    assert (p.GetBinContent(1), p.GetEntries()) == (5, 2)
    assert file.Get("automatic").GetMean() == 3
    assert file.Get("g").GetPointY(1) == 4
    assert file.Get("vector") == inputs["vector"]
    assert file.Get("function").IsA().GetName() == "TF1"
    assert file.Get("text").GetString() == "text"
    assert list(file.Get("numbers")) == [1, 2]
    file.Close()


first, second, third = (f"{sys.argv[1]}/{name}.root" for name in ("first", "second", "third"))
with farroot.recreate(first) as file:
    file.update(inputs)
    assert file.classname_of("vector") == "TLorentzVector"
    assert file["vector"].member("fE") == 4
    file["list"] = farroot.writing.identify.to_TList([histogram])
    try:
        file["tree"] = ROOT.TTree("tree", "")
    except farroot.UnsupportedError as error:
        assert "TTree" in str(error)
    else:
        raise AssertionError
    assert "tree" not in file
check(first)
listed = farroot.open(first)["list"][0]
assert (listed.member("fTitle"), listed.member("fEntries")) == ("title", 4)

source = farroot.open(first)
with farroot.recreate(second) as file:
    file.copy_from(source, filter_classname=lambda name: name != "TList")
    file["text"] = "another"
    del source
check_text = farroot.open(second)["text"]
assert check_text == "another"
with farroot.recreate(third) as file:
    file.copy_from(farroot.open(first), rename=lambda path: path)
with farroot.update(third) as file:
    file["more"] = ROOT.TParameter["int"]("more", 3)
    file.copy_from(farroot.open(first)["below"], filter_name="p", rename={"p": "again"})
check(third)
file = ROOT.TFile(third)
assert (file.Get("more").GetVal(), file.Get("again").GetBinContent(1)) == (3, 5)
"""


def test_the_callers_file_stays_the_current_one(tmp_path: Path) -> None:
    """The temporary file became gDirectory, and closing it left none: the caller's next object was
    not in the caller's open file."""
    need_root()
    by_root(IN_A_FILE, tmp_path / "out.root")


@pytest.mark.parametrize("script", [FROM_PYROOT, TO_PYROOT], ids=["from", "to"])
def test_objects_of_pyroot(script: str, tmp_path: Path) -> None:
    need_root()
    by_root(script)


def test_objects_of_any_class_are_written_as_root_has_them(tmp_path: Path) -> None:
    """A histogram was written as UHI has it: without titles, labels, entries and sums, so that its
    mean was another one; other objects were refused."""
    need_root()
    by_root(WRITTEN, tmp_path)
