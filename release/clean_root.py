"""Tries a wheel where there is only Python: no compiler, no Rust, no checkout."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SMOKE = Path(__file__).with_name("smoke.py")
ROOT = Path(__file__).resolve().parents[1] / "build" / "clean-root"

#: The version of Python in Debian 12.
DEBIANS_PYTHON = (3, 11)

#: A function that runs a command and raises if it fails.
Run = Callable[..., str]


def try_wheel(wheel: Path, run: Run) -> str:
    """Installs a wheel, runs `smoke.py`, and returns a text that names the environment."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", wheels, wheel)
        # pip has fetched dependencies for the Python that runs this: Debian's must be the same.
        is_debians = sys.version_info[:2] == DEBIANS_PYTHON
        if is_debians and os.geteuid() == 0 and shutil.which("debootstrap"):
            return _in_debian(wheels, run)
        return _in_environment(wheels, run)


def _in_debian(wheels: Path, run: Run) -> str:
    """In a chroot of Debian (minbase), made once, with Python and without a compiler."""
    if not (ROOT / "etc" / "debian_version").exists():
        shutil.rmtree(ROOT, ignore_errors=True)
        include = "--include=python3,python3-venv"
        run("debootstrap", "--variant=minbase", include, "bookworm", ROOT)
    inside = ROOT / "try"
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(wheels, inside / "wheels")
    shutil.copy(SMOKE, inside)
    lines = [
        "! command -v cc gcc cargo rustc",
        "python3 -m venv /try/venv",
        "/try/venv/bin/pip install --quiet --no-index --find-links /try/wheels farroot",
        "/try/venv/bin/python /try/smoke.py",
    ]
    run(
        *("chroot", ROOT, "env", "-i", "PATH=/usr/bin:/bin", "HOME=/root"),
        *("sh", "-ec", "\n".join(lines)),
    )
    return f"a root of Debian {(ROOT / 'etc' / 'debian_version').read_text().strip()}"


def _in_environment(wheels: Path, run: Run) -> str:
    """In a new virtual environment whose PATH leads nowhere else."""
    venv = wheels / "venv"
    run(sys.executable, "-m", "venv", venv)
    pip = (venv / "bin" / "pip", "install", "--quiet", "--no-index", "--find-links", wheels)
    clean = ("env", "-i", f"PATH={venv / 'bin'}", f"HOME={wheels}")
    run(*clean, *pip, "farroot")
    run(*clean, venv / "bin" / "python", SMOKE, folder=wheels)
    return "a virtual environment without PATH"
