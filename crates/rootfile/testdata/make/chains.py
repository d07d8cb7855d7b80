"""Makes the chains of this folder: `python chains.py FOLDER`.

Needs ROOT. MANIFEST.toml has the purpose of each file.
"""

import array
import os
import pathlib
import sys

import ROOT

ENTRIES = (40, 60)


def trees(path, name, entries, column):
    """A tree whose column counts through."""
    file = ROOT.TFile(str(path), "RECREATE")
    tree = ROOT.TTree(name, f"entries {entries.start} to {entries.stop}")
    number, several = array.array("d", [0]), ROOT.std.vector("float")()
    tree.Branch(column, number, f"{column}/D", 200)
    tree.Branch(f"{column}s", several, 200)
    for entry in entries:
        number[0] = entry
        several.clear()
        for k in range(entry % 3):
            several.push_back(entry + k / 4)
        tree.Fill()
    tree.Write()
    file.Close()


def main():
    folder = pathlib.Path(sys.argv[1])
    # A chain keeps how its files were named.
    os.chdir(folder)
    first, second = ENTRIES
    trees("chain_1.root", "events", range(first), "x")
    trees("chain_2.root", "events", range(first, first + second), "x")
    trees("chain_weights.root", "weights", range(90), "w")
    trees("chain_weights_1.root", "weights", range(70), "w")
    trees("chain_weights_2.root", "weights", range(70, 100), "w")
    file = ROOT.TFile("chain.root", "RECREATE")
    chain = ROOT.TChain("events", "of two files")
    chain.Add("chain_1.root")
    chain.Add("/elsewhere/chain_2.root?#events")
    chain.SetAlias("twice", "x * 2")
    chain.AddFriend("weights", "chain_weights.root")
    chain.Write("series")
    counted = ROOT.TChain("events")
    for number, entries in enumerate(ENTRIES, 1):
        counted.Add(f"chain_{number}.root", entries)
    counted.Write("counted")
    wrong = ROOT.TChain("events")
    wrong.Add("chain_1.root", ENTRIES[0] - 1)
    wrong.Add("chain_2.root", ENTRIES[1])
    wrong.Write("miscounted")
    ROOT.TChain("events").Write("nothing")
    weights = ROOT.TChain("weights")
    weights.Add("chain_weights_1.root")
    weights.Add("chain_weights_2.root")
    weights.Write("weights")
    file.Close()


if __name__ == "__main__":
    main()
