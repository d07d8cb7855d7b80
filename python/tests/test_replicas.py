"""Replicas in the cache have all of their file, or there is none; and pinned files stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot

from .test_remote import started

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``good`` has a table of one cycle that is not 1, the others something that no merge keeps."""
    folder = tmp_path / "files"
    folder.mkdir()
    column = {"k": np.arange(5)}
    with uproot.recreate(folder / "good.root") as made:
        made.mktree("t", {"k": "i8"}).extend(column)
        made.mktree("t", {"k": "i8"}).extend({"k": np.arange(100, 105)})
        made["d/h"] = np.histogram([1.0, 2.0], bins=2)
    with farroot.update(folder / "good.root") as changed:
        del changed["t;1"]
    with uproot.recreate(folder / "cycles.root") as made:
        for _ in range(2):
            made.mktree("t", {"k": "i8"}).extend(column)
    with uproot.recreate(folder / "empty.root") as made:
        made.mktree("t", {"k": "i8"}).extend(column)
        made.mkdir("nothing/below")
    return folder


@pytest.fixture
def command(tmp_path: Path) -> Command:
    settings = {"FARROOT_CACHE": "100 MB", "FARROOT_CACHE_FOLDER": str(tmp_path / "cache")}

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "farroot", *map(str, words)]
        environment = {**os.environ, **settings}
        return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)

    return run


@pytest.fixture
def host(folder: Path) -> Iterator[str]:
    with started("serve", str(folder)) as host:
        yield host


def test_a_replica_keeps_the_cycle(host: str, folder: Path, command: Command) -> None:
    """Regression: its only table was ``t;1`` in the replica."""
    before = farroot.open(folder / "good.root").keys(recursive=True)
    assert "t;2" in before, before
    address = f"root://{host}//good.root"
    done = command("cache", "convert", address)
    assert "a replica of" in done.stdout, done.stderr
    script = '"$0" -m farroot ls -r "$(cat "$FARROOT_PROXY")$1"'
    run = ["run", "--fast", "--alone", "--quiet", "--", "sh", "-c", script]
    listed = command(*run, sys.executable, f"root://{host}//good.root")
    assert "t;2" in listed.stdout, listed
    assert "t;1" not in listed.stdout, listed


@pytest.mark.parametrize(
    ("name", "reason"),
    [("cycles", "t has several cycles"), ("empty", "nothing/below is empty")],
)
def test_there_is_no_replica_that_lacks_something(
    host: str, command: Command, name: str, reason: str
) -> None:
    """Regression: it was made without the older cycles and the empty directories."""
    done = command("cache", "convert", f"root://{host}//{name}.root")
    assert done.returncode != 0
    assert reason in done.stderr
    assert "read as it is" in done.stderr
    assert command("cache", "ls", "--json").stdout.count('"replica_disk_bytes":0') <= 1


@pytest.mark.parametrize("name", ["uproot-issue49", "uproot-issue-350", "uproot-issue-861"])
def test_there_is_no_replica_without_an_object(
    corpus: Path, tmp_path: Path, command: Command, name: str
) -> None:
    """Regression: objects of classes that no merge copies were left out without a word."""
    if not (file := corpus / f"{name}.root").exists():
        pytest.skip(f"{file} is not there")
    with started("serve", str(corpus)) as host:
        done = command("cache", "convert", f"root://{host}//{name}.root")
    assert done.returncode != 0
    assert "left out" in done.stderr


def test_there_is_no_replica_of_a_local_file(folder: Path, command: Command) -> None:
    """Regression: it was made, and could neither be listed nor read nor evicted."""
    done = command("cache", "convert", folder / "good.root")
    assert done.returncode != 0
    assert "FARROOT_CACHE_LOCAL" in done.stderr
    assert json.loads(command("cache", "stat", "--json").stdout)["disk_bytes"] == 0


def test_a_pinned_file_is_not_evicted(host: str, command: Command) -> None:
    """Regression: it went without a word."""
    address = f"root://{host}//good.root"
    assert command("cache", "warm", "--pin", address).returncode == 0
    refused = command("cache", "evict", address)
    assert refused.returncode != 0
    assert "unpin" in refused.stderr
    assert address.rpartition("/")[2] in command("cache", "ls").stdout
    assert command("cache", "unpin", address).returncode == 0
    assert "are free" in command("cache", "evict", address).stdout
