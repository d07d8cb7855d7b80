"""Writes trees of `found.h` with ROOT.

usage: found.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    dictionary.load(dictionary.HERE / "found.h")
    for split in (0, 1, 99):
        for memberwise in (False, True):
            ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
            path = os.path.join(folder, f"found_{split}_{memberwise}.root")
            file = ROOT.TFile(path, "RECREATE")
            tree = ROOT.TTree("tree", "what was once misread")
            ROOT.fill_found(tree, split)
            tree.Write()
            file.Close()


main(sys.argv[1])
