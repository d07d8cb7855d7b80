"""Writes trees of `field.h`, `evolved.h`, `custom.h`, `shapes.h` and `branches.h` with ROOT.

usage: field.py FOLDER field
       field.py FOLDER evolved VERSION
       field.py FOLDER custom
       field.py FOLDER shapes
       field.py FOLDER hits
       field.py FOLDER branches
       field.py FOLDER merge
"""

import os
import sys

import ROOT

from . import dictionary

SPLITS = (0, 1, 99)


def load(header: str, define: str = "") -> None:
    dictionary.load(dictionary.HERE / header, ("Physics",), define)


def write(folder: str, fill: str, name: str) -> None:
    for split in SPLITS:
        for memberwise in (False, True):
            ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
            path = os.path.join(folder, f"{name}_{split}_{memberwise}.root")
            file = ROOT.TFile(path, "RECREATE")
            tree = ROOT.TTree("tree", name)
            getattr(ROOT, fill)(tree, split)
            tree.Write()
            file.Close()


def merge(folder: str) -> None:
    """Trees with objects of both versions, their baskets as they were."""
    for first, second in ((1, 2), (2, 1)):
        for split in SPLITS:
            for memberwise in (False, True):
                kind = f"{split}_{memberwise}.root"
                path = os.path.join(folder, f"merged{first}{second}_{kind}")
                file = ROOT.TFile(path, "RECREATE")
                chain = ROOT.TChain("tree")
                for version in (first, second):
                    chain.Add(os.path.join(folder, f"evolved{version}_{kind}"))
                chain.CloneTree(-1, "fast").Write()
                file.Close()


def main(folder: str, what: str, *version: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    if what == "field":
        load("field.h")
        write(folder, "fill_products", "products")
        write(folder, "fill_references", "references")
    elif what == "evolved":
        load("evolved.h", f"VERSION={version[0]}")
        write(folder, "fill_evolved", f"evolved{version[0]}")
    elif what in ("custom", "hits"):
        load("custom.h")
        write(folder, f"fill_{what}", what)
    elif what == "shapes":
        load("shapes.h")
        write(folder, f"fill_{what}", what)
    elif what == "branches":
        load("branches.h")
        write(folder, "fill_old", "old")
        write(folder, "fill_pointers", "pointers")
    else:
        merge(folder)


main(*sys.argv[1:])
