"""No server, no other user and no file is believed without proof."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
import farroot.fsspec

from .leaks import MARKER
from .test_cache import read
from .test_remote import serving

TRUE, FALSE = 1.0, 666.0


@pytest.fixture
def twins(tmp_path: Path) -> tuple[Path, Path]:
    """Folders with two files of one size, identifier and beginning, and other values."""
    honest, hostile = tmp_path / "honest", tmp_path / "hostile"
    honest.mkdir()
    hostile.mkdir()
    with uproot.recreate(honest / "f.root", compression=None) as file:
        file.mktree("t", {"x": np.float64})
        file["t"].extend({"x": np.full(20_000, TRUE)})
    content = (honest / "f.root").read_bytes()
    other = content.replace(struct.pack(">d", TRUE) * 50, struct.pack(">d", FALSE) * 50)
    assert len(other) == len(content)
    assert other[:300] == content[:300]
    assert other != content
    (hostile / "f.root").write_bytes(other)
    return honest, hostile


@pytest.mark.parametrize("scheme", ["root", "http"])
@pytest.mark.parametrize("store", ["0", "100 MB"])
def test_a_hostile_server_does_not_answer_for_another(
    twins: tuple[Path, Path], tmp_path: Path, scheme: str, store: str
) -> None:
    """Regression: the cache knew a file by its identifier, size and first 256 bytes, which a
    hostile server gave to a file of its own: its values were then read from the honest one."""
    honest, hostile = twins
    kept = {"FARROOT_STORE": store, "FARROOT_STORE_FOLDER": str(tmp_path / "store")}
    with serving(honest) as good, serving(hostile) as bad:
        paths = {"root": "//f.root:t", "http": "/f.root:t"}
        address = {host: f"{scheme}://{host}{paths[scheme]}" for host in (good, bad)}
        true = read(address[good], tmp_path / "other", FARROOT_STORE="0")["total"]
        assert read(address[bad], tmp_path / "cache", **kept)["total"] != true
        assert read(address[good], tmp_path / "cache", **kept)["total"] == true
        again = read(address[good], tmp_path / "cache", **kept)
        assert (again["total"], again["bytes_cached"] > 100_000) == (true, True)


def kind(path: Path) -> int:
    return stat.S_IFMT(path.lstat().st_mode)


def test_copies_go_through_links_and_into_devices(tmp_path: Path) -> None:
    """Regression: `farroot cp -f URL /dev/null` put a regular file in the place of the device."""
    source = tmp_path / "source"
    source.write_text("hello")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "other").write_text("old")
    (tmp_path / "link").symlink_to("other")
    targets = ["fifo", "link"]
    if os.geteuid() == 0:
        try:
            os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            targets.append("null")
        except PermissionError:
            pass
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    for name in targets:
        before = kind(tmp_path / name)
        farroot.copy(str(source), tmp_path / name, overwrite=True)
        assert kind(tmp_path / name) == before, name
    assert os.read(reader, 100) == b"hello"
    os.close(reader)
    assert (tmp_path / "other").read_text() == "hello"
    with pytest.raises(farroot.Error, match="no program reads"):
        farroot.copy(str(source), tmp_path / "fifo", overwrite=True)


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_an_update_says_that_its_file_is_gone(tmp_path: Path, how: str) -> None:
    """Regression: it reported success, and the written file was nowhere."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file["a"] = np.histogram([1, 2, 3], bins=3)
    file = farroot.update(path)
    file["b"] = np.histogram([1, 2, 3], bins=3)
    if how == "replaced":
        (tmp_path / "other").write_text("somebody's")
        (tmp_path / "other").rename(path)
    else:
        path.unlink()
    with pytest.raises(farroot.Error, match="another program has removed, replaced"):
        file.close()
    left = [each.name for each in tmp_path.iterdir()]
    assert left == (["f.root"] if how == "replaced" else [])


def said(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "farroot", *command], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_no_verb_prints_a_token(made: Path, tmp_path: Path) -> None:
    """Regression: each verb hid the secrets that it thought of."""
    with serving(made.parent) as host:
        address = f"root://{host}//{made.name}?authz={MARKER}"
        none = f"root://{host}//no*.root?authz={MARKER}"
        for command in (
            ("ls", address, address),
            ("ls", none),
            ("check", address),
            ("check", "--json", address),
            ("cp", none, str(tmp_path)),
            ("cache", "warm", address),
            ("doctor", address),
            ("show", address),
            ("map", address),
        ):
            assert MARKER not in said(*command), command
        tables: Any = {f"root://{host}//no*.root?authz={MARKER}": "events"}
        calls = (
            lambda: list(farroot.iterate(tables)),
            lambda: farroot.open({address: "events", none: "events"}),
            lambda: farroot.open(none),
            lambda: farroot.fsspec.FileSystem().pipe_file(f"{address}&x=1", b"x"),
            lambda: farroot.recreate(f"root://{host}//new.root?authz={MARKER}").close(),
        )
        for call in calls:
            with pytest.raises(farroot.Error) as error:
                call()
            for text in (str(error.value), repr(error.value), repr(error.value.args)):
                assert MARKER not in text
            assert MARKER not in str(error.value.url)
        chain = farroot.chain({address: "events"})
        assert MARKER not in repr(chain)
        assert MARKER not in str(chain)
