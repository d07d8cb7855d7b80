"""The cache on this machine's disk, from one process to the next."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot import InvalidArgumentError

from .leaks import MARKER
from .test_remote import serving

#: Reads a column, and prints the bytes from each source.
READ = """
import json, sys, farroot
tree = farroot.open(sys.argv[1])
total = float(tree.arrays(["x"]).x.to_numpy().sum())
report = farroot.report()
names = ("bytes_received", "bytes_cached", "requests")
print(json.dumps({"total": total, **{name: report[name] for name in names}}))
"""


def read(address: str, folder: Path, **settings: str) -> dict[str, Any]:
    """The output of a process of its own that has a cache in a folder."""
    cache = {
        "FARROOT_CACHE": "1 GB",
        "FARROOT_CACHE_FOLDER": str(folder),
    }
    environment = {**os.environ, **cache, "FARROOT_STORE": "0", **settings}
    command = [sys.executable, "-W", "error", "-c", READ, address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def shell(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "FARROOT_CACHE_FOLDER": str(folder)}
    command = [sys.executable, "-m", "farroot", "cache", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    with uproot.recreate(folder / "f.root") as file:
        random = np.random.default_rng(3)
        file["t"] = {"x": random.normal(size=50_000), "y": random.normal(size=50_000)}
    return folder


def test_what_one_process_has_read_is_there_for_the_next(files: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with serving(files) as host:
        address = f"root://{MARKER}@{host}//f.root:t?authz={MARKER}"
        first = read(address, folder)
        second = read(address, folder)
        # The open, and with it the first bytes.
        assert first["bytes_cached"] == 0
        assert second["requests"] <= 2 < first["requests"]
        assert second["bytes_cached"] > 300_000 > second["bytes_received"]
        assert second["total"] == first["total"]
        trusted = read(address, folder, FARROOT_CACHE_CHECK="trust=1h")
        assert (trusted["requests"], trusted["bytes_received"]) == (0, 0)
    # With its server gone.
    trusted = read(address, folder, FARROOT_CACHE_CHECK="immutable")
    assert trusted["total"] == first["total"]
    (listed,) = map(json.loads, shell(folder, "ls", "--json").splitlines())
    assert listed["address"] == f"root://{host}//f.root"
    assert 300_000 < listed["held_bytes"] < listed["size"]
    assert "are what was written" in shell(folder, "verify")
    shell(folder, "pin", listed["address"])
    assert "pinned" in shell(folder, "stat", listed["address"])
    assert "1 addresses" in shell(folder, "stat")
    assert "bytes are held" in shell(folder, "explain", listed["address"])
    shell(folder, "unpin", listed["address"])
    shell(folder, "evict", listed["address"])
    assert shell(folder, "ls", "--json") == ""


def test_settings_are_checked() -> None:
    before = farroot.config()
    with pytest.raises(InvalidArgumentError, match="touched"):
        farroot.config(cache_mode="some")
    with pytest.raises(InvalidArgumentError, match="trust=7d"):
        farroot.config(cache_check="trust=long")
    assert farroot.config() == before
    assert before["cache"] == 0


#: Prints `retryable` and `retry_after` of two failed opens on an unreachable server, and then the
#: tries of a map over another file there, and whether the pause between them is within the limits.
REFUSED = """
import sys, farroot
from farroot import mapping

class Clock:
    slept = []

    def monotonic(self):
        return 1000.0 + sum(self.slept)

    def sleep(self, seconds):
        self.slept.append(seconds)

for _ in range(2):
    try:
        farroot.open(sys.argv[1])
    except farroot.ConnectionFailedError as error:
        print(error.retryable, error.retry_after is not None and 0 < error.retry_after <= 30)
mapping.time = Clock()
other = sys.argv[1].replace("f.root", "g.root")
_, failed = farroot.map(lambda _: farroot.open(other), [None], retries=1, on_error="report")
print(failed[0].tries, [1 <= pause <= 30 for pause in Clock.slept])
"""


def test_a_remembered_error_says_until_when(tmp_path: Path) -> None:
    """Regressions: only the error's text named the time, so programs retried without a request to
    the server; and the first error lacked `retry_after`, so a map retried at once, in vain."""
    cache = {"FARROOT_CACHE": "1 GB", "FARROOT_CACHE_FOLDER": str(tmp_path / "cache")}
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"root://127.0.0.1:{closed.getsockname()[1]}//f.root"
        command = [sys.executable, "-W", "error", "-c", REFUSED, address]
        environment = {**os.environ, **cache, "FARROOT_STORE": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True True\nTrue True\n2 [True]\n"
