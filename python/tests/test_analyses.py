"""Analyses that were written for uproot give the same through farroot.

Each runs three times: with uproot, on a local disk; with farroot, on a server, with only its import
changed; and unchanged, on a server, with uproot reading through
`farroot.install()`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .skips import need_dask_awkward, need_vector
from .test_remote import serving

ANALYSES = sorted((Path(__file__).parent / "analyses").glob("[a-z]*.py"))
IMPORT = "import uproot\n"
#: Checks for the packages that only some analyses need.
NEEDS = {"dask_columns": need_dask_awkward, "four_vectors": need_vector}


def write_nano(path: Path, seed: int, entries: int = 500) -> None:
    """A file in the manner of NanoAOD."""
    random = np.random.default_rng(seed)
    muons, jets = random.poisson(1.6, entries), random.poisson(3, entries)

    def listed(counts: Any, values: Any) -> Any:
        return ak.unflatten(values.astype("f4"), counts)

    def particles(counts: Any, scale: float) -> dict[str, Any]:
        total = counts.sum()
        return {
            "pt": listed(counts, random.exponential(scale, total) + 5),
            "eta": listed(counts, random.normal(0, 1.5, total)),
            "phi": listed(counts, random.uniform(-np.pi, np.pi, total)),
        }

    muon, jet = particles(muons, 20), particles(jets, 35)
    muon["charge"] = ak.unflatten(random.choice([-1, 1], muons.sum()).astype("i4"), muons)
    columns = {
        "run": np.full(entries, seed, dtype="u4"),
        "event": np.arange(entries, dtype="u8"),
        "genWeight": random.choice([-1.0, 1.0], entries, p=[0.1, 0.9]).astype("f4"),
        "MET_pt": random.exponential(30, entries).astype("f4"),
        "MET_phi": random.uniform(-np.pi, np.pi, entries).astype("f4"),
        "HT": ak.to_numpy(ak.sum(jet["pt"], axis=1)).astype("f4"),
        "HLT_IsoMu24": random.random(entries) < 0.4,
        "HLT_PFHT500": random.random(entries) < 0.1,
        "Muon": ak.zip(muon),
        "Jet": ak.zip(jet),
    }
    with uproot.recreate(path) as file:
        types = {
            name: column.dtype if isinstance(column, np.ndarray) else column.type.content
            for name, column in columns.items()
        }
        tree = file.mktree("Events", types)
        for start in range(0, entries, 170):
            tree.extend({name: each[start : start + 170] for name, each in columns.items()})
        file["Runs"] = {"genEventSumw": np.array([columns["genWeight"].sum()], dtype="f8")}


def write_histograms(path: Path) -> None:
    random = np.random.default_rng(7)
    with uproot.recreate(path) as file:
        for process, number in (("ttbar", 3000), ("wjets", 800), ("qcd", 200)):
            pt, eta = random.exponential(50, number), random.normal(0, 1.2, number)
            file[f"{process}/pt"] = np.histogram(pt, bins=[0, 20, 40, 80, 160, 400])
            file[f"{process}/eta"] = np.histogram(eta, bins=24, range=(-3, 3))
            bins = ([0, 50, 400], [-3, 0, 3])
            file[f"{process}/pt_eta"] = np.histogram2d(pt, eta, bins=bins)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analyses")
    for seed in (1, 2, 3):
        write_nano(folder / f"nano_{seed}.root", seed)
    write_histograms(folder / "histograms.root")
    return folder


@pytest.fixture(scope="module")
def host(data: Path) -> Iterator[str]:
    with serving(data) as host:
        yield host


def result(program: str, place: str) -> Any:
    """The result of a program's ``analyse`` with the files below an address or a folder."""
    names: dict[str, Any] = {}
    exec(program, names)
    files = [f"{place}nano_{seed}.root" for seed in (1, 2, 3)]
    return names["analyse"](files, f"{place}histograms.root")


def for_farroot(program: str) -> str:
    """The program with farroot in uproot's place."""
    return program.replace(IMPORT, "import farroot as uproot\n")


def alike(ours: Any, theirs: Any) -> bool:
    """Equal, but for the last digits of reals: a cosine of 32 bits is not rounded in the same way
    by all libraries."""
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(alike(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-6) or (ours != ours and theirs != theirs)
    return bool(ours == theirs)


def nothing() -> None:
    """The check of an analysis without further packages."""


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_an_analysis_gives_the_same(path: Path, data: Path, host: str) -> None:
    NEEDS.get(path.stem, nothing)()
    program = path.read_text()
    assert program.count(IMPORT) == 1
    expected = result(program, f"{data}/")
    with farroot.reporting() as report:
        assert alike(result(for_farroot(program), f"root://{host}//"), expected)
    assert report["bytes_received"] > 0
    with farroot.reporting() as report, farroot.install():
        assert result(program, f"root://{host}//") == expected
    assert report["bytes_received"] > 0
