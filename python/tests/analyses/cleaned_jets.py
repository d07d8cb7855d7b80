"""Jets away from muons, the pair of them nearest to the mass of the W, and the trigger's share."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
import uproot


def collection(events: Any, name: str) -> Any:
    fields = [field for field in events.fields if field.startswith(f"{name}_")]
    return ak.zip({field.removeprefix(f"{name}_"): events[field] for field in fields})


def distances(one: Any, other: Any) -> Any:
    """Distances of each object of one collection to each object of the other."""
    first, second = ak.unzip(ak.cartesian([one, other], nested=True))
    d_phi = (first.phi - second.phi + np.pi) % (2 * np.pi) - np.pi
    return np.hypot(first.eta - second.eta, d_phi)


def analyse(files: list[str], histograms: str) -> Any:
    results = []
    for file in files:
        with uproot.open(file) as opened:
            tree = opened["Events"]
            wanted = tree.keys(filter_name=["Jet_*", "Muon_*"])
            events = tree.arrays(wanted)
            triggers = tree.arrays(filter_name="/HLT_.*/", filter_typename="bool")
        muons, jets = collection(events, "Muon"), collection(events, "Jet")
        muons = muons[(muons.pt > 10) & (abs(muons.eta) < 2.4)]
        jets = jets[~ak.any(distances(jets, muons) < 0.4, axis=-1)]
        jets = jets[ak.argsort(jets.pt, ascending=False)]
        one, other = ak.unzip(ak.combinations(jets, 2))
        mass = np.sqrt(
            2 * one.pt * other.pt * (np.cosh(one.eta - other.eta) - np.cos(one.phi - other.phi))
        )
        nearest = ak.firsts(mass[ak.argsort(abs(mass - 80.4))])
        fired = {name: float(ak.mean(triggers[name])) for name in triggers.fields}
        results.append((ak.num(jets).tolist(), nearest.tolist(), fired))
    return results
