"""Writes trees of `pointers.h` with ROOT.

usage: pointers.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary

ENTRIES = 60


def write(path: str, split: int, memberwise: bool) -> None:
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("tree", "pointers of every kind")
    event, inners = ROOT.pointed.Event(), ROOT.std.vector["pointed::Inner"]()
    # Baskets of a few entries.
    tree.Branch("event.", event, 8000, split)
    tree.Branch("inners", inners, 2000, split)
    for i in range(ENTRIES):
        event.fill(i)
        inners.clear()
        for each in event.inners:
            inners.push_back(each)
        tree.Fill()
    tree.Write()
    file.Close()


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    dictionary.load(dictionary.HERE / "pointers.h", ("Hist", "Physics"))
    for split in (0, 1, 99):
        for memberwise in (False, True):
            write(os.path.join(folder, f"pointers_{split}_{memberwise}.root"), split, memberwise)
    # The objects own each other in circles.
    os._exit(0)


main(sys.argv[1])
