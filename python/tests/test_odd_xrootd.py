"""XRootD servers that send clients on: to places that are good for a time, with a word for the
login, and real redirectors with real servers behind them."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import farroot
from farroot import _core
from farroot.fsspec import FileSystem

from .conftest import write
from .scripted_xrootd import (
    MANAGER,
    NOT_AUTHORIZED,
    NOT_FOUND,
    OK,
    Asked,
    answer,
    error,
    redirect,
    scripted,
)
from .skips import need_xrootd
from .test_remote import _free_port, _wait_for, folder_of_sockets, open_to_others

CONTENT = bytes(range(251)) * 40_000


class Pool:
    """Answers opens with a key that the door has given; the first is good for so many reads.

    The door is asked for no other place than one that has served: the key lasts until the client
    has bytes of the file, too.
    """

    def __init__(self, reads: int, code: int, ends: bool) -> None:
        self.reads, self.code, self.ends = reads, code, ends
        self.served: dict[str, int] = {}
        self.key: dict[int, str] = {}
        self.lock = threading.Lock()
        self.has_bytes = threading.Event()

    def told(self, now: farroot.Progress) -> None:
        if now.bytes:
            self.has_bytes.set()

    def __call__(self, asked: Asked) -> bytes | None:
        if asked.name == "open":
            key = asked.text.rpartition("key=")[2].split("&")[0].strip("\0")
            if key == "1" and self.served.get(key, 0) >= self.reads and self.has_bytes.is_set():
                return error(asked, self.code, "the request has expired")
            self.key[asked.connection] = key
        elif asked.name in ("read", "readv"):
            key = self.key.get(asked.connection, "1")
            with self.lock:
                self.served[key] = count = self.served.get(key, 0) + 1
            # The client says every tenth of a second how much it has.
            if key == "1" and count > self.reads and self.has_bytes.wait(1):
                # A pool that ends the session, or one that refuses the read itself.
                return b"" if self.ends else error(asked, self.code, "the request has expired")
        return None


@pytest.mark.parametrize("code", [NOT_AUTHORIZED, NOT_FOUND])
@pytest.mark.parametrize("ends", [True, False], ids=["session ends", "read is refused"])
def test_a_pool_that_expires_is_asked_for_anew(tmp_path: Path, code: int, ends: bool) -> None:
    """A door of dCache leads to a pool with a key that is good for a time: the copy ended with it,
    though the door would have given another."""
    keys = itertools.count(1)

    def door(asked: Asked) -> bytes | None:
        if asked.name in ("open", "stat", "locate"):
            return redirect(asked, f"127.0.0.1?key={next(keys)}", pool.port)
        return None

    answers = Pool(3, code, ends)
    with scripted(CONTENT, answers) as pool, scripted(b"", door, MANAGER) as server:
        url = f"root://127.0.0.1:{server.port}//f.bin"
        farroot.copy(url, tmp_path / "copy", progress=answers.told)
    assert (tmp_path / "copy").read_bytes() == CONTENT
    assert len(server.named("open")) > 1
    assert answers.served["1"] > 3


def test_a_pool_that_never_serves_is_refused(tmp_path: Path) -> None:
    """The door is asked once more, not for ever."""
    led = [0]

    def door(asked: Asked) -> bytes | None:
        led[0] += asked.name == "open"
        is_file = asked.name in ("open", "stat", "locate")
        return redirect(asked, "127.0.0.1", pool.port) if is_file else None

    def refuses(asked: Asked) -> bytes | None:
        return error(asked, NOT_AUTHORIZED, "no") if asked.name == "open" else None

    with (
        scripted(CONTENT, refuses) as pool,
        scripted(b"", door, MANAGER) as server,
        pytest.raises(PermissionError, match="no"),
    ):
        farroot.copy(f"root://127.0.0.1:{server.port}//f.bin", tmp_path / "copy")
    assert led[0] < 10


def test_the_login_part_of_a_redirection_goes_into_the_login(made: Path, tmp_path: Path) -> None:
    """``host?opaque?login``: the last part went into the opens, and not into the login."""

    def door(asked: Asked) -> bytes | None:
        if asked.name in ("open", "stat", "locate", "dirlist", "query"):
            return redirect(asked, "127.0.0.1?a=b?WORD", data.port)
        return None

    def wants_word(asked: Asked) -> bytes | None:
        if asked.name == "login" and b"WORD" not in asked.data:
            return error(asked, NOT_AUTHORIZED, "no word")
        if asked.name == "dirlist":
            return asked.stream + b"\0\0" + len(b"one\ntwo\0").to_bytes(4) + b"one\ntwo\0"
        return None

    with scripted(made.read_bytes(), wants_word) as data, scripted(b"", door, MANAGER) as server:
        url = f"root://127.0.0.1:{server.port}//store/f.root?q=1"
        # A process of its own has no session with the server.
        script = (
            "import sys, farroot\n"
            "farroot.config(store=0)\n"
            "print(farroot.open({sys.argv[1]: 'events'})['int32'].array(library='np').sum())\n"
        )
        for command in (
            ["-c", script, url],
            ["-m", "farroot", "cp", "-f", url, str(tmp_path / "f.root")],
            ["-m", "farroot", "ls", f"root://127.0.0.1:{server.port}//store/"],
        ):
            data.asked.clear()
            done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
            assert done.returncode == 0, (command, done.stderr)
            assert all(b"WORD" in login.data for login in data.named("login"))
            assert not any(b"WORD" in opened.data for opened in data.named("open"))
            assert all(b"a=b" in opened.data for opened in data.named("open"))
    assert (tmp_path / "f.root").read_bytes() == made.read_bytes()


# --- Real redirectors: cmsd keeps a cluster together, and xrootd serves.

#: What each of two servers has; `both.root` is on both.
ON_SERVERS = {
    "a": ("one.root", "both.root", "deep/three.root"),
    "b": ("two.root", "both.root", "deep/er/four.root"),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``root://host:port`` of a redirector of two servers."""
    need_xrootd()
    if shutil.which("cmsd") is None:
        pytest.skip("THERE IS NO cmsd: not tested behind a redirector (apt install xrootd-server)")
    top = tmp_path_factory.mktemp("cluster")
    for number, (server, names) in enumerate(ON_SERVERS.items()):
        for name in names:
            path = top / server / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == "both.root" and number:
                shutil.copy(top / "a/data/both.root", path)
            else:
                write(path, len(name), 100)
    with running_cluster(top) as host:
        yield f"root://{host}"


