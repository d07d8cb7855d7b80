"""Prints the numbers that ROOT reads of branches with one leaf, in lines of JSON.

usage: leaf_values.py FILE TREE BRANCH...

TREE is a key with its cycle, BRANCH a number in the tree's own order, depth first. There is no line
for branches of other kinds.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ROOT

#: Entries that are read of each branch at most.
ENTRIES_MAX = 20


def deep(branches: Any) -> list[Any]:
    found = []
    for branch in branches:
        found += [branch, *deep(branch.GetListOfBranches())]
    return found


def main(file_path: str, key: str, numbers: list[int]) -> None:
    file = ROOT.TFile(file_path)
    tree = file.Get(key)
    branches = deep(tree.GetListOfBranches())
    for number in numbers:
        branch = branches[number]
        leaves = list(branch.GetListOfLeaves())
        if branch.ClassName() != "TBranch" or len(leaves) != 1:
            continue
        entries = []
        for entry in range(min(tree.GetEntries(), ENTRIES_MAX)):
            tree.GetEntry(entry)
            entries.append([leaves[0].GetValue(at) for at in range(leaves[0].GetLen())])
        print(json.dumps({"branch": number, "entries": entries}), flush=True)


main(sys.argv[1], sys.argv[2], [int(number) for number in sys.argv[3:]])
