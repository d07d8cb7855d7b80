"""Writes trees of `pointers.h` with ROOT.

usage: pointers.py FOLDER
"""

import os
import sys

import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
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
    ROOT.gSystem.SetBuildDir(folder, True)
    for library in ("Hist", "Physics"):
        ROOT.gSystem.Load(f"lib{library}")
    header = os.path.join(HERE, "pointers.h")
    if not ROOT.gSystem.CompileMacro(header, "kfs", "farroot_pointers", folder):
        raise SystemExit("the classes could not be compiled")
    for split in (0, 1, 99):
        for memberwise in (False, True):
            write(os.path.join(folder, f"pointers_{split}_{memberwise}.root"), split, memberwise)
    # The objects own each other in circles.
    os._exit(0)


main(sys.argv[1])
