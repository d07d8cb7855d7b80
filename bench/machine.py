"""Facts about machine and software that a figure depends on; nothing that names the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path


def facts() -> dict:
    return {
        "cores": os.cpu_count(),
        "cpu": cpu_model(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": re.split(r"[-+]", platform.release())[0],
        "load_at_start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "xrootd": first_line("xrootd", "-v"),
        "packages": {
            name: version(name) for name in ("root", "uproot", "awkward", "numpy", "farroot")
        },
    }


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def first_line(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout + done.stderr).strip().partition("\n")[0] or None
