"""Scripts that make files with ROOT, each run by itself: ROOT and its dictionaries stay out."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: ROOT crashes now and then in scripts that are in order, such as fits of RooFit.
ATTEMPTS = 3
SIGNALLED = 128


def written_by(script: str, folder: Path, *arguments: object) -> Path:
    """The folder, filled by a script of this one; skips where ROOT is not installed."""
    if importlib.util.find_spec("ROOT") is None:
        pytest.skip("ROOT IS NOT INSTALLED: not tested against files that it writes")
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / script), str(folder)]
    command += map(str, arguments)
    environment = {**os.environ, "PYTHONPATH": ""}
    for _ in range(ATTEMPTS):
        done = subprocess.run(command, capture_output=True, env=environment)
        # ROOT leaves with such a number where it was ended by a signal.
        if 0 <= done.returncode < SIGNALLED:
            break
    done.check_returncode()
    return folder
