"""Events with two muons, by arrays of dask-awkward, which read files in `dask.compute` only."""

from __future__ import annotations

from typing import Any

import awkward as ak
import dask
import uproot


def analyse(files: list[str], histograms: str) -> Any:
    events = uproot.dask(dict.fromkeys(files, "Events"))
    two = events[events.nMuon >= 2]
    first, second = two.Muon_pt[:, 0], two.Muon_pt[:, 1]
    wanted = {
        "events": ak.num(events.run, axis=0),
        "leading": ak.max(two.Muon_pt, axis=1),
        "soft": (first + second)[two.MET_pt < 20],
        "jets": ak.sum(ak.num(two.Jet_pt)),
        "fired": ak.sum(two.HLT_IsoMu24),
    }
    (computed,) = dask.compute(wanted, scheduler="sync")
    return {name: ak.to_list(value) for name, value in computed.items()}
