"""Tries a wheel where there is only Python: no compiler, no Rust, no checkout."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SMOKE = Path(__file__).with_name("smoke.py")
ROOTS = Path(__file__).resolve().parents[1] / "build" / "clean-roots"

#: Versions of Debian, each with the version of its Python.
DEBIANS = {"bookworm": (3, 11), "trixie": (3, 13)}

#: N of `manylinux_2_N` wheels that pip may fetch; Debian 12, the older one, has glibc 2.36.
GLIBCS = range(17, 37)

#: A function that runs a command and raises if it fails.
Run = Callable[..., str]


def try_wheel(wheel: Path, run: Run) -> str:
    """Installs a wheel, runs `smoke.py`, and returns a text that names the environments."""
    if os.geteuid() == 0 and shutil.which("debootstrap"):
        return " and ".join(_in_debian(suite, wheel, run) for suite in DEBIANS)
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", wheels, wheel)
        return _in_environment(wheels, run)


def _in_debian(suite: str, wheel: Path, run: Run) -> str:
    """In a chroot of Debian (minbase), made once, with Python and without a compiler."""
    root = ROOTS / suite
    if not (root / "try").exists():
        # An earlier debootstrap may have been interrupted.
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        include = "--include=python3,python3-venv"
        run("debootstrap", "--variant=minbase", include, suite, root)
    inside = root / "try"
    shutil.rmtree(inside, ignore_errors=True)
    _fetch(wheel, DEBIANS[suite], inside / "wheels", run)
    shutil.copy(SMOKE, inside)
    lines = [
        "! command -v cc gcc cargo rustc",
        "python3 -m venv /try/venv",
        "/try/venv/bin/pip install --quiet --no-index --find-links /try/wheels farroot",
        "/try/venv/bin/python /try/smoke.py",
    ]
    run(
        *("chroot", root, "env", "-i", "PATH=/usr/bin:/bin", "HOME=/root"),
        *("sh", "-ec", "\n".join(lines)),
    )
    version = (root / "etc" / "debian_version").read_text().strip()
    return f"a root of Debian {version} with Python {'.'.join(map(str, DEBIANS[suite]))}"


def _fetch(wheel: Path, python: tuple[int, int], folder: Path, run: Run) -> None:
    """Downloads a wheel's dependencies for a version of Python, and copies the wheel, too."""
    version = "".join(map(str, python))
    machine = os.uname().machine
    abis = (f"cp{version}", "abi3", "none")
    platforms = (f"manylinux_2_{glibc}_{machine}" for glibc in reversed(GLIBCS))
    run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"),
        *("--python-version", version, "--implementation", "cp"),
        *(word for abi in abis for word in ("--abi", abi)),
        *(word for platform in platforms for word in ("--platform", platform)),
        *("--dest", folder, wheel),
    )


def _in_environment(wheels: Path, run: Run) -> str:
    """In a new virtual environment whose PATH leads nowhere else."""
    venv = wheels / "venv"
    run(sys.executable, "-m", "venv", venv)
    pip = (venv / "bin" / "pip", "install", "--quiet", "--no-index", "--find-links", wheels)
    clean = ("env", "-i", f"PATH={venv / 'bin'}", f"HOME={wheels}")
    run(*clean, *pip, "farroot")
    run(*clean, venv / "bin" / "python", SMOKE, folder=wheels)
    return "a virtual environment without PATH"
