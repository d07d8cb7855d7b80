"""Makes a NanoAOD-like file: 100 branches, flat and jagged, ZSTD, several clusters.

Usage: make_nano.py PATH [ENTRIES]
"""

import sys
from pathlib import Path

import awkward as ak
import numpy as np
import uproot

COLLECTIONS = ["Muon", "Electron", "Jet", "Tau", "Photon", "FatJet"]
MEMBERS = ["pt", "eta", "phi", "mass", "charge", "dxy", "dz", "iso", "id"]
CLUSTER_ENTRIES = 25_000


def batch(rng: np.random.Generator, entries: int) -> dict[str, ak.Array | np.ndarray]:
    """Random columns with the shape of NanoAOD: truncated mantissas, falling multiplicities."""
    columns: dict[str, ak.Array | np.ndarray] = {
        "run": np.full(entries, 362_104, dtype=np.uint32),
        "luminosityBlock": np.repeat(rng.integers(1, 900, 1), entries).astype(np.uint32),
        "event": rng.integers(0, 2**40, entries).astype(np.uint64),
    }
    for number in range(37):
        columns[f"flat_{number:02d}"] = truncated(rng.exponential(40.0, entries))
    for name, mean in zip(COLLECTIONS, [1.2, 1.0, 5.5, 0.9, 0.8, 0.6], strict=True):
        counts = rng.poisson(mean, entries).astype(np.int32)
        total = int(counts.sum())
        members = {member: truncated(rng.exponential(30.0, total)) for member in MEMBERS}
        columns[name] = ak.zip(
            {member: ak.unflatten(values, counts) for member, values in members.items()}
        )
    return columns


def truncated(values: np.ndarray) -> np.ndarray:
    """Floats with twelve bits of mantissa, as NanoAOD stores them."""
    bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFF800)
    return bits.view(np.float32)


def make(path: Path, entries: int) -> None:
    """Writes the file under another name first, so that a broken run leaves nothing behind."""
    rng = np.random.default_rng(2026)
    unfinished = path.with_suffix(".part")
    with uproot.recreate(unfinished, compression=uproot.ZSTD(5)) as file:
        for start in range(0, entries, CLUSTER_ENTRIES):
            columns = batch(rng, min(CLUSTER_ENTRIES, entries - start))
            if start == 0:
                types = {
                    name: column.dtype if isinstance(column, np.ndarray) else column.type.content
                    for name, column in columns.items()
                }
                file.mktree("Events", types)
            file["Events"].extend(columns)
    unfinished.rename(path)


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200_000)
