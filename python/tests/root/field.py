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

HERE = os.path.dirname(os.path.abspath(__file__))
SPLITS = (0, 1, 99)


def compile_classes(folder: str, header: str, name: str) -> None:
    ROOT.gSystem.SetBuildDir(folder, True)
    if not ROOT.gSystem.CompileMacro(os.path.join(HERE, header), "kfs", name, folder):
        raise SystemExit("the classes could not be compiled")


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
    ROOT.gSystem.Load("libPhysics")
    if what == "field":
        compile_classes(folder, "field.h", "farroot_field")
        write(folder, "fill_products", "products")
        write(folder, "fill_references", "references")
    elif what == "evolved":
        ROOT.gSystem.AddIncludePath(f"-DVERSION={version[0]}")
        compile_classes(folder, "evolved.h", f"farroot_evolved{version[0]}")
        write(folder, "fill_evolved", f"evolved{version[0]}")
    elif what in ("custom", "hits"):
        compile_classes(folder, "custom.h", "farroot_custom")
        write(folder, f"fill_{what}", what)
    elif what == "shapes":
        compile_classes(folder, "shapes.h", "farroot_shapes")
        write(folder, f"fill_{what}", what)
    elif what == "branches":
        compile_classes(folder, "branches.h", "farroot_branches")
        write(folder, "fill_old", "old")
        write(folder, "fill_pointers", "pointers")
    else:
        merge(folder)


main(*sys.argv[1:])
