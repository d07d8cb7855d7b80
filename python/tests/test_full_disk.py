"""Writing to a disk that becomes full: a small tmpfs in a mount namespace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Size of the disk in bytes.
DISK = 48 << 20

SCRIPT = """
import os, sys
import numpy as np
import farroot

path, megabytes, other = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
folder = os.path.dirname(path)
fill = np.random.default_rng(1).normal(size=1 << 17)
try:
    with farroot.recreate(path, compression=None, memory="4 MB", cluster="2 MB") as file:
        tree = file.mktree("t", {"x": np.float64})
        for number in range(megabytes):
            tree.extend({"x": fill})
            if number == 12 and other:
                # Another process wants the rest of the disk.
                with open(folder + "/other", "wb", buffering=0) as rest:
                    try:
                        while rest.write(bytes(1 << 20)) == 1 << 20:
                            pass
                    except OSError:
                        pass
    print("WRITTEN", farroot.open(path + ":t").num_entries)
except farroot.Error as error:
    print("ERROR", error)
print("FILES", sorted(os.listdir(folder)))
state = os.statvfs(folder)
print("LEFT", state.f_bfree * state.f_bsize)
"""


def run(tmp_path: Path, megabytes: int, *, other: bool = False) -> dict[str, str]:
    """Writes `megabytes` to a disk of `DISK` bytes; skips where it cannot be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = f'mount -t tmpfs -o size={DISK} none "{folder}" && exec "$@"'
    program = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    try:
        subprocess.run([*program, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NO NAMESPACES HERE: not tested on a disk that becomes full")
    job = [sys.executable, "-c", SCRIPT, str(folder / "f.root"), str(megabytes), str(int(other))]
    said = subprocess.run([*program, *job], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in said.splitlines())


def test_a_disk_that_is_too_small_ends_the_file_and_nothing_stays(tmp_path: Path) -> None:
    said = run(tmp_path, 100)
    assert "the disk is full" in said["ERROR"], said
    assert said["FILES"] == "[]"
    assert int(said["LEFT"]) > DISK - (1 << 20)


def test_a_file_that_just_fits_is_written_and_takes_no_more_than_it_has(tmp_path: Path) -> None:
    said = run(tmp_path, 40)
    assert said["WRITTEN"] == str(40 << 17), said
    assert int(said["LEFT"]) > DISK - (42 << 20)


def test_room_that_is_kept_is_not_another_programs(tmp_path: Path) -> None:
    said = run(tmp_path, 30, other=True)
    assert said["WRITTEN"] == str(30 << 17), said
    assert said["FILES"] == "['f.root', 'other']"
