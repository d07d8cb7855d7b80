"""A tree of objects whose aliases are formulas of them, and the values that ROOT draws of each:
`python -m ... FOLDER FORMULAS`."""

from __future__ import annotations

import json
import sys
from array import array
from pathlib import Path
from typing import Any

import ROOT

ENTRIES = 7
LEAVES = """
struct Leaves { int a; float b; } leaves;
void set(int i) { leaves = {7 * i, i / 2.f}; }
"""


def particle(i: int, k: int) -> Any:
    one = ROOT.TParticle()
    one.SetMomentum(i, k, i * k, 1)
    return one


def write(path: str, formulas: list[str]) -> None:
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "t")
    clones = {name: ROOT.TClonesArray("TParticle") for name in ("split", "whole", "dotted.")}
    vectors = {name: ROOT.std.vector("TParticle")() for name in ("splitVector", "wholeVector")}
    for name, objects in {**clones, **vectors}.items():
        tree.Branch(name, objects, 32000, 0 if name.startswith("whole") else 99)
    numbers, momentum = ROOT.std.vector("double")(), ROOT.TLorentzVector()
    tree.Branch("numbers", numbers)
    for name, split in (("p4", 99), ("q4", 0), ("r4.", 99)):
        tree.Branch(name, momentum, 32000, split)
    tree.Branch("leaves", ROOT.addressof(ROOT.leaves), "a/I:b/F")
    count, items = array("i", [0]), array("f", [0] * 5)
    tree.Branch("n", count, "n/I")
    tree.Branch("array", items, "array[n]/F")
    for i in range(ENTRIES):
        for objects in clones.values():
            objects.Clear()
            for k in range(i % 3):
                objects.ConstructedAt(k).SetMomentum(i, k, i * k, 1)
        for objects in (*vectors.values(), numbers):
            objects.clear()
        for k in range((i + 1) % 4):
            vectors["splitVector"].push_back(particle(i, k))
            vectors["wholeVector"].push_back(particle(k, i))
            numbers.push_back(i + k)
        momentum.SetPxPyPzE(i, 2 * i, 3 * i, 10 + i)
        ROOT.set(i)
        count[0] = i % 5
        for k in range(count[0]):
            items[k] = k
        tree.Fill()
    for number, text in enumerate(formulas):
        tree.SetAlias(f"formula{number}", text)
    tree.Write()
    file.Close()


def main(folder: Path, formulas: list[str]) -> None:
    ROOT.gErrorIgnoreLevel = 6000
    ROOT.gInterpreter.Declare(LEAVES)
    path = str(folder / "objects.root")
    write(path, formulas)
    file = ROOT.TFile(path)
    tree = file.Get("t")
    drawn = []
    for text in formulas:
        count = tree.Draw(f"{text}:Entry$", "", "goff")
        entries: list[list[float]] = [[] for _ in range(ENTRIES)]
        for at in range(count):
            entries[int(tree.GetV2()[at])].append(tree.GetV1()[at])
        drawn.append(entries if count >= 0 else None)
    (folder / "drawn.json").write_text(json.dumps(drawn))
    file.Close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
