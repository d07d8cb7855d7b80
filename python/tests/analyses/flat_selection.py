"""A flat table of selected events, with new variables, for a fit or a training."""

from __future__ import annotations

from typing import Any

import uproot

ALIASES = {
    "met_x": "MET_pt * cos(MET_phi)",
    "met_y": "MET_pt * sin(MET_phi)",
    "significance": "MET_pt / sqrt(HT + 1)",
}
SELECTION = "(nMuon >= 1) & (MET_pt > 20) & ((HT > 60) | (nJet == 0))"


def analyse(files: list[str], histograms: str) -> Any:
    table = uproot.concatenate(
        [{file: "Events"} for file in files],
        ["run", "event", "HT", "met_x", "met_y", "significance"],
        cut=SELECTION,
        aliases=ALIASES,
        library="pd",
    )
    table = table.sort_values(["run", "event"]).drop_duplicates(["run", "event"])
    summary = table.drop(columns=["run", "event"]).mean()
    return table.to_dict("list"), summary.to_dict()
