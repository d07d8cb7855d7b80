"""uproot reads its bytes through farroot."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot import _held, _limits
from farroot.ranges import ByteFile

from .same import same_awkward
from .scripted_xrootd import scripted
from .test_remote import serving

NAMES = ["int32", "jagged", "text"]


@pytest.fixture(scope="module")
def served(made: Path) -> Iterator[str]:
    with serving(made.parent) as host:
        yield host


@pytest.fixture(autouse=True)
def none_held(monkeypatch: pytest.MonkeyPatch) -> _held.Held:
    """No file is held from the tests before."""
    monkeypatch.setattr(_held, "HELD", _held.Held())
    return _held.HELD


def url_of(host: str, scheme: str, path: Path) -> str:
    return f"{scheme}://{host}{'//' if scheme == 'root' else '/'}{path.name}"


def through_farroot(path: Any, **options: Any) -> Any:
    return uproot.open(path, handler=farroot.Source, **options)


@pytest.mark.parametrize("scheme", ["root", "http", "path", "file"])
def test_uproot_reads_the_same(served: str, made: Path, scheme: str) -> None:
    url = {"path": made, "file": f"file://{made}"}.get(scheme, url_of(served, scheme, made))
    with uproot.open(made) as file, through_farroot(url) as other:
        mine, theirs = other["events"], file["events"]
        assert isinstance(mine.file.source, farroot.Source)
        assert mine.file.source.num_bytes == made.stat().st_size
        assert same_awkward(mine.arrays(), theirs.arrays())
        mixed = zip(
            mine.iterate(NAMES, step_size=70), theirs.iterate(NAMES, step_size=70), strict=True
        )
        assert all(same_awkward(one, another) for one, another in mixed)
        lazily = mine.arrays(filter_name=NAMES, virtual=True)
        assert same_awkward(lazily["jagged"], theirs["jagged"].array())


def test_uproot_reads_rntuples(tmp_path: Path) -> None:
    path = tmp_path / "ntuple.root"
    with uproot.recreate(path) as file:
        file["ntuple"] = {"x": np.arange(1000), "y": np.arange(1000) * 0.5}
    with serving(tmp_path) as host, through_farroot(url_of(host, "root", path)) as file:
        arrays = file["ntuple"].arrays(library="np")
    assert (arrays["x"] == np.arange(1000)).all()
    assert (arrays["y"] == np.arange(1000) * 0.5).all()


def test_steps_of_bytes_do_not_wait_for_each_key(tmp_path: Path) -> None:
    """For steps of so many bytes uproot reads the keys of all baskets, one by one: each of them
    was a round trip."""
    path = tmp_path / "many.root"
    baskets = 40
    numbers = np.random.default_rng(7).random((baskets, 5, 2000))
    with uproot.recreate(path) as file:
        tree = file.mktree("t", dict.fromkeys("abcde", "f8"))
        for basket in numbers:
            tree.extend(dict(zip("abcde", basket, strict=True)))
    with scripted(path.read_bytes()) as server:
        url = f"root://127.0.0.1:{server.port}//many.root"
        with through_farroot(url) as file:
            tree, before = file["t"], len(server.asked)
            sizes = [tree[name].basket_uncompressed_bytes(n) for name in "abe" for n in range(40)]
            asked = len(server.asked) - before
            steps = list(tree.iterate(["a", "b", "e"], step_size="400 kB", library="np"))
    for number, name in enumerate("abcde"):
        if name in "abe":
            whole = np.concatenate([step[name] for step in steps])
            assert (whole == numbers[:, number].reshape(-1)).all()
    assert len(steps) > 2
    assert all(16_000 <= size < 16_200 for size in sizes)
    assert asked < 10


def test_a_file_is_shared_and_held(served: str, made: Path, none_held: _held.Held) -> None:
    url = url_of(served, "root", made)
    one, other = through_farroot(url), through_farroot(url)
    assert one.file.source._lease.file is other.file.source._lease.file
    one.close()
    assert one.closed
    assert not other.closed
    assert len(other["events"].arrays(NAMES)) == 1000
    with pytest.raises(OSError, match="closed"):
        one.file.source.chunk(0, 10)
    held = other.file.source._lease.file
    other.close()
    assert through_farroot(url).file.source._lease.file is held


def test_what_is_held_is_let_go(
    served: str, made: Path, none_held: _held.Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = url_of(served, "root", made)
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    file = none_held.take(url)
    none_held.give_back(url, file)
    now += _limits.SECONDS_MAX
    assert none_held.take(url) is file
    now += 1000
    assert none_held.take(url) is file, "it is in use"
    none_held.give_back(url, file)
    none_held.give_back(url, file)
    now += _limits.SECONDS_MAX + 1
    again = none_held.take(url)
    assert again is not file
    none_held.forget(url, file)
    assert none_held.take(url) is again
    none_held.forget(url, again)
    assert none_held.take(url) is not again


def test_not_more_files_are_held_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_held, "FILES_MAX", 2)
    monkeypatch.setattr(_held, "WatchedFile", lambda url: object())
    held = _held.Held()
    files: dict[str, Any] = {url: held.take(url) for url in "abcd"}
    for url, file in files.items():
        held.give_back(url, file)
    kept = [url for url, file in files.items() if held.take(url) is file]
    assert kept == ["c", "d"]


def test_a_local_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "replaced.root"
    for number in (1, 2):
        with uproot.recreate(path) as file:
            file["h"] = np.histogram(np.full(number, 0.5))
        opened = through_farroot(path)
        assert opened["h"].values().sum() == number
        assert isinstance(opened.file.source._lease.file, ByteFile)


def test_a_source_goes_to_other_processes(served: str, made: Path) -> None:
    with through_farroot(url_of(served, "root", made)) as file:
        branch = pickle.loads(pickle.dumps(file["events"]["int32"]))
        assert same_awkward(branch.array(), file["events"]["int32"].array())


def test_columns_are_remembered_when_a_process_ends(
    served: str, made: Path, tmp_path: Path
) -> None:
    """Nothing is closed. The gain of the next process is counted in virtual time."""
    script = (
        "import sys, farroot, uproot\n"
        # So that the file's metadata are stored before uproot reads.
        "farroot.open(sys.argv[1] + ':events')\n"
        "tree = uproot.open(sys.argv[1], handler=farroot.Source)['events']\n"
        "print(tree.arrays(sys.argv[2:], entry_stop=300, library='np')['int32'].sum())\n"
    )
    command = [sys.executable, "-c", script, url_of(served, "root", made), *NAMES]
    store = {"FARROOT_STORE": "10 MB", "FARROOT_STORE_FOLDER": str(tmp_path)}
    done = subprocess.run(
        command, env=os.environ | store, capture_output=True, text=True, check=True
    )
    with uproot.open(made) as file:
        expected = file["events"]["int32"].array(entry_stop=300, library="np").sum()
    assert int(done.stdout) == expected
    notes = [path.read_bytes() for path in (tmp_path / "farroot-profiles").iterdir()]
    assert any(all(f'"{name}"'.encode() in note for name in NAMES) for note in notes), notes


def test_what_is_missing_or_no_root_file_is_said(served: str, made: Path, tmp_path: Path) -> None:
    for url in (f"root://{served}//missing", f"http://{served}/missing", tmp_path / "missing"):
        with pytest.raises(FileNotFoundError, match="missing"):
            through_farroot(url)
    short = tmp_path / "short.root"
    short.write_bytes(b"short")
    with pytest.raises((OSError, ValueError)):
        through_farroot(short)


def test_a_read_that_fails_raises_in_uproot(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranges are waited for in a thread of their own, whose errors would be lost."""
    with through_farroot(made) as file:
        tree = file["events"]

        def failing(ranges: Any) -> Iterator[Any]:
            yield from reading(ranges[:1])
            raise farroot.ChangedError("another file")

        lease = file.file.source._lease
        reading = lease.begin
        monkeypatch.setattr(lease, "begin", failing)
        with pytest.raises(farroot.ChangedError):
            tree.arrays(NAMES)
