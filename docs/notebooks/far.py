"""Files of generated events for the notebooks, and a server with a simulated round-trip time."""

from __future__ import annotations

import atexit
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import awkward as ak
import farroot
import numpy as np


def folder() -> Path:
    """A new folder for files, which is removed when the notebook ends."""
    made = tempfile.TemporaryDirectory(prefix="farroot-notebook-")
    atexit.register(made.cleanup)
    return Path(made.name)


def make(path: Path, entries: int = 20_000, seed: int = 1, *, as_ntuple: bool = False) -> Path:
    """Writes the tree or RNTuple ``Events``: muons, jets and 40 other numbers for each event.

    Half of the events have a pair of muons from a Z boson.
    """
    with farroot.recreate(path, cluster=max(1, entries // 8)) as file:
        if as_ntuple:
            file.mkrntuple("Events", events(entries, seed))
        else:
            file.mktree("Events", events(entries, seed), counter_name=counter)
    return path


def counter(column: str) -> str:
    """The counter of a column: ``nMuon`` for those of the muons, ``nJet`` for those of the jets."""
    return f"n{column.partition('_')[0]}"


def events(entries: int, seed: int = 1) -> ak.Array:
    """Generated events."""
    random = np.random.default_rng(seed)
    muons, jets = 2 * random.integers(0, 2, entries), random.poisson(4, entries)
    mass = np.repeat(91.2 + 2.5 * random.standard_normal(entries), muons)
    eta, phi = random.normal(0, 1.2, entries), random.uniform(-np.pi, 0, entries)
    # Back to back, each with half of the mass, smeared by the resolution of the detector.
    away = np.arange(muons.sum()) % 2 * np.pi
    momenta = mass / 2 * random.normal(1, 0.02, muons.sum())

    def lists(content: np.ndarray, counts: np.ndarray) -> ak.Array:
        return ak.unflatten(content.astype(np.float32), counts)

    columns = {
        "run": np.full(entries, seed, np.int32),
        "event": np.arange(entries),
        "MET_pt": random.exponential(30, entries).astype(np.float32),
        "Muon_pt": lists(momenta, muons),
        "Muon_eta": lists(np.repeat(eta, muons), muons),
        "Muon_phi": lists(np.repeat(phi, muons) + away, muons),
        "Jet_pt": lists(20 + random.exponential(30, jets.sum()), jets),
        "Jet_eta": lists(random.normal(0, 2, jets.sum()), jets),
    }
    others = {f"other_{number:02}": random.random(entries) for number in range(40)}
    return ak.zip(columns | others, depth_limit=1)


def serve(what: Path, *options: str) -> str:
    """Starts ``farroot serve`` for this notebook, and returns the address of the folder.

    ``serve(folder, "--rtt", "100ms")`` answers like a server with a round-trip time of 100 ms.
    """
    command = [sys.executable, "-m", "farroot", "serve", str(what), "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    atexit.register(server.terminate)
    assert server.stdout is not None
    found = re.match(r"root://[^/]+//", server.stdout.readline())
    if found is None:
        raise RuntimeError(f"this did not start: {' '.join(command)}")
    return found.group()
