"""Writes a tree with containers of the standard library, for which ROOT needs no dictionaries."""

from __future__ import annotations

import sys
from pathlib import Path

import ROOT

TYPES = {
    "set": "set<int>",
    "texts": "set<string>",
    "map": "map<string,int>",
    "sets": "vector<set<int>>",
    "lists": "vector<vector<int>>",
    "strings": "vector<string>",
    "numbers": "vector<int>",
}


def fill(values: dict[str, ROOT.TObject], entry: int) -> None:
    for value in values.values():
        value.clear()
    for number in range(entry):
        values["set"].insert(10 - number)
        values["texts"].insert(str(number))
        values["map"][str(number)] = number
        numbers, several = ROOT.std.vector["int"](range(number)), ROOT.std.set["int"](range(number))
        values["sets"].push_back(several)
        values["lists"].push_back(numbers)
        values["strings"].push_back(str(number))
        values["numbers"].push_back(number)


def main(folder: Path) -> None:
    file = ROOT.TFile(str(folder / "sets.root"), "RECREATE")
    tree = ROOT.TTree("tree", "")
    values = {name: getattr(ROOT, kind)() for name, kind in TYPES.items()}
    for name, value in values.items():
        tree.Branch(name, value, 32000, 0)
    # uproot cannot read a map without entries.
    for entry in range(1, 4):
        fill(values, entry)
        tree.Fill()
    tree.Write()
    file.Close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
