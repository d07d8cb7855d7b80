"""Writes trees with ROOT that differ in how they lie in their files, not in their classes.

usage: trees.py FOLDER

Every tree has branches `x` (an int, the entry's number) and `y` (that many modulo four floats).
"""

import os
import sys
from array import array
from typing import Any

import ROOT

#: ROOT's numbers of the algorithms, and a level of each that it uses.
ALGORITHMS = {
    "none": 0,
    "zlib1": 101,
    "zlib9": 109,
    "lzma": 207,
    "old": 306,
    "lz4": 404,
    "zstd": 505,
}


def fill(tree: Any, entries: int, basket: int = 32000, first: int = 0) -> None:
    x, n, y = array("i", [0]), array("i", [0]), array("f", [0.0] * 4)
    tree.Branch("x", x, "x/I", basket)
    tree.Branch("n", n, "n/I", basket)
    tree.Branch("y", y, "y[n]/F", basket)
    for i in range(first, first + entries):
        x[0], n[0] = i, i % 4
        for k in range(i % 4):
            y[k] = 0.5 * i + k
        tree.Fill()


def write(
    path: str, entries: int, *, compression: int = 101, basket: int = 32000, flush: int = 0
) -> None:
    file = ROOT.TFile(path, "RECREATE", "", compression)
    tree = ROOT.TTree("events", "numbers and lists")
    if flush:
        tree.SetAutoFlush(flush)
    fill(tree, entries, basket)
    tree.Write()
    file.Close()


def write_cycles(path: str) -> None:
    """Cycles of one name: 10, 20 and 30 entries, the last two of them of another tree."""
    file = ROOT.TFile(path, "RECREATE")
    folder = file.mkdir("folder")
    for place in (file, folder):
        place.cd()
        for entries in (10, 20, 30):
            tree = ROOT.TTree("events", f"{entries} entries")
            fill(tree, entries)
            tree.Write()
            tree.Delete()
    file.Close()


def write_friends(folder: str) -> None:
    """Friends by entry and by index, in the same file and in another one."""
    other = ROOT.TFile(os.path.join(folder, "other.root"), "RECREATE")
    scaled = ROOT.TTree("scaled", "as many entries as the tree has")
    z = array("d", [0.0])
    scaled.Branch("z", z, "z/D", 200)
    for i in range(100):
        z[0] = 10.0 * i
        scaled.Fill()
    scaled.Write()
    # Of every other event, from the last to the first.
    found = ROOT.TTree("found", "entries by run and event")
    run, event, w = array("i", [0]), array("l", [0]), array("f", [0.0])
    found.Branch("run", run, "run/I")
    found.Branch("event", event, "event/L")
    found.Branch("w", w, "w/F", 100)
    for i in range(98, -1, -2):
        run[0], event[0], w[0] = i // 10, 1000 + i, -i
        found.Fill()
    found.BuildIndex("run", "event")
    found.Write()
    other.Close()

    file = ROOT.TFile(os.path.join(folder, "friends.root"), "RECREATE")
    tree = ROOT.TTree("events", "has friends")
    tree.Branch("run", run, "run/I")
    tree.Branch("event", event, "event/L")
    for i in range(100):
        run[0], event[0] = i // 10, 1000 + i
        tree.Fill()
    beside = ROOT.TTree("beside", "in the same file")
    fill(beside, 100, 256)
    beside.Write()
    short = ROOT.TTree("short", "lacks entries")
    fill(short, 60)
    short.Write()
    tree.BuildIndex("run", "event - 1000")
    tree.AddFriend("beside", "")
    tree.AddFriend("short", "")
    tree.AddFriend("s = scaled", os.path.join(folder, "other.root"))
    # As a job that ran elsewhere names it.
    tree.GetListOfFriends().Last().SetTitle("/nowhere/other.root")
    tree.AddFriend("found", os.path.join(folder, "other.root"))
    tree.AddFriend("lost = scaled", os.path.join(folder, "other.root"))
    tree.GetListOfFriends().Last().SetTitle("lost.root")
    tree.Write("", ROOT.TObject.kOverwrite)
    file.Close()


def write_large(path: str) -> None:
    """A file of more than 2 GB, nearly all of which is a hole: offsets of eight bytes."""
    file = ROOT.TFile(path, "RECREATE")
    first = ROOT.TTree("first", "before the hole")
    fill(first, 100)
    first.Write()
    behind = (1 << 31) + (1 << 20)
    free = file.GetListOfFree().Last()
    free.SetFirst(behind)
    free.SetLast(behind + (1 << 30))
    file.SetEND(behind)
    tree = ROOT.TTree("events", "behind the hole")
    fill(tree, 1000, 1000)
    tree.Write()
    file.Close()


def write_clones(folder: str) -> None:
    for split in (1, 99):
        file = ROOT.TFile(os.path.join(folder, f"clones_{split}.root"), "RECREATE")
        tree = ROOT.TTree("events", "clones")
        clones = ROOT.TClonesArray("TVector3", 3)
        clones.BypassStreamer(split == 1)
        tree.Branch("clones", clones, 300, split)
        for i in range(50):
            clones.Clear()
            for k in range(i % 4):
                clones.ConstructedAt(k).SetXYZ(i, k, 0.5)
            tree.Fill()
        tree.Write()
        file.Close()


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gSystem.Load("libPhysics")

    def path(name: str) -> str:
        return os.path.join(folder, f"{name}.root")

    for name, compression in ALGORITHMS.items():
        write(path(f"by_{name}"), 5000, compression=compression)
    write(path("tiny_baskets"), 300, basket=60)
    write(path("one_basket"), 20000, basket=4_000_000)
    write(path("many_clusters"), 1000, flush=7)
    write(path("empty"), 0)
    write_cycles(path("cycles"))
    write_friends(folder)
    write_large(path("large"))
    write_clones(folder)


main(sys.argv[1])
