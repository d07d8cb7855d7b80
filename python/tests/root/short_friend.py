"""A tree with aliases of a friend that ends earlier: `python -m ... FOLDER`."""

from __future__ import annotations

import sys
from array import array
from pathlib import Path

import ROOT

ALIASES = {
    "values": "fr.x[0]",
    "sum": "Sum$(fr.x)",
    "length": "Length$(fr.x)",
    "most": "Max$(fr.x)",
    "size": "@fr.v.size()",
    "both": "fr.x[0]+Sum$(fr.x)",
    "other": "Alt$(fr.x[0],-1)",
    "low": "Sum$(fr.x)<100",
}


def main(folder: Path) -> None:
    for name, entries in (("friend", 2), ("main", 4)):
        file = ROOT.TFile(str(folder / f"{name}.root"), "RECREATE")
        tree = ROOT.TTree("t", "t")
        count, items, vector = array("i", [2]), array("f", [0, 0]), ROOT.std.vector("int")()
        tree.Branch("n", count, "n/I")
        tree.Branch("x", items, "x[n]/F")
        tree.Branch("v", vector)
        for entry in range(entries):
            items[0], items[1] = entry + 1, entry + 2
            vector.assign(2, entry)
            tree.Fill()
        if name == "main":
            for alias, formula in ALIASES.items():
                tree.SetAlias(alias, formula)
            tree.AddFriend("fr = t", str(folder / "friend.root"))
        tree.Write()
        file.Close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
