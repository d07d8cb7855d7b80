"""Loads the libraries that a first use of ROOT loads, for scripts whose clock is to start after
that."""

from collections.abc import Callable
from typing import Any

import ROOT

ROOT.gInterpreter.Declare("""
void fill_one(TTree* tree) {
  int x = 1;
  tree->Branch("x", &x, "x/I");
  tree->Fill();
  tree->ResetBranchAddresses();
}
""")


def warm_up(use: Callable[[Any], object]) -> None:
    """The tree library, the writing of a file, and the code that `use` compiles for a tree of one
    entry."""
    for library in ("libTree", "libNetxNG"):
        ROOT.gSystem.Load(library)
    file = ROOT.TMemFile("warm.root", "RECREATE")
    tree = ROOT.TTree("warm", "warm")
    ROOT.fill_one(tree)
    use(tree)
    tree.Write()
    file.Close()
