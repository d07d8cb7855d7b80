"""Reads the objects of `examples/write_objects.rs` with ROOT and with uproot: `objects.py FILE`.

Whatever ROOT has to say about the file goes to the standard error.
"""

import sys
import warnings

import numpy as np
import uproot

EDGES = ([0, 1, 3], [-1, -1 / 3, 1 / 3, 1], [0, 1, 2])
SHAPES = {1: (4,), 2: (4, 5), 3: (4, 5, 4)}


def contents(dimensions):
    """Cell n has the content n, the first axis running fastest."""
    shape = SHAPES[dimensions]
    return np.arange(np.prod(shape)).reshape(shape[::-1]).T


def with_uproot(file):
    for dimensions in (1, 2, 3):
        expected = contents(dimensions)
        for letter in "CSIFD":
            h = file[f"h{dimensions}{letter}"]
            assert np.array_equal(h.values(flow=True), expected), h
            assert np.array_equal(h.variances(flow=True), 4 * expected), h
            for axis, edges in zip(h.axes, EDGES, strict=False):
                assert np.allclose(axis.edges(), edges), axis
        p = file[f"p{dimensions}"]
        full = expected > 0
        if dimensions == 1:
            assert np.array_equal(p.values(flow=True)[full], np.full(full.sum(), 3.0)), p
    assert file["h3F"].axes[2].labels() == ["one", "two"]
    assert file["h1D"].title == "of 4 cells"
    assert file["below/added"] == "added"
    assert file["text"] == "newer" and file["text;1"] == "long " * 100
    assert [item.member("fName") for item in file["list"][:2]] == ["bool", "int"]
    assert file["long"].value == 1 << 40 and file["bool"].value
    assert np.array_equal(file["errors"].member("fEY"), [0.2] * 3)
    assert np.array_equal(file["asymmetric"].errors("high", "y"), [0.4] * 3)


def with_root(directory):
    import ROOT

    for dimensions in (1, 2, 3):
        expected = contents(dimensions).T.ravel()
        inside = contents(dimensions)[(slice(1, -1),) * dimensions]
        for letter in "CSIFD":
            h = directory.Get(f"h{dimensions}{letter}")
            assert h.ClassName() == f"TH{dimensions}{letter}"
            assert [h.GetBinContent(n) for n in range(h.GetNcells())] == expected.tolist()
            assert np.allclose([h.GetBinError(n) ** 2 for n in range(h.GetNcells())], 4 * expected)
            assert h.GetEntries() == expected.sum()
            assert h.GetSumOfWeights() == inside.sum()
            mean = h.GetMean(1)
            h.ResetStats()
            assert np.isclose(h.GetMean(1), mean)
        p = directory.Get(f"p{dimensions}")
        cells = range(1, p.GetNcells())
        assert all(np.isclose(p.GetBinContent(n), 3) for n in cells)
        assert all(np.isclose(p.GetBinEntries(n), 2 * n) for n in cells)
        # The spread is √(25 - 9), of n effective entries.
        assert all(np.isclose(p.GetBinError(n), 4 / np.sqrt(n)) for n in cells)
    z = directory.Get("h3D").GetZaxis()
    assert [z.GetBinLabel(n) for n in (1, 2)] == ["one", "two"]
    assert directory.Get("h1D").GetXaxis().GetTitle() == "x [cm]"
    assert directory.Get("h1D").FindBin(2.5) == 2
    for name, class_name in (
        ("graph", "TGraph"),
        ("errors", "TGraphErrors"),
        ("asymmetric", "TGraphAsymmErrors"),
    ):
        graph = directory.Get(name)
        assert graph.ClassName() == class_name and graph.GetTitle() == "three points"
        assert [graph.GetPointY(n) for n in range(graph.GetN())] == [4, -5, 6]
    assert directory.Get("errors").GetErrorY(1) == 0.2
    assert directory.Get("asymmetric").GetErrorYhigh(1) == 0.4
    assert directory.Get("empty").GetN() == 0
    efficiency = directory.Get("eff")
    assert [efficiency.GetEfficiency(n) for n in (1, 2)] == [0.25, 0.5]
    values = {"bool": True, "int": -7, "long": 1 << 40, "float": 0.5, "double": 0.25}
    for name, value in values.items():
        assert directory.Get(name).GetVal() == value, name
    for name in ("list", "array"):
        items = directory.Get(name)
        assert [items.At(n).GetVal() for n in range(5)] == list(values.values())
        assert [items.At(n).GetName() for n in range(5, 8)] == ["a", "b", "c"]
    assert directory.Get("map").GetValue("key").GetName() == "value"
    assert ROOT.gROOT.GetVersion()


def main(path):
    with uproot.open(path) as file:
        with_uproot(file)
    # ROOT's wheel warns of itself.
    warnings.simplefilter("ignore")
    try:
        import ROOT
    except ImportError:
        print("SKIPPED: no ROOT")
        return
    file = ROOT.TFile(path)
    assert file.GetTitle() == "one of each"
    with_root(file)
    with_root(file.Get("below/further"))
    assert str(file.Get("below/added")) == "added"
    assert str(file.Get("text")) == "newer" and str(file.Get("text;1")) == "long " * 100

    file.Close()
    file = ROOT.TFile(path, "UPDATE")
    text = ROOT.TObjString("of ROOT")
    file.Get("below").WriteObject(text, "added")
    file.Delete("text;1")
    file.Close()


if __name__ == "__main__":
    main(sys.argv[1])
