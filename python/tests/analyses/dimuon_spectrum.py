"""The spectrum of two muons of opposite charge, step by step over many files of NanoAOD."""

from __future__ import annotations

from typing import Any

import awkward as ak
import hist
import numpy as np
import uproot


def analyse(files: list[str], histograms: str) -> Any:
    spectrum = hist.Hist.new.Log(60, 0.25, 300, name="mass").Double()
    events = 0
    for batch in uproot.iterate(
        dict.fromkeys(files, "Events"),
        ["nMuon", "Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge"],
        step_size="50 kB",
    ):
        events += len(batch)
        two = batch[batch.nMuon == 2]
        two = two[ak.sum(two.Muon_charge, axis=1) == 0]
        first, second = two.Muon_pt[:, 0], two.Muon_pt[:, 1]
        d_eta = two.Muon_eta[:, 0] - two.Muon_eta[:, 1]
        d_phi = two.Muon_phi[:, 0] - two.Muon_phi[:, 1]
        mass = np.sqrt(2 * first * second * (np.cosh(d_eta) - np.cos(d_phi)))
        spectrum.fill(mass.to_numpy())
    return events, spectrum.values(flow=True).tolist()
