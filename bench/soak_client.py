"""One client of soak.py: reads columns of trees, or files, and prints a digest of each.

Usage: soak_client.py KIND URL... with the columns in SOAK_COLUMNS. Prints JSON: for each URL its
digests by column (of a whole file: under the name ""), or its error, and the seconds it took.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

TREE = "Events"
COLUMNS = os.environ.get("SOAK_COLUMNS", "").split(",")
CUT_COLUMN = "x0"


def digest(parts: list[np.ndarray]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(np.ascontiguousarray(part))
    return sha.hexdigest()


def of_arrays(arrays: dict) -> dict[str, str]:
    """Digests of awkward arrays: counts and content of those that are jagged."""
    import awkward as ak

    found = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            found[name] = digest([ak.to_numpy(array)])
        else:
            counts = ak.to_numpy(ak.num(array)).astype(np.int64)
            found[name] = digest([counts, ak.to_numpy(ak.flatten(array))])
    return found


def by_farroot(url: str) -> dict[str, str]:
    import farroot

    with farroot.open(url) as file:
        arrays = file[TREE].arrays(COLUMNS)
    return of_arrays({name: arrays[name] for name in COLUMNS})


def in_steps(url: str) -> dict[str, str]:
    import awkward as ak
    import farroot

    parts = list(farroot.iterate(f"{url}:{TREE}", COLUMNS, step_size=5_000))
    return of_arrays({name: ak.concatenate([part[name] for part in parts]) for name in COLUMNS})


def near(url: str) -> dict[str, str]:
    """With a cut that all entries pass: the digests are the same."""
    import farroot

    with farroot.open(url, near=True) as file:
        arrays = file[TREE].arrays(COLUMNS, cut=f"{CUT_COLUMN} >= -1")
    return of_arrays({name: arrays[name] for name in COLUMNS})


def by_uproot(url: str) -> dict[str, str]:
    import uproot

    with uproot.open(url) as file:
        arrays = file[TREE].arrays(COLUMNS)
    return of_arrays({name: arrays[name] for name in COLUMNS})


def by_root(url: str) -> dict[str, str]:
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kBreak
    file = ROOT.TFile.Open(url)
    if not file or file.IsZombie():
        raise OSError(f"ROOT cannot open {url}")
    file.Close()
    # Jagged columns have no counterpart in numpy.
    flat = [name for name in COLUMNS if not name.startswith("jet")]
    columns = ROOT.RDataFrame(TREE, url).AsNumpy(flat)
    return {name: digest([np.asarray(columns[name])]) for name in flat}


def of_output(command: list[str]) -> dict[str, str]:
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"{command[0]}: {done.stderr.decode(errors='replace').strip()[-900:]}")
    return {"": hashlib.sha256(done.stdout).hexdigest()}


def by_xrdcp(url: str) -> dict[str, str]:
    return of_output(["xrdcp", "--silent", "--nopbar", url, "-"])


def by_curl(url: str) -> dict[str, str]:
    command = ["curl", "-sS", "-L", "--fail-with-body", "--cacert", os.environ["SOAK_CA"]]
    if token := os.environ.get("BEARER_TOKEN_FILE"):
        with open(token) as file:
            command += ["-H", f"Authorization: Bearer {file.read().strip()}", "--location-trusted"]
    return of_output([*command, url])


def by_cp(url: str) -> dict[str, str]:
    return of_output([os.environ["SOAK_FARROOT"], "cp", url, "-"])


KINDS = {
    "farroot": by_farroot,
    "farroot-http": by_farroot,
    "farroot-iterate": in_steps,
    "farroot-near": near,
    "farroot-cp": by_cp,
    "uproot": by_uproot,
    "uproot-http": by_uproot,
    "ROOT": by_root,
    "xrdcp": by_xrdcp,
    "curl": by_curl,
}


def answers(kind: str, urls: list[str]) -> Iterator[dict]:
    for url in urls:
        begin = time.time()
        try:
            answer = {"digests": KINDS[kind](url)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
        yield answer | {"begin": begin, "end": time.time()}


if __name__ == "__main__":
    for answer in answers(sys.argv[1], sys.argv[2:]):
        print(json.dumps(answer), flush=True)
