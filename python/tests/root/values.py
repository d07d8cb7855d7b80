"""Prints the values that ROOT reads of branches, in lines of JSON.

usage: values.py FILE TREE BRANCH...

TREE is a key with its cycle, BRANCH a number in the tree's own order, depth first. For each branch
there is a line with either the ``entries`` or why they are ``refused``. Each is read by a process
of its own, which some of them end.
"""

from __future__ import annotations

import json
import os
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


def path(branch: Any) -> list[str]:
    """Names of the members on the way from the object that ROOT fills to the branch."""
    holder = ROOT.values.holder(branch)
    name, above = branch.GetName(), holder.GetName().rstrip(".")
    if name == holder.GetName():
        return []
    if name.startswith(f"{above}."):
        name = name[len(above) + 1 :]
    return [part.split("[")[0].lstrip("*") for part in name.rstrip(".").split(".")]


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def read(tree: Any, number: int, branch: Any) -> None:
    if not isinstance(branch, ROOT.TBranchElement):
        tell(branch=number, refused=f"a {type(branch).__name__}")
        return
    names = ROOT.std.vector["std::string"](path(branch))
    entries = []
    for entry in range(min(tree.GetEntries(), ENTRIES_MAX)):
        entries.append(str(ROOT.values.entry(branch, entry, names)))
        if ROOT.values.errors:
            tell(branch=number, refused=str(ROOT.values.errors))
            return
    tell(branch=number, entries=entries)


def main(file_path: str, key: str, numbers: list[int]) -> None:
    header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.h")
    ROOT.gInterpreter.ProcessLine(f'#include "{header}"')
    ROOT.gInterpreter.ProcessLine("SetErrorHandler(values::note);")
    ROOT.gSystem.ResetSignals()  # It would describe for seconds where it ends.
    ROOT.TBufferJSON.SetFloatFormat("%.9g")
    ROOT.TBufferJSON.SetDoubleFormat("%.17g")
    file = ROOT.TFile(file_path)
    tree = file.Get(key)
    branches = deep(tree.GetListOfBranches())
    for number in numbers:
        child = os.fork()
        if child == 0:
            read(tree, number, branches[number])
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            tell(branch=number, refused="ROOT ends")


main(sys.argv[1], sys.argv[2], [int(number) for number in sys.argv[3:]])
