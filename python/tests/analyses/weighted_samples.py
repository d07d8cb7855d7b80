"""Missing momentum of several samples, each weighted by its cross section and generated events."""

from __future__ import annotations

from typing import Any

import hist
import numpy as np
import uproot

CROSS_SECTIONS = {"signal": 0.5, "background": 30.0}
LUMINOSITY = 1_000.0


def analyse(files: list[str], histograms: str) -> Any:
    samples = {"signal": files[:1], "background": files[1:]}
    filled = hist.Hist(
        hist.axis.StrCategory([], growth=True, name="process"),
        hist.axis.Regular(25, 0, 200, name="met"),
        storage=hist.storage.Weight(),
    )
    passed = {}
    for sample, paths in samples.items():
        generated = 0.0
        for path in paths:
            with uproot.open(path) as file:
                generated += float(file["Runs"]["genEventSumw"].array(library="np").sum())
        scale = CROSS_SECTIONS[sample] * LUMINOSITY / generated
        counts = np.zeros(3, dtype=int)
        steps = uproot.iterate(
            [f"{path}:Events" for path in paths],
            filter_name=["MET_pt", "genWeight", "nJet"],
            library="np",
            step_size=150,
            report=True,
        )
        for batch, report in steps:
            assert report.tree_entry_stop - report.tree_entry_start == len(batch["MET_pt"])
            enough = batch["nJet"] >= 2
            high = enough & (batch["MET_pt"] > 40)
            counts += [len(enough), enough.sum(), high.sum()]
            filled.fill(
                process=sample, met=batch["MET_pt"][high], weight=scale * batch["genWeight"][high]
            )
        passed[sample] = counts.tolist()
    return passed, filled.values().tolist(), filled.variances().tolist()
