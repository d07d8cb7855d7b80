"""No server, no other user and no file is believed without proof."""

from __future__ import annotations

import os
import pickle
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


FARROOT = (sys.executable, "-m", "farroot")
#: Reads an address through the proxy of `farroot run`.
THROUGH = f"""exec {sys.executable} -c 'import sys, urllib.request
urllib.request.urlopen(open(sys.argv[1]).read() + sys.argv[2]).read()' "$FARROOT_PROXY" "$0"
"""


def said(*command: str, home: Path) -> str:
    """The output of a command whose cache, store and settings are below a folder."""
    secret = {"BEARER_TOKEN": MARKER, "http_proxy": "", "AWS_SECRET_ACCESS_KEY": MARKER}
    kept = {"FARROOT_CACHE": "50 MB", "FARROOT_STORE": "10 MB", "HOME": str(home)}
    folders = {f"FARROOT_{name}_FOLDER": str(home / name) for name in ("CACHE", "STORE")}
    environment = os.environ | secret | kept | folders
    done = subprocess.run(
        [*FARROOT, *command], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _gathered(value: Any) -> str:
    """All that an object tells of itself without being asked for its credential."""
    texts = [repr(value), str(value), str(getattr(value, "path", ""))]
    for how in ("_repr_html_", "as_dict", "to_json"):
        if callable(shows := getattr(value, how, None)):
            texts.append(str(shows()))
    return "\n".join(texts)


@pytest.mark.parametrize("scheme", ["root", "http"])
@pytest.mark.parametrize("which", ["token", "password"])
def test_no_object_tells_a_secret(made: Path, tmp_path: Path, scheme: str, which: str) -> None:
    """Regression: names in listings of fsspec's class had it, and shared outputs in their pickles,
    and so had uproot's errors about our sources. Pickles, files and logs are searched, too."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "f.root").write_bytes(made.read_bytes())
    user, query = ("", f"?authz={MARKER}") if which == "token" else (f"user:{MARKER}@", "")
    with serving(folder, "--writable") as host:
        top = f"{scheme}://{user}{host}/{'/' if scheme == 'root' else ''}"
        url = f"{top}f.root{query}"
        tables = {url: "events"}
        file = farroot.open(url)
        files = farroot.fsspec.FileSystem()
        parts = farroot.partitions(tables)
        parts.save(tmp_path / "parts.json")
        source = farroot.Source(url)
        told = [
            *(file, file["events"], file["events"]["int8"], file.report(), file.timeline()),
            *(farroot.chain(tables), parts, parts[0], parts.to_coffea(), source),
            *(farroot.num_entries(tables), farroot.copy(url, tmp_path / "copied")),
            farroot.merge([url], tmp_path / "merged.root"),
            farroot.skim(tables, tmp_path / "skimmed.root", ["int8"]),
            farroot.SharedOutput(f"{top}new.root{query}"),
            *(files.ls(top + query), files.info(url), [*files.walk(top + query)]),
            *(files.find(top + query), files.glob(f"{top}*.root{query}"), files.tree(top + query)),
            *(files.open(url), files.dircache, source.file_path),
        ]
        for each in told:
            assert MARKER not in _gathered(each), type(each)
            try:
                pickle.dumps(each)
            except (TypeError, pickle.PicklingError):
                continue
        # They are the addresses of files none the less.
        names = files.ls(top + query, detail=False)
        assert [each.partition("?")[0].rpartition("/")[2] for each in names] == ["f.root"]
        assert files.cat(names[0]) == made.read_bytes()
        output = farroot.SharedOutput(f"{top}new.root{query}")
        with output.part(0) as part:
            part["t"] = {"x": np.arange(3)}
        assert output.commit(1).tables == {"t": 3}
        source.close()
        with pytest.raises(OSError, match="is closed") as closed:
            source.chunk(0, 1)
        assert MARKER not in str(closed.value)


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
            ("cache", "ls", "--json"),
            *(("cache", verb, address) for verb in ("stat", "explain", "pin", "unpin", "evict")),
            ("cache", "verify"),
            ("doctor", address),
            ("doctor", "--json", none),
            ("show", address),
            ("map", address),
            ("map", f"{address}:events", "--svg", str(tmp_path / "map.svg"), "--read"),
            ("plan", "--json", f"{address}:events"),
            ("cat", f"{address}:events", "-c", "int8", "--report", "--timeline", f"{tmp_path}/svg"),
            ("exercise", f"{address}:events"),
            ("skim", f"{address}:events", str(tmp_path / "skimmed.root")),
            ("merge", str(tmp_path / "merged.root"), address, address),
            ("cp", "--verify", address, str(tmp_path / "copied.root")),
            ("run", "--access-log", str(tmp_path / "log"), "--", "sh", "-c", THROUGH, address),
            *(("setup", option) for option in ("--port=1", "--remove")),
        ):
            assert MARKER not in said(*command, home=tmp_path), command
        assert (tmp_path / "log").read_text().count(made.name) == 1
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
