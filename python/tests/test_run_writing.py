"""Programs under ``farroot run`` write to the origin itself."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from .skips import need_root
from .test_remote import running_xrootd, serving, started


@pytest.fixture
def store(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and its address; ROOT takes 127.0.0.1 for the local disk."""
    folder = tmp_path / "top"
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "run").mkdir()
    with running_xrootd(folder, tmp_path / "run") as host:
        yield folder, f"root://127.0.0.2:{host.rpartition(':')[2]}/"


def run(*command: str, timeout: float = 120) -> str:
    words = [sys.executable, "-m", "farroot", "run", "--quiet", "--alone", "--", *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"THERE IS NO {program}: nothing is written by it (apt install xrootd-client)")


def test_xrdcp_and_xrdfs_write(store: tuple[Path, str], tmp_path: Path) -> None:
    """All that a program wrote was refused: "this server is read-only"."""
    need("xrdcp")
    folder, top = store
    (tmp_path / "one").write_text("one")
    (tmp_path / "two").write_text("other")
    run("xrdcp", "-s", str(tmp_path / "one"), f"{top}/new/f")
    assert (folder / "new/f").read_text() == "one"
    # Bytes that were read before the file was replaced are not read afterwards.
    script = (
        f"set -e; xrdcp -s {top}/new/f -; xrdcp -s -f {tmp_path}/two {top}/new/f;"
        f"xrdcp -s {top}/new/f -; xrdfs {top} mkdir /d; xrdfs {top} mv /new/f /d/g;"
        f"xrdcp -s {top}/d/g -; xrdfs {top} rm /d/g >&2; xrdfs {top} rmdir /d"
    )
    assert run("sh", "-c", script) == "oneotherother"
    assert not (folder / "d").exists()


@pytest.mark.interop
def test_root_writes_updates_and_reads_what_it_wrote(store: tuple[Path, str]) -> None:
    need_root()
    folder, top = store
    script = f"""
import ROOT
for mode, name in (("RECREATE", "a"), ("UPDATE", "b"), ("UPDATE", "c")):
    file = ROOT.TFile.Open("{top}/f.root", mode)
    n = ROOT.TNamed(name, mode)
    n.Write()
    file.Close()
    file = ROOT.TFile.Open("{top}/f.root")
    print(*sorted(key.GetName() for key in file.GetListOfKeys()))
    file.Close()
file = ROOT.TFile.Open("{top}/f.root", "RECREATE")
tree = ROOT.TTree("t", "")
import array
x = array.array("i", [0])
tree.Branch("x", x, "x/I")
for x[0] in range(1000):
    tree.Fill()
tree.Write()
file.Close()
print(ROOT.RDataFrame("t", "{top}/f.root").Sum("x").GetValue())
"""
    assert run(sys.executable, "-c", script).split("\n")[:4] == ["a", "a b", "a b c", "499500.0"]
    assert (folder / "f.root").stat().st_size > 1000


@pytest.mark.parametrize("how", ["bindings", "fsspec", "farroot"])
def test_python_writes(how: str, store: tuple[Path, str]) -> None:
    modules = {"bindings": "XRootD", "fsspec": "fsspec_xrootd", "farroot": "farroot"}
    if importlib.util.find_spec(modules[how]) is None:
        pytest.skip(f"{modules[how]} IS NOT INSTALLED: nothing is written by it")
    folder, top = store
    scripts = {
        "bindings": """
from XRootD import client
from XRootD.client.flags import OpenFlags
with client.File() as f:
    assert f.open(URL, OpenFlags.DELETE)[0].ok
    assert f.write(b"bytes")[0].ok
with client.File() as f:
    assert f.open(URL, OpenFlags.UPDATE)[0].ok
    assert f.write(b"B")[0].ok and f.truncate(3)[0].ok
with client.File() as f:
    assert f.open(URL)[0].ok
    print(f.read()[1].decode())
""",
        "fsspec": """
import fsspec, uproot
with fsspec.open(URL, "wb") as f:
    f.write(b"Byt")
fs, path = fsspec.url_to_fs(URL)
print(fs.cat_file(path, None, None).decode())
with uproot.recreate(URL + ".root") as f:
    f["t"] = {"x": [1, 2, 3]}
assert uproot.open(URL + ".root:t")["x"].array().tolist() == [1, 2, 3]
""",
        "farroot": """
import farroot, os, urllib.request
with farroot.recreate(URL + ".root") as f:
    f["t"] = {"x": [1, 2, 3]}
print("Byt")
""",
    }
    assert run(sys.executable, "-c", f"URL = {top + '/f'!r}\n{scripts[how]}") == "Byt\n"
    if how == "bindings":
        assert (folder / "f").read_text() == "Byt"


def test_http_is_sent_on_to_where_files_are_changed(tmp_path: Path) -> None:
    with serving(tmp_path, "--writable") as origin, started("proxy") as proxy:
        request = urllib.request.Request(
            f"http://{proxy}/http://{origin}/f", data=b"bytes", method="PUT"
        )

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: object) -> None:
                return None

        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.build_opener(Stay).open(request)
        assert refused.value.code == 307
        assert refused.value.headers["Location"] == f"http://{origin}/f"
        refused.value.close()
        with urllib.request.urlopen(f"http://{proxy}/metrics") as figures:
            kind = figures.headers["Content-Type"]
        assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
