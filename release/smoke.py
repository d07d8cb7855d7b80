"""Smoke test of an installed farroot: writes files, reads them from disk, XRootD and HTTP."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import awkward as ak
import farroot
import numpy as np

#: The program beside this Python.
PROGRAM = Path(sys.executable).with_name("farroot")


def main() -> None:
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert farroot.__version__ in said.stdout, said.stdout
    with tempfile.TemporaryDirectory() as folder:
        x = np.arange(10_000, dtype=np.float64)
        jagged = ak.Array([[1, 2], [], [3]] * 3_333 + [[4]])
        for codec in (farroot.ZLIB, farroot.LZMA, farroot.LZ4, farroot.ZSTD):
            path = Path(folder, f"{codec.__name__}.root")
            with farroot.recreate(path, compression=codec(1)) as file:
                file["tree"] = {"x": x, "jagged": jagged}
            check(str(path), x, jagged)
        served(Path(folder), x, jagged)
    print(f"farroot {farroot.__version__} works with Python {sys.version.split()[0]}")


def check(url: str, x: np.ndarray, jagged: ak.Array) -> None:
    """The file has the values that were written."""
    tree = farroot.open(f"{url}:tree")
    assert np.array_equal(tree["x"].array(library="np"), x), url
    assert ak.all(ak.flatten(tree["jagged"].array() == jagged)), url


def served(folder: Path, x: np.ndarray, jagged: ak.Array) -> None:
    """The same over XRootD and HTTP, from `farroot serve` on a free port."""
    command = [PROGRAM, "serve", folder, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        host = server.stdout.readline().split("/")[2]
        check(f"root://{host}//ZSTD.root", x, jagged)
        check(f"http://{host}/LZ4.root", x, jagged)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
