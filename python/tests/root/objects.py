"""Writes the objects of `objects.h` with ROOT, and beside them their members as ROOT has them.

usage: objects.py FOLDER
"""

import os
import shutil
import sys

import ROOT

from . import dictionary


def write_unclosed(folder: str) -> None:
    """Histograms and graphs in a file that is closed, and in the same file before that."""
    path = os.path.join(folder, "closed.root")
    file = ROOT.TFile(path, "RECREATE")
    for classname in ("TH1F", "TH2D", "TH3I", "TProfile"):
        bins = {"1": 1, "2": 2, "3": 3}.get(classname[2], 1)
        histogram = getattr(ROOT, classname)(classname, "", *[4, 0.0, 4.0] * bins)
        for i in range(20):
            histogram.Fill(*[i % 5] * max(bins, 2 if classname == "TProfile" else 1))
        file.WriteObject(histogram, classname)
    graph = ROOT.TGraphErrors(3)
    graph.SetPoint(1, 2.0, 3.0)
    file.WriteObject(graph, "TGraphErrors")
    file.WriteObject(ROOT.TParameter["double"]("p", 1.5), "TParameter")
    file.WriteObject(ROOT.TF1("f", "x", 0, 1), "TF1")
    file.Flush()
    shutil.copy(path, os.path.join(folder, "unclosed.root"))
    file.Close()


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    libraries = ("Hist", "Matrix", "Physics", "GenVector", "Gpad", "Graf", "MathCore")
    dictionary.load(dictionary.HERE / "objects.h", libraries)
    write_unclosed(folder)
    ROOT.objects.write(os.path.join(folder, "objects.root"), os.path.join(folder, "objects.txt"))


main(sys.argv[1])
