"""Scripts that make files with ROOT, each run by itself: ROOT and its dictionaries stay out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ..skips import need_root

#: Where the scripts are modules of `tests.root`.
PACKAGE = Path(__file__).parents[2]
#: ROOT crashes now and then in scripts that are in order, such as fits of RooFit.
ATTEMPTS = 3
SIGNALLED = 128


def written_by(script: str, folder: Path, *arguments: object) -> Path:
    """The folder, filled by a script of this one; skips where ROOT is not installed."""
    done = _run("-m", f"tests.root.{script}", folder, *arguments)
    assert done.returncode == 0, done.stderr
    return folder


def by_root(script: str, *arguments: object) -> str:
    """The output of a script run in a new process; skips the test if ROOT is not installed."""
    done = _run("-c", script, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    """A script's end and output; again while a signal ended it."""
    need_root()
    command = [sys.executable, "-W", "ignore", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": ""}
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=PACKAGE, check=False
        )
        # ROOT leaves with such a number where it was ended by a signal.
        if 0 <= done.returncode < SIGNALLED:
            break
    return done
