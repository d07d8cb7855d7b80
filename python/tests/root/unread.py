"""Writes the objects that docs/not-read.md names with ROOT.

usage: unread.py FOLDER
"""

import os
import shutil
import sys
from array import array
from typing import Any

import ROOT

from . import dictionary


def custom(number: int) -> Any:
    one = ROOT.Custom()
    one.number = number
    return one


def two() -> Any:
    found = ROOT.std.vector["Custom"]()
    found.push_back(custom(10))
    found.push_back(custom(11))
    return found


def listed() -> Any:
    found, item = ROOT.TList(), ROOT.Item()
    item.number = 9
    for one in (item, ROOT.TObjString("text")):
        ROOT.SetOwnership(one, False)
        found.Add(one)
    return found


def owner() -> Any:
    one = ROOT.Owner()
    one.before, one.custom.number, one.after = 1, 6, 2
    for number in (7, 8):
        one.customs.push_back(custom(number))
    return one


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    ROOT.gSystem.Load("libASImage")
    dictionary.load(dictionary.HERE / "custom.h", ("Hist",))
    path = os.path.join(folder, "unread.root")
    file = ROOT.TFile(path, "RECREATE")
    polygons = ROOT.TH2Poly("polygons", "", 0, 4, 0, 4)
    polygons.AddBin(ROOT.TGraph(3, array("d", [0, 1, 0]), array("d", [0, 0, 1])))
    for name, one in (
        ("alone", custom(5)),
        ("owner", owner()),
        ("list", listed()),
        ("vector<Custom>", two()),
        ("image", ROOT.TASImage(4, 4)),
        ("function", ROOT.TF1("function", "[0]*x", 0, 1)),
        ("polygons", polygons),
    ):
        file.WriteObject(one, name)
    file.Flush()
    unclosed = os.path.join(folder, "unclosed.root")
    shutil.copy(path, unclosed)
    file.Close()
    merger = ROOT.TFileMerger(False)
    merger.OutputFile(os.path.join(folder, "copied.root"))
    merger.AddFile(unclosed)
    merger.Merge()
    # Objects that own each other are not taken down in order.
    os._exit(0)


main(sys.argv[1])
