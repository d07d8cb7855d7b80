"""Programs that read through ``farroot run`` unchanged: the results are those of reading directly,
and the proxy has brought them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .skips import need_root
from .test_remote import running_xrootd

#: Prints results of reading the file at the given address.
UPROOT = """
import sys, uproot
with uproot.open(sys.argv[1]) as file:
    tree = file["events"]
    print(tree.num_entries, tree["int32"].array().to_list(), tree["jagged"].array().to_list())
"""
XROOTD = """
import sys, hashlib
from XRootD import client
file = client.File()
status, _ = file.open(sys.argv[1])
assert status.ok, status.message
size = file.stat()[1].size
status, whole = file.read()
assert status.ok and len(whole) == size, status.message
status, parts = file.vector_read([(at, 33) for at in range(0, size - 33, 97)][:1024])
assert status.ok, status.message
assert all(part.buffer == whole[part.offset:part.offset + 33] for part in parts.chunks)
print(size, hashlib.sha256(whole).hexdigest())
"""
ROOT_TREE = """
import sys, ROOT
file = ROOT.TFile.Open(sys.argv[1])
print(sorted(entry.int32 for entry in file.Get("events")))
print(ROOT.RDataFrame("events", sys.argv[1]).Sum("int32").GetValue())
"""
ROOT_NTUPLE = """
import sys, ROOT
frame = ROOT.RDataFrame("many", sys.argv[1])
print(frame.Count().GetValue(), frame.Sum("x").GetValue())
"""


@pytest.fixture(scope="module")
def origin(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real xrootd, by an address that ROOT does not take for this machine's disk."""
    with running_xrootd(made.parent, tmp_path_factory.mktemp("xrootd")) as host:
        yield host.replace("127.0.0.1", "127.0.0.2")


def through_farroot(script: str, address: str) -> tuple[str, int]:
    """The output of a program through ``farroot run``, and how many files the proxy has opened."""
    command = [sys.executable, "-m", "farroot", "run", "--", sys.executable, "-c", script, address]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    opened = re.search(r"^farroot: opened (\d+) file", done.stderr, re.MULTILINE)
    assert opened is not None, done.stderr
    return done.stdout, int(opened.group(1))


def directly(script: str, address: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, address], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("script", [UPROOT, XROOTD], ids=["uproot", "xrootd"])
def test_python_reads_the_same_through_the_proxy(origin: str, made: Path, script: str) -> None:
    address = f"root://{origin}//{made.name}"
    text, opened = through_farroot(script, address)
    assert text == directly(script, address)
    assert opened >= 1


@pytest.mark.interop
def test_root_reads_trees_through_the_proxy(origin: str, made: Path) -> None:
    need_root()
    text, opened = through_farroot(ROOT_TREE, f"root://{origin}//{made.name}")
    assert text == directly(ROOT_TREE, str(made))
    assert opened >= 2


@pytest.mark.interop
def test_root_reads_rntuples_through_the_proxy(tmp_path_factory: pytest.TempPathFactory) -> None:
    need_root()
    folder = tmp_path_factory.mktemp("rntuple")
    path = folder / "many.root"
    make = (
        "import ROOT\n"
        "options = ROOT.RDF.RSnapshotOptions()\n"
        "options.fOutputFormat = ROOT.RDF.ESnapshotOutputFormat.kRNTuple\n"
        'frame = ROOT.RDataFrame(5000).Define("x", "rdfentry_ * 0.5")\n'
        f'frame.Snapshot("many", "{path}", ["x"], options)\n'
    )
    subprocess.run([sys.executable, "-c", make], check=True, capture_output=True)
    with running_xrootd(folder, tmp_path_factory.mktemp("xrootd")) as host:
        address = f"root://{host.replace('127.0.0.1', '127.0.0.2')}//{path.name}"
        text, _ = through_farroot(ROOT_NTUPLE, address)
    assert text == directly(ROOT_NTUPLE, str(path)) == "5000 6248750.0\n"
