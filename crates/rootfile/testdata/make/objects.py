"""Makes the files of `testdata` that hold objects. Needs ROOT with rootcling, and a C++ compiler.

usage: objects.py FOLDER
"""

import array
import os
import subprocess
import sys
import tempfile

import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRIES = 5
NOT_COMPRESSED = 0


def load_classes():
    """Compiles `objects.h` with its dictionary, and loads it."""
    root = os.path.dirname(ROOT.__file__)
    folder = tempfile.mkdtemp()
    header, linkdef = os.path.join(HERE, "objects.h"), os.path.join(HERE, "objects_linkdef.h")
    source, library = os.path.join(folder, "objects.cxx"), os.path.join(folder, "objects.so")
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(root, "lib"))
    rootcling = os.path.join(root, "bin", "rootcling")
    subprocess.run([rootcling, "-f", source, header, linkdef], env=environment, check=True)
    flags = ["-std=c++20", "-shared", "-fPIC", f"-I{root}/include", f"-I{HERE}", f"-L{root}/lib"]
    subprocess.run(["c++", *flags, source, "-o", library], check=True)
    ROOT.gSystem.Load(library)
    ROOT.gInterpreter.Declare(f'#include "{header}"')


def objects(path, split_level):
    """The same objects, split or whole."""
    file = ROOT.TFile(path, "RECREATE", "", NOT_COMPRESSED)
    tree = ROOT.TTree("events", "objects")
    event, inner, point = ROOT.Event(), ROOT.Inner(), ROOT.TVector2()
    tree.Branch("event", event, 32000, split_level)
    tree.Branch("single", inner, 32000, split_level)
    if split_level:
        tree.Branch("point", point, 32000, split_level)
        clones = ROOT.TClonesArray("Part")
        tree.Branch("clones", clones, 32000, split_level)
    for i in range(ENTRIES):
        event.fill(i)
        inner.a = i
        point.Set(float(i), 2.0 * i)
        if split_level:
            clones.Clear()
            for k in range(i):
                part = clones.ConstructedAt(k)
                part.p, part.q[1] = k, i
        tree.Fill()
    tree.Write()
    file.Close()


def generated_offsets(path):
    """Baskets that leave out offsets which follow from a counter, and sizes instead of offsets."""
    file = ROOT.TFile(path, "RECREATE", "", NOT_COMPRESSED)
    tree = ROOT.TTree("events", "kGenerateOffsetMap")
    features = ROOT.TIOFeatures()
    features.Set("kGenerateOffsetMap")
    tree.SetIOFeatures(features)
    n, x = array.array("i", [0]), array.array("f", [0] * 10)
    vector, text = ROOT.std.vector("short")(), ROOT.std.string("")
    tree.Branch("n", n, "n/I")
    tree.Branch("x", x, "x[n]/F")
    tree.Branch("vector", vector)
    tree.Branch("text", text)
    for i in range(ENTRIES):
        n[0] = i
        vector.clear()
        for k in range(i):
            x[k] = i + k / 2
            vector.push_back(i * 10 + k)
        text.assign("ab" * i)
        tree.Fill()
    tree.Write()
    file.Close()


def nothing(path):
    """Objects of a class without members."""
    file = ROOT.TFile(path, "RECREATE", "", NOT_COMPRESSED)
    tree = ROOT.TTree("events", "objects without members")
    alone, several, based = ROOT.Nothing(), ROOT.std.vector("Nothing")(), ROOT.Something()
    tree.Branch("alone", alone)
    tree.Branch("several", several)
    tree.Branch("based.", based, 32000, 99)
    for i in range(ENTRIES):
        several.resize(i % 3)
        based.a = i
        tree.Fill()
    tree.Write()
    file.Close()


def main():
    folder = sys.argv[1]
    load_classes()
    objects(os.path.join(folder, "split.root"), 99)
    objects(os.path.join(folder, "members.root"), 1)
    objects(os.path.join(folder, "whole.root"), 0)
    generated_offsets(os.path.join(folder, "generated_offsets.root"))
    nothing(os.path.join(folder, "nothing.root"))


main()
