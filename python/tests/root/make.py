"""Writes trees of `classes.h`, `odds.h` and `containers.h` with ROOT.

usage: make.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary

#: Split level, whether collections are streamed member by member, basket size, entries, cluster.
KINDS = {
    "whole": (0, False, 32000, 20, 0),
    "whole_memberwise": (0, True, 400, 50, 7),
    "members": (1, False, 300, 50, 10),
    "members_memberwise": (1, True, 32000, 50, 10),
    "split": (99, False, 256, 100, 9),
    "split_memberwise": (99, True, 1 << 20, 100, 100),
}


def write(path: str, split: int, memberwise: bool, basket: int, entries: int, cluster: int) -> None:
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("events", "objects of every kind")
    if cluster:
        tree.SetAutoFlush(cluster)
    event = ROOT.Event()
    hits, numbers = ROOT.std.vector["Hit"](), ROOT.std.map["int", "float"]()
    clones = ROOT.TClonesArray("Base")
    tree.Branch("event.", event, basket, split)
    tree.Branch("top_hits", hits, basket, split)
    tree.Branch("top_map", numbers, basket, split)
    tree.Branch("clones", clones, basket, split)
    for i in range(entries):
        event.fill(i)
        hits.clear()
        numbers.clear()
        clones.Clear()
        for k in range(i % 3):
            hits.push_back(ROOT.Hit(i + k))
            numbers[k] = i
            clones.ConstructedAt(k).base = i + k
        tree.Fill()
    tree.Write()
    file.Close()


def write_odds(path: str, split: int, memberwise: bool) -> None:
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("odds", "members that few classes have")
    odds = ROOT.Odds()
    tree.Branch("odds.", odds, 32000, split)
    if split == 0:
        ROOT.old_branches(tree)
    for i in range(20):
        odds.fill(i)
        ROOT.fill_old(i)
        tree.Fill()
    tree.Write()
    file.Close()


def write_containers(path: str, split: int, bypass: bool) -> None:
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(False)
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("tree", "containers of objects of any class")
    holder, clones, text = ROOT.Holder(), ROOT.TClonesArray("Heavy"), ROOT.TObjString()
    clones.BypassStreamer(bypass)
    # Small baskets: which classes they hold differs from one to the next.
    tree.Branch("holder.", holder, 4000, split)
    tree.Branch("clones", clones, 4000, split)
    tree.Branch("text", text, 4000, split)
    for i in range(200):
        holder.fill(i, bypass)
        clones.Delete()
        for k in range(i % 3):
            clones.ConstructedAt(k).mass = i + k
        text.SetString("x" * (i % 4))
        tree.Fill()
    tree.Write()
    file.Close()


def write_classes(path: str) -> None:
    """Containers whose objects are of another class in each third of the entries."""
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("tree", "")
    array, one = ROOT.TObjArray(), ROOT.TObjArray()
    tree.Branch("array", array, 4000, 0)
    tree.Branch("one", one, 4000, 0)
    makers = (lambda: ROOT.TNamed("n", "t"), lambda: ROOT.TObjString("s"), ROOT.TVector3)
    for i in range(300):
        held = [makers[i // 100]() for _ in range(i % 3)]
        alike = [ROOT.TNamed("n", "t") for _ in range(i % 2)]
        array.Clear()
        one.Clear()
        for place, each in enumerate(held):
            array.AddAtAndExpand(each, 2 * place)
        for each in alike:
            one.Add(each)
        tree.Fill()
        if i % 50 == 49:
            tree.FlushBaskets()
    tree.Write()
    file.Close()


def write_singles(path: str, memberwise: bool) -> None:
    """Objects at keys of their own."""
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
    file = ROOT.TFile(path, "RECREATE")
    for i in range(12):
        event, odds = ROOT.Event(), ROOT.Odds()
        event.fill(i)
        odds.fill(i)
        file.WriteObject(event, f"event{i}")
        file.WriteObject(odds, f"odds{i}")
    file.Close()


def write_efficiencies(path: str) -> None:
    file = ROOT.TFile(path, "RECREATE")
    for memberwise in (False, True):
        ROOT.TVirtualStreamerInfo.SetStreamMemberWise(memberwise)
        efficiency = ROOT.TEfficiency(f"memberwise_{memberwise}", "", 5, 0, 5)
        efficiency.SetDirectory(ROOT.nullptr)
        for i in range(20):
            efficiency.Fill(i % 3 > 0, i % 5)
        efficiency.SetBetaBinParameters(2, 3, 4)
        file.WriteObject(efficiency, efficiency.GetName())
    file.Close()


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    for header in ("classes", "odds", "containers"):
        libraries = ("Hist", "Matrix", "Physics", "GenVector")
        dictionary.load(dictionary.HERE / f"{header}.h", libraries)
    for name, kind in KINDS.items():
        write(os.path.join(folder, f"{name}.root"), *kind)
    for memberwise in (False, True):
        write_singles(os.path.join(folder, f"singles_{memberwise}.root"), memberwise)
    write_classes(os.path.join(folder, "classes.root"))
    write_efficiencies(os.path.join(folder, "efficiencies.root"))
    for split in (0, 1, 99):
        for memberwise in (False, True):
            name = f"containers_{split}_{memberwise}.root"
            write_containers(os.path.join(folder, name), split, bypass=memberwise)
            write_odds(os.path.join(folder, f"odds_{split}_{memberwise}.root"), split, memberwise)


main(sys.argv[1])