@contextmanager
def running_cluster(top: Path) -> Iterator[str]:
    with folder_of_sockets() as own:
        yield from _clustered(top, own)


def _clustered(top: Path, own: Path) -> Iterator[str]:
    manager, cms = _free_port(), _free_port()
    base = (
        f"all.export /data\nall.adminpath {own}\nall.pidpath {own}\n"
        f"all.manager 127.0.0.1:{cms}\ncms.delay startup 2 servers 2 lookup 2\n"
        "cms.allow host *\nxrd.network nodnr\ncms.space linger 0 recalc 15 min 1m 2m\n"
    )
    manage = f"all.role manager\nxrd.port {manager}\nif exec cmsd\nxrd.port {cms}\nfi\n"
    (top / "manager.cfg").write_text(base + manage)
    for server in ON_SERVERS:
        serve = f"all.role server\nxrd.port any\noss.localroot {top / server}\n"
        (top / f"{server}.cfg").write_text(base + serve)
    open_to_others(top)
    for path in (top, *top.rglob("*")):
        path.chmod(path.stat().st_mode | 0o777)
    user = ["-R", "nobody"] if top.owner() == "root" else []
    processes = [
        subprocess.Popen(
            # The name is of this cluster alone, as in `running_xrootd`.
            [
                *(program, *user, "-n", f"{own.name}-{node}"),
                *("-c", f"{top}/{node}.cfg", "-l", f"{top}/{program}.log"),
            ],
            cwd=top,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for node in ("manager", *ON_SERVERS)
        for program in ("cmsd", "xrootd")
    ]
    try:
        _wait_for(manager, processes[1])
        host = f"127.0.0.1:{manager}"
        _until_known(f"root://{host}//data/both.root")
        yield host
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _until_known(url: str) -> None:
    """Waits until the redirector knows both servers."""
    from farroot import _core

    deadline = time.monotonic() + 60
    said: object = None
    while time.monotonic() < deadline:
        try:
            said = _core.listed(url.rpartition("/")[0] + "/")
        except farroot.Error as error:
            said = error
        else:
            if len(said) == 4:
                return
        time.sleep(0.5)
    pytest.fail(f"the redirector does not know its servers: {said}")


def test_files_of_all_servers_are_opened_behind_a_redirector(cluster: str) -> None:
    for names in ON_SERVERS.values():
        for name in names:
            assert farroot.open(f"{cluster}//data/{name}:events").num_entries == 100
    with pytest.raises(FileNotFoundError):
        farroot.open(f"{cluster}//data/none.root")


def test_lists_behind_a_redirector_are_those_of_all_servers(cluster: str, tmp_path: Path) -> None:
    """The list was that of one server, or "no such file or directory"."""
    expected = sorted({name for names in ON_SERVERS.values() for name in names})
    from farroot import _core

    assert _core.matching(f"{cluster}//data/**/*.root") == [
        f"{cluster}//data/{name}" for name in expected
    ]
    files = FileSystem(skip_instance_cache=True)
    names = [each.rpartition("//data/")[2] for each in files.find(f"{cluster}//data/")]
    assert sorted(names) == expected
    assert files.isdir(f"{cluster}//data/deep")
    assert not files.exists(f"{cluster}//data/none")
    counted = farroot.num_entries(f"{cluster}//data/*.root:events")
    assert [entries for _, _, entries in counted] == [100] * 3
    command = [sys.executable, "-m", "farroot", "ls", f"{cluster}//data/"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(name in shown for name in ("one.root", "two.root", "both.root", "deep"))
    assert shown.count("both.root") == 1
    command = [sys.executable, "-m", "farroot", "cp", "-r", f"{cluster}//data", f"{tmp_path}/copy"]
    copied = subprocess.run(command, capture_output=True, text=True, check=False)
    assert copied.returncode == 0, copied.stderr
    found = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(tmp_path / "copy")) for path in found) == expected


@pytest.mark.parametrize("broken", [1, 9])
def test_a_listing_whose_connection_breaks_is_asked_for_again(broken: int) -> None:
    """A busy server resets a connection: a pattern was an error, where a read asks again."""

    def listed(asked: Asked) -> bytes | None:
        if asked.name != "dirlist":
            return None
        return b"" if asked.connection < broken else answer(asked, OK, b"a.root\nb.root\0")

    with scripted(b"", listed) as server:
        url = f"root://127.0.0.1:{server.port}//d"
        if broken == 1:
            assert _core.matching(f"{url}/*.root") == [f"{url}/a.root", f"{url}/b.root"]
        else:
            with pytest.raises(farroot.errors.ConnectionFailedError):
                _core.matching(f"{url}/*.root")
            assert len(server.named("dirlist")) < broken
