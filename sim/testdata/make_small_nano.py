"""Makes small_nano.root with ROOT: flat and jagged branches in several clusters, hard to compress.

Usage: make_small_nano.py PATH
"""

import sys
from array import array

import numpy as np
import ROOT

ENTRIES = 6_000
FLAT = 8
ROOT.gROOT.SetBatch(True)


def main(path: str) -> None:
    """Fills branches as NanoAOD has them: a counter, members that it counts, flat numbers."""
    rng = np.random.default_rng(11)
    file = ROOT.TFile(path, "RECREATE", "", 505)
    tree = ROOT.TTree("Events", "Events")
    tree.SetAutoFlush(1_500)
    count = array("i", [0])
    pt, eta = array("f", 20 * [0.0]), array("f", 20 * [0.0])
    flat = [array("f", [0.0]) for _ in range(FLAT)]
    tree.Branch("nMuon", count, "nMuon/I", 4_000)
    tree.Branch("Muon_pt", pt, "Muon_pt[nMuon]/F", 8_000)
    tree.Branch("Muon_eta", eta, "Muon_eta[nMuon]/F", 8_000)
    for number, value in enumerate(flat):
        tree.Branch(f"flat_{number}", value, f"flat_{number}/F", 4_000)
    for _ in range(ENTRIES):
        count[0] = min(int(rng.poisson(1.5)), 20)
        for at in range(count[0]):
            pt[at], eta[at] = rng.random(), rng.random()
        for value in flat:
            value[0] = rng.random()
        tree.Fill()
    tree.Write()
    file.Close()


if __name__ == "__main__":
    main(sys.argv[1])
