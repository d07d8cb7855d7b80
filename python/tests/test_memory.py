"""Small files that hold much: where there is no memory for it, an exception, not the end."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from .damaged import TESTDATA

#: Decoded bytes of the files, and the memory that a process may take beyond that at the beginning
#: of the read.
EXPANDED = 96 << 20
ALLOWED = 48 << 20
#: Bytes of a basket or cluster.
PART = 8 << 20

READ = """
import resource, sys
import farroot
farroot.open(sys.argv[2])["events"].arrays()
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[3]),) * 2)
try:
    value = farroot.open(sys.argv[1])["x"]
    if hasattr(value, "arrays"):
        value.arrays(library="np")
except MemoryError as error:
    assert isinstance(error, farroot.errors.LimitReachedError), repr(error)
    print("refused:", error)
else:
    print("read")
farroot.open(sys.argv[2])["events"].arrays()
"""


def _tree(file: Any) -> None:
    _extended(file.mktree("x", {"x": np.float64}))


def _ntuple(file: Any) -> None:
    _extended(file.mkrntuple("x", {"x": np.float64}))


def _extended(table: Any) -> None:
    part = np.zeros(PART // 8)
    for _ in range(EXPANDED // PART):
        table.extend({"x": part})


def _text(file: Any) -> None:
    file["x"] = "a" * EXPANDED


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
@pytest.mark.parametrize("fill", [_tree, _ntuple, _text])
def test_what_does_not_fit_is_refused(tmp_path: Path, fill: Callable[[Any], None]) -> None:
    path = _file(tmp_path, fill)
    assert path.stat().st_size < EXPANDED // 50
    outcome = _read(path, ALLOWED)
    assert outcome.startswith("refused: "), outcome


def test_with_enough_memory_it_is_read(tmp_path: Path) -> None:
    assert _read(_file(tmp_path, _tree), 16 * EXPANDED) == "read"


def _file(folder: Path, fill: Callable[[Any], None]) -> Path:
    path = folder / "small.root"
    with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
        fill(file)
    return path


def _read(path: Path, allowed: int) -> str:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    assert hard == resource.RLIM_INFINITY, "the test sets the limit itself"
    command = [sys.executable, "-c", READ, str(path), str(TESTDATA / "plain.root"), str(allowed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
