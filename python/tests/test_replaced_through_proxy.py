"""A file that is replaced is an error of the same class through a proxy."""

from __future__ import annotations

import os
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot

from .test_remote import running_xrootd, started


def make(path: Path, value: float) -> None:
    """A file that takes the name, of the same size and with other values."""
    other = path.with_suffix(".new")
    with uproot.recreate(other, compression=None) as file:
        tree = file.mktree("t", {"x": "f8", "y": "f8"})
        for _ in range(4):
            column = np.full(60_000, value)
            tree.extend({"x": column, "y": column})
    os.utime(other, (time.time(), time.time() + value))
    other.replace(path)


def test_a_file_that_was_replaced_behind_a_proxy(tmp_path: Path) -> None:
    """Regression: it was a ReadError, and read without the proxy a ChangedError."""
    folder = tmp_path / "files"
    folder.mkdir()
    make(folder / "a.root", 1.0)
    settings = {
        "FARROOT_CACHE": "100 MB",
        "FARROOT_CACHE_FOLDER": str(tmp_path / "cache"),
        "FARROOT_CACHE_CHECK": "trust=1d",
    }
    with started("serve", str(folder)) as host:
        with started("proxy", **settings) as proxy:
            address = f"root://{proxy}//root://{host}//a.root:t"
            assert set(farroot.open(address).arrays("x").x.tolist()) == {1.0}
        make(folder / "a.root", 2.0)
        # The next proxy trusts its cache, which lacks the other column.
        with started("proxy", **settings) as proxy:
            tree = farroot.open(f"root://{proxy}//root://{host}//a.root:t")
            with pytest.raises(farroot.ChangedError):
                tree.arrays("y")


def test_a_busy_file_of_xrootd_that_was_replaced(tmp_path: Path) -> None:
    """Regression: xrootd opens the file that somebody has open there, and the proxy kept its own
    open while it asked: clients got the old file as long as they came often enough."""
    folder, run = tmp_path / "files", tmp_path / "run"
    folder.mkdir()
    run.mkdir()
    (folder / "f").write_text("the old one")
    (folder / "f").chmod(0o644)
    with running_xrootd(folder, run) as host, started("proxy") as proxy:
        url = f"http://{proxy}/root://{host}//f"
        request = urllib.request.Request(url, headers={"Cache-Control": "no-cache"})

        def read() -> bytes:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return bytes(answer.read())

        assert read() == b"the old one"
        (folder / "new").write_text("the new one, which is longer")
        (folder / "new").chmod(0o644)
        (folder / "new").replace(folder / "f")
        for _ in range(40):
            if read() == b"the new one, which is longer":
                return
            # Less than the 10 s for which the proxy keeps a file open.
            time.sleep(0.25)
    pytest.fail("the proxy never sees the new file")
