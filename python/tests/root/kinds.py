"""Writes objects of further kinds with ROOT: of a user's classes, of many dimensions, of RooFit.

usage: kinds.py FOLDER
"""

import os
import sys
from array import array

import ROOT

from . import dictionary


def write_odd_ones(file: ROOT.TFile) -> None:
    """Classes with a streamer written by hand."""
    numbers = ROOT.TExMap()
    for key, value in ((3, 4), (100, -7), (5, 1 << 40)):
        numbers.Add(key, value)
    line, markers = ROOT.TPolyLine3D(2, "option"), ROOT.TPolyMarker3D(2, 20)
    for points in (line, markers):
        points.SetPoint(0, 1, 2, 3)
        points.SetPoint(1, 4, 5, 6)
    markers.SetName("named")
    polygons = ROOT.TH2Poly("polygons", "", 0, 4, 0, 4)
    weighted = ROOT.TH2Poly("polygons_weighted", "", 0, 4, 0, 4)
    for each in (polygons, weighted):
        for i in range(3):
            x, y = array("d", [i, i + 1, i]), array("d", [0, 0, 1])
            each.AddBin(ROOT.TGraph(3, x, y))
    weighted.Sumw2()
    for each in (polygons, weighted):
        for i in range(3):
            for _ in range(i + 1):
                each.Fill(i + 0.1, 0.1, 2.0)
        each.Fill(0.9, 3.9, 5.0)
    image = ROOT.TASImage(4, 4)
    for name, one in (
        ("numbers", numbers),
        ("line", line),
        ("markers", markers),
        ("polygons", polygons),
        ("polygons_weighted", weighted),
        ("image", image),
        ("holds", ROOT.TNamed("holds", "")),
    ):
        file.WriteObject(one, name)
    both = ROOT.TList()
    both.Add(image)
    both.Add(line)
    file.WriteObject(both, "both")


def write_efficiencies(file: ROOT.TFile) -> None:
    for name, weighted in (("efficiency", False), ("efficiency_weighted", True)):
        one = ROOT.TEfficiency(name, "", 4, 0, 4)
        if weighted:
            one.SetUseWeightedEvents()
        one.SetStatisticOption(ROOT.TEfficiency.kFNormal)
        for i in range(60):
            if weighted:
                one.FillWeighted(i % 7 > 2, 1 + i % 3, i % 5)
            else:
                one.Fill(i % 7 > 2, i % 5)
        file.WriteObject(one, name)
        errors = [one.GetEfficiencyErrorUp(n) for n in range(1, 5)]
        vector = ROOT.TVectorD(4, array("d", errors))
        file.WriteObject(vector, f"{name}_errors")


def write_roofit(file: ROOT.TFile) -> None:
    ROOT.RooMsgService.instance().setGlobalKillBelow(ROOT.RooFit.ERROR)
    space = ROOT.RooWorkspace("space")
    space.factory("Gaussian::g(x[0,10],mean[5,0,10],sigma[1,.1,3])")
    x, model = space.var("x"), space.pdf("g")
    data = model.generate(ROOT.RooArgSet(x), 200)
    result = model.fitTo(data, ROOT.RooFit.Save(True), ROOT.RooFit.PrintLevel(-1))
    frame = x.frame(10)
    data.plotOn(frame)
    model.plotOn(frame, ROOT.RooFit.VisualizeError(result))
    model.plotOn(frame)
    names = [frame.nameOf(i) for i in range(int(frame.numItems()))]
    for name, one in (
        ("points", frame.getHist(names[0])),
        ("errors", frame.getCurve(names[1])),
        ("curve", frame.getCurve(names[2])),
        ("frame", frame),
        ("result", result),
        ("data", data),
        ("x", x),
        ("space", space),
    ):
        file.WriteObject(one, name)


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.TH1.AddDirectory(False)
    dictionary.load(dictionary.HERE / "kinds.h", ("Hist", "Graf3d", "ASImage", "RooFit"))
    file = ROOT.TFile(os.path.join(folder, "kinds.root"), "RECREATE")
    ROOT.kinds.write_users(file)
    ROOT.kinds.write_many(file)
    write_odd_ones(file)
    write_efficiencies(file)
    write_roofit(file)
    file.Close()
    # Objects that RooFit and lists own together are not taken down in order.
    os._exit(0)


main(sys.argv[1])
