"""Writes the objects of `objects.h` with ROOT, and beside them what ROOT says is in them.

usage: objects.py FOLDER
"""

import os
import sys

import ROOT


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gSystem.SetBuildDir(folder, True)
    for library in ("Hist", "Matrix", "Physics", "GenVector", "Gpad", "Graf", "MathCore"):
        ROOT.gSystem.Load(f"lib{library}")
    header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "objects.h")
    if not ROOT.gSystem.CompileMacro(header, "kfs", "farroot_objects", folder):
        raise SystemExit("what writes the objects could not be compiled")
    ROOT.objects.write(os.path.join(folder, "objects.root"), os.path.join(folder, "objects.txt"))


main(sys.argv[1])
