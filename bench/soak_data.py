"""The files of soak.py, their versions, and the digests of their columns."""

from __future__ import annotations

import hashlib
import random
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import awkward as ak
import numpy as np
import uproot
from soak_client import TREE, of_arrays

FLAT = tuple(f"x{number}" for number in range(20))
COLUMNS = (*FLAT, "jet_pt")
ENTRIES, CLUSTER_ENTRIES = 60_000, 10_000
#: Files of each folder; so many of each, but of the closed one, have a second version.
COUNTS = {"open": 24, "closed": 8, "mount": 8}
REPLACED = 6
CODECS = (uproot.LZMA(1), uproot.ZLIB(1), uproot.ZSTD(1), uproot.LZ4(1))


@dataclass
class Version:
    """Digests by column; of all bytes under the name ""."""

    path: Path
    digests: dict[str, str]
    since: float = 0.0
    until: float = float("inf")

    def has(self, digests: dict[str, str]) -> bool:
        return all(self.digests[name] == digests[name] for name in digests)


@dataclass
class SoakFile:
    folder: str
    name: str
    #: In the order of their times; the last is served.
    history: list[Version] = field(default_factory=list)
    spare: Version | None = None

    def versions(self, begin: float, end: float) -> list[Version]:
        """Those that a client may see that began and ended then."""
        return [kept for kept in self.history if kept.since <= end and kept.until >= begin]


class Files:
    def __init__(self, at: Path, chance: random.Random) -> None:
        self.at, self.chance = at, chance
        self.by_folder: dict[str, list[SoakFile]] = {}
        self.lock = threading.Lock()

    def make(self) -> None:
        versions = self.at / "versions"
        versions.mkdir()
        for folder, count in COUNTS.items():
            self.by_folder[folder] = files = []
            for number in range(count):
                file = SoakFile(folder, f"f{number}.root")
                first = self.version(versions / f"{folder}-{number}-a.root")
                file.history.append(first)
                shutil.copy(first.path, self.at / folder / file.name)
                if folder != "closed" and number < REPLACED:
                    file.spare = self.version(versions / f"{folder}-{number}-b.root")
                files.append(file)

    def version(self, path: Path) -> Version:
        rng = np.random.default_rng(self.chance.getrandbits(32))
        types = {name: np.dtype(np.float32) for name in FLAT}
        types["jet_pt"] = ak.types.from_datashape("var * float32", highlevel=False)
        with uproot.recreate(path, compression=self.chance.choice(CODECS)) as file:
            tree = file.mktree(TREE, types)
            for _ in range(0, ENTRIES, CLUSTER_ENTRIES):
                columns = {name: truncated(rng, CLUSTER_ENTRIES) for name in FLAT}
                counts = rng.poisson(2.0, CLUSTER_ENTRIES)
                columns["jet_pt"] = ak.unflatten(truncated(rng, int(counts.sum())), counts)
                tree.extend(columns)
        with uproot.open(path) as file:
            arrays = file[TREE].arrays(COLUMNS)
        digests = of_arrays({name: arrays[name] for name in COLUMNS})
        digests[""] = hashlib.sha256(path.read_bytes()).hexdigest()
        return Version(path, digests)

    def replace(self, file: SoakFile) -> None:
        """Puts the other version in its place, as a site does: under another name, then renamed."""
        assert file.spare is not None
        at = self.at / file.folder / file.name
        fresh = at.with_suffix(".fresh")
        shutil.copy(file.spare.path, fresh)
        with self.lock:
            before, begin = file.history[-1], time.time()
            fresh.rename(at)
            after = Version(file.spare.path, file.spare.digests, since=begin)
            before.until = time.time()
            file.spare = Version(before.path, before.digests)
            file.history.append(after)

    def replaceable(self) -> list[SoakFile]:
        return [file for files in self.by_folder.values() for file in files if file.spare]


def truncated(rng: np.random.Generator, count: int) -> np.ndarray:
    """Floats with twelve bits of mantissa, as NanoAOD has them."""
    bits = rng.exponential(40.0, count).astype(np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFFF800)).view(np.float32)
