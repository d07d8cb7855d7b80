"""Pairs of muons and their distance to the nearest jet, by four-vectors of the package vector."""

from __future__ import annotations

from typing import Any

import awkward as ak
import uproot
import vector

vector.register_awkward()

COLUMNS = ["Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge", "Jet_pt", "Jet_eta", "Jet_phi"]
MUON_MASS = 0.10566


def vectors(events: Any, name: str, mass: float, **more: Any) -> Any:
    coordinates = {each: events[f"{name}_{each}"] for each in ("pt", "eta", "phi")}
    masses = ak.full_like(coordinates["pt"], mass)
    return ak.zip({**coordinates, "mass": masses, **more}, with_name="Momentum4D")


def analyse(files: list[str], histograms: str) -> Any:
    masses: list[float] = []
    distances: list[float | None] = []
    for events in uproot.iterate(dict.fromkeys(files, "Events"), COLUMNS, step_size=170):
        muons = vectors(events, "Muon", MUON_MASS, charge=events.Muon_charge)
        jets = vectors(events, "Jet", 0.0)
        one, other = ak.unzip(ak.combinations(muons, 2))
        pairs = (one + other)[one.charge != other.charge]
        masses += ak.flatten(pairs.mass).tolist()
        near, jet = ak.unzip(ak.cartesian([pairs, jets], nested=True))
        distances += ak.flatten(ak.min(near.deltaR(jet), axis=-1)).tolist()
    return masses, distances
