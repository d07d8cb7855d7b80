"""Makes small_directories.root: `python make_small_directories.py FOLDER`. Needs ROOT.

Five directories with five directories each, each of which has a tree and 20 histograms.
"""

import array
import pathlib
import sys

import ROOT

OUTER, INNER, HISTOGRAMS, ENTRIES = 5, 5, 20, 40


def main():
    ROOT.TH1.AddDirectory(False)
    file = ROOT.TFile(str(pathlib.Path(sys.argv[1]) / "small_directories.root"), "RECREATE")
    for outer in range(OUTER):
        for inner in range(INNER):
            directory = file.mkdir(f"outer_{outer}/inner_{inner}")
            directory.cd()
            tree = ROOT.TTree("tree", "a small tree")
            number = array.array("i", [0])
            tree.Branch("number", number, "number/I")
            for entry in range(ENTRIES):
                number[0] = entry
                tree.Fill()
            tree.Write()
            for at in range(HISTOGRAMS):
                histogram = ROOT.TH1C(f"histogram_{at:02}", "a small histogram", 2, 0, 1)
                histogram.SetBinContent(1, at)
                directory.WriteTObject(histogram)
    file.Close()


main()
