"""Histograms out of directories: added up by process, compared, and efficiencies made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import uproot


def analyse(files: list[str], histograms: str) -> Any:
    with uproot.open(histograms) as file:
        sums: dict[str, Any] = {}
        for path, classname in file.classnames(filter_classname="TH1*", cycle=False).items():
            process, variable = path.split("/")
            histogram = file[path]
            assert isinstance(histogram, uproot.behaviors.TH1.Histogram), classname
            filled = histogram.to_hist()
            sums[variable] = filled if variable not in sums else sums[variable] + filled
            assert len(histogram.axis().edges()) == len(filled.axes[0].edges), process
        two = [file[key] for key in file.keys(filter_classname="TH2*")]
        matrix = np.sum([each.values() for each in two], axis=0)
        edges = [axis.edges().tolist() for axis in two[0].axes]
        ratio = file["ttbar/pt"].values() / np.maximum(sums["pt"].values(), 1)
        errors = file["ttbar/pt"].errors()
        title = file["ttbar/pt"].title
    totals = {name: (each.values().tolist(), each.sum()) for name, each in sums.items()}
    return totals, ratio.tolist(), errors.tolist(), matrix.tolist(), edges, title
