"""The day, the class of machine and the versions that a figure depends on; no machine's name."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from model import CannotRunError

ROOT = Path(__file__).resolve().parents[1]
#: Part of the processors that other programs may use, and how long they are waited for.
LOAD_MAX, PATIENCE_S, LOOK_S = 0.5, 300.0, 10.0
# Of a merge: the file that it writes, in the system's cache, and the memory of its process.
TAKEN_BYTES_MAX = 3 << 30


def take_memory() -> None:
    """Writes to free memory and frees it again, in a process of its own. A virtual machine gives
    memory that stays free for seconds back to its host, and the next writes to it are slow: the
    peer after one that takes half a minute took twice as long as after a short one."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    count = min(TAKEN_BYTES_MAX, free // 2)
    subprocess.run([sys.executable, "-c", f"bytearray(b'x') * {count}"], check=True)


def settle(is_busy_allowed: bool) -> str | None:
    """Waits until the load average of a minute is low: the experiment before has one, too. On a
    machine that stays busy it raises an error, or returns a note for the record."""
    limit = LOAD_MAX * len(os.sched_getaffinity(0))
    end = time.monotonic() + PATIENCE_S
    while (load := os.getloadavg()[0]) > limit:
        if is_busy_allowed:
            return f"other programs ran on the machine at the same time (load {load:.1f})"
        if time.monotonic() > end:
            raise CannotRunError(f"the machine is busy (load {load:.1f}); --busy measures anyway")
        time.sleep(LOOK_S)
    return None


def commit() -> str | None:
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip() or None


def changed_files(folders: tuple[str, ...]) -> list[str]:
    """Tracked files of these folders that differ from the commit."""
    words = ["git", "diff", "--name-only", "HEAD", "--", *folders]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.split()


def facts() -> dict:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "cores_used": len(os.sched_getaffinity(0)),
        "cpu": cpu_model(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": re.split(r"[-+]", platform.release())[0],
        "load_at_start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": commit(),
        "xrootd": first_line("xrootd", "-v"),
        "root": root_release(),
        "packages": {
            name: version(name)
            for name in ("root", "uproot", "awkward", "numpy", "coffea", "farroot")
        },
    }


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def root_release() -> str | None:
    """ROOT's own version; the number of its wheel is another."""
    found = find_spec("ROOT")
    if found is None or found.origin is None:
        return None
    header = Path(found.origin).parent / "include" / "ROOT" / "RVersion.hxx"
    if not header.exists():
        return None
    parts = re.findall(r"#define ROOT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
    return "{}.{}.{:0>2}".format(*parts)


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
