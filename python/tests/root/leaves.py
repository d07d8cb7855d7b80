"""Writes trees of `leaves.h` with ROOT.

usage: leaves.py FOLDER
"""

import os
import sys

import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))


def write(path: str, entries: int, basket: int, generate_offsets: bool) -> None:
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("tree", "leaf lists")
    if generate_offsets:
        features = ROOT.ROOT.TIOFeatures()
        features.Set(ROOT.ROOT.Experimental.EIOFeatures.kGenerateOffsetMap)
        tree.SetIOFeatures(features)
    ROOT.fill_leaves(tree, entries, basket)
    tree.Write()
    file.Close()


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gInterpreter.ProcessLine(f'#include "{HERE}/leaves.h"')
    for name, kind in {"large": (50, 32000, False), "small": (50, 60, True)}.items():
        write(os.path.join(folder, f"{name}.root"), *kind)


main(sys.argv[1])
