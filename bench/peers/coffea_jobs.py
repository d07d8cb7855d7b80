"""Options of the coffea peers, and the file for their first run, before the clock starts."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import clock

BY = (
    "--by",
    {"choices": ("coffea", "source", "farroot"), "required": True, "help": "who reads the file"},
)
STEP = ("--step", {"type": int, "required": True, "help": "entries in a chunk"})
ENTRIES = 10


def arguments(*more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The arguments of a job. Turns off coffea's warnings about the columns of the files."""
    warnings.simplefilter("ignore")
    return clock.arguments(BY, STEP, *more)


def small_file() -> Path:
    """A new local file with columns as NanoAOD's. A first job on it takes the costs that occur once
    in a process: imports at first use, and the registration of Awkward behaviours."""
    import awkward as ak
    import numpy as np
    import uproot

    path = clock.target("small.root")
    numbers = np.arange(ENTRIES, dtype="u4")
    columns: dict[str, Any] = {
        "run": numbers,
        "luminosityBlock": numbers,
        "event": numbers.astype("u8"),
    }
    lists = ak.unflatten(np.ones(2 * ENTRIES, dtype="f4"), np.full(ENTRIES, 2))
    fields = ("pt", "eta", "phi", "mass", "charge")
    for name in ("Muon", "Jet"):
        columns[name] = ak.zip(dict.fromkeys(fields, lists))
    types = {
        name: column.dtype if isinstance(column, np.ndarray) else column.type.content
        for name, column in columns.items()
    }
    with uproot.recreate(path) as file:
        file.mktree("Events", types).extend(columns)
    return path
