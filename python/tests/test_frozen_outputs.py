"""Bytes of merged and skimmed files, which a change of structure must not change.

Each output is made of files of the repository or of files that farroot writes, with
``reproducible=True``. A developer who changes the written bytes on purpose runs
``python -m tests.test_frozen_outputs`` in ``python/``, reads the outputs with ROOT and commits the
new sums.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .skips import REPOSITORY

DATA = REPOSITORY / "crates" / "rootfile" / "testdata"
SUMS = Path(__file__).with_name("frozen_outputs.json")


def write_inputs(folder: Path) -> None:
    """Two trees of several clusters and two RNTuples of one, of which the second ones lack a
    column, with histograms beside them."""
    for number in (1, 2):
        entries = np.arange(4000) + 4000 * number
        columns: dict[str, Any] = {
            "x": entries * 0.5,
            "n": entries.astype(np.int32),
            "text": [f"entry {at % 17}" for at in entries],
            "list": [[float(at)] * (at % 4) for at in entries],
        }
        if number == 1:
            columns["only"] = entries.astype(np.float32)
        for kind in ("tree", "ntuple"):
            path = folder / f"{kind}_{number}.root"
            cluster = 1000 if kind == "tree" else None
            with farroot.recreate(path, cluster=cluster, reproducible=True) as file:
                file["h"] = np.histogram(entries % 7, bins=7, range=(0, 7))
                make = file.mktree if kind == "tree" else file.mkrntuple
                make("dir/t", columns)


def data(*names: str) -> list[str]:
    return [str(DATA / f"{name}.root") for name in names]


def merge(output: Path, inputs: list[str], **options: Any) -> None:
    farroot.merge(inputs, output, reproducible=True, **options)


def skim(output: Path, sources: Any, *arguments: Any, **options: Any) -> None:
    farroot.skim(sources, output, *arguments, reproducible=True, **options)


def outputs(made: Path) -> dict[str, Callable[[Path], None]]:
    """Each output, by a name that says how it is made; ``made`` has the inputs."""

    def pair(kind: str, path: str = "") -> list[str]:
        return [f"{made}/{kind}_{number}.root{path}" for number in (1, 2)]

    trees, ntuples = pair("tree"), pair("ntuple")
    all_of: dict[str, Callable[[Path], None]] = {
        "merge of trees of ROOT": lambda to: merge(to, data("chain_1", "chain_2")),
        "merge of a split tree, compressed anew": lambda to: merge(
            to, data("split"), recompress=farroot.LZ4(4)
        ),
        "merge of objects and a profile": lambda to: merge(to, data("by_geant4")),
        "merge of directories": lambda to: merge(to, data("by_groot", "clustered")),
        "merge of records": lambda to: merge(to, data("ntuple_records", "ntuple_records")),
        "merge of fields": lambda to: merge(to, data("ntuple_fields")),
        "skim of a split tree": lambda to: skim(to, f"{DATA}/split.root:events", ["event/*"]),
        "skim of a closed cluster": lambda to: skim(to, f"{DATA}/clustered.root:events"),
    }
    return all_of | of_kind("trees", trees) | of_kind("RNTuples", ntuples)


def of_kind(kind: str, both: list[str]) -> dict[str, Callable[[Path], None]]:
    """The outputs of two files with tables of one kind."""
    places = [f"{one}:dir/t" for one in both]
    cut = "(n % 3 == 0) & (x > 2100)"
    new = {"twice": "x * 2", "half": "sqrt(n) / 2"}
    return {
        f"merge of {kind}, filtered": lambda to: merge(to, both[::-1], missing="filter"),
        f"merge of {kind}, filled": lambda to: merge(to, both, missing="union"),
        f"merge of {kind}, recompressed": lambda to: merge(
            to, both[:1] * 2, recompress=farroot.ZLIB(1)
        ),
        f"skim of {kind}, columns": lambda to: skim(to, places, ["x", "list"]),
        f"skim of {kind}, cut": lambda to: skim(to, places, ["x", "n"], cut),
        f"skim of {kind}, cut and new": lambda to: skim(to, places, ["n", "text"], cut, define=new),
        f"skim of {kind}, new": lambda to: skim(to, places, ["x"], define=new),
        f"skim of {kind}, all else kept": lambda to: skim(
            to, places, ["x"], "n < 0", define=new, keep_rest=True
        ),
    }


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of each output."""
    write_inputs(folder)
    found = {}
    for name, make in outputs(folder).items():
        # The file's name is in its header.
        path = folder / "out.root"
        make(path)
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        path.unlink()
    return found


def test_merged_and_skimmed_files_have_the_bytes_that_they_had(tmp_path: Path) -> None:
    if sys.byteorder != "little":
        pytest.skip("THIS MACHINE IS BIG-ENDIAN: the sums are those of others")
    assert sums(tmp_path) == json.loads(SUMS.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        SUMS.write_text(json.dumps(sums(Path(folder)), indent=1) + "\n")
