"""The same reads over XRootD and HTTP, from `farroot serve` and, where it is, a real xrootd."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import awkward as ak
import pytest

import farroot
from farroot import _core

from .same import same_awkward
from .skips import need_xrootd

NAMES = ["int32", "jagged", "text"]
#: How often one looks whether a server has begun, twenty times a second.
_LOOKS = 1200


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """``farroot serve`` in a process of its own; gives ``host:port`` for both protocols."""
    with started("serve", str(folder), *options) as host:
        yield host


@contextmanager
def started(*words: str, **settings: str) -> Iterator[str]:
    """A server of the command's in a process of its own; gives ``host:port``."""
    command = [sys.executable, "-m", "farroot", *words, "--port", "0"]
    environment = {**os.environ, **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = re.match(r"roots?://([^/]+)//", process.stdout.readline())
            assert address is not None
            yield address.group(1)
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def served(made: Path) -> Iterator[str]:
    with serving(made.parent) as host:
        yield host


@pytest.fixture(scope="module")
def real_xrootd(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_xrootd()
    with running_xrootd(made.parent, tmp_path_factory.mktemp("xrootd")) as host:
        yield host


@contextmanager
def running_xrootd(folder: Path, run: Path, is_http: bool = False, more: str = "") -> Iterator[str]:
    """A real xrootd that serves a folder; gives ``host:port``.

    Args:
        run: Where it keeps its own files.
        is_http: Whether the port is that of XrdHttp.
        more: Further lines of its configuration.
    """
    program = need_xrootd()
    with folder_of_sockets() as own:
        config = run / "xrootd.cfg"
        config.write_text(
            f"xrd.port any\nall.export /\noss.localroot {folder}\n"
            f"all.adminpath {own}\nall.pidpath {own}\nxrd.network nodnr\n"
            + ("xrd.protocol http libXrdHttp.so\n" if is_http else "")
            + more
        )
        # The server refuses to run as root. It runs as the user nobody, who needs the folders.
        run.chmod(0o777)
        open_to_others(folder)
        user = ["-R", "nobody"] if run.owner() == "root" else []
        # Servers write /tmp/xrootd.NAME.env: other tests, of another user, have other names.
        named = [program, *user, "-n", own.name]
        command = [*named, "-c", str(config), "-l", str(run / "log")]
        process, port = _started(command, run / own.name / "log")
        with process:
            try:
                yield f"127.0.0.1:{port}"
            finally:
                process.kill()


def _started(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A server that serves, and its port. Now and then xrootd crashes while it starts."""
    quiet = subprocess.DEVNULL
    for _ in range(5):
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
        try:
            if port := _port_of(log, process):
                return process, port
        except BaseException:
            process.kill()
            process.wait()
            raise
    pytest.fail("xrootd crashes whenever it is started")


def _port_of(log: Path, process: subprocess.Popen[bytes]) -> int | None:
    """The port that xrootd has taken, from its log; None if it crashed."""
    ready = re.compile(r"^-+ xrootd \S+:(\d+) initialization completed", re.MULTILINE)
    for _ in range(_LOOKS):
        text = log.read_text(errors="replace") if log.exists() else ""
        if found := ready.search(text):
            return int(found[1])
        if (process.poll() or 0) < 0:
            return None
        assert process.poll() is None, f"xrootd ended at once\n{text}"
        time.sleep(0.05)
    pytest.fail(f"xrootd does not begin to serve\n{text}")


@contextmanager
def folder_of_sockets() -> Iterator[Path]:
    """A folder for a server's sockets: for any user, and with a short path, as theirs have few
    letters. Its name is not used twice."""
    with tempfile.TemporaryDirectory(prefix="test-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        yield Path(name)


def open_to_others(folder: Path) -> None:
    """Lets other users read in a temporary folder, and enter those that lead there."""
    temporary = Path(tempfile.gettempdir()).resolve()
    for each in (folder, *folder.parents):
        if temporary in each.resolve().parents:
            each.chmod(each.stat().st_mode | 0o055)


def _free_port() -> int:
    """A port for a server that has to be told one.

    It is none of those that the kernel hands out: one of these may have another owner by the time
    at which the server listens.
    """
    handed_out = Path("/proc/sys/net/ipv4/ip_local_port_range")
    above = int(handed_out.read_text().split()[0]) if handed_out.exists() else 32768
    while True:
        port = 10_000 + secrets.randbelow(max(above, 20_000) - 10_000)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(_LOOKS):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, "the server ended at once"
        time.sleep(0.05)
    pytest.fail("the server does not listen")


def _reads_as_the_local_file(url: str, made: Path) -> None:
    local, tree = farroot.open(f"{made}:events"), farroot.open(f"{url}:events")
    assert isinstance(local, farroot.Tree)
    assert isinstance(tree, farroot.Tree)
    assert tree.typenames() == local.typenames()
    assert same_awkward(tree.arrays(), local.arrays())
    steps = list(tree.iterate(NAMES, step_size=70))
    assert same_awkward(ak.concatenate(steps), local.arrays(NAMES))
    ranged = tree.arrays(NAMES, entry_start=-300, entry_stop=-20)
    assert same_awkward(ranged, local.arrays(NAMES, entry_start=-300, entry_stop=-20))


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_served_files_read_as_local_ones(served: str, made: Path, scheme: str) -> None:
    slashes = "//" if scheme == "root" else "/"
    _reads_as_the_local_file(f"{scheme}://{served}{slashes}{made.name}", made)


def test_a_real_server(real_xrootd: str, made: Path) -> None:
    _reads_as_the_local_file(f"root://{real_xrootd}//{made.name}", made)


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_absent_remote_files(served: str, scheme: str) -> None:
    slashes = "//" if scheme == "root" else "/"
    with pytest.raises(FileNotFoundError, match=r"absent\.root") as absent:
        farroot.open(f"{scheme}://{served}{slashes}absent.root")
    assert isinstance(absent.value, farroot.NotFoundError)


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_many_remote_files(several: list[Path], scheme: str) -> None:
    slashes = "//" if scheme == "root" else "/"
    with serving(several[0].parent) as host:
        urls = [f"{scheme}://{host}{slashes}{path.name}" for path in several]
        files = dict.fromkeys(urls, "events")
        assert [entries for _, _, entries in farroot.num_entries(files)] == [300, 1, 500]
        ours = farroot.concatenate(files, NAMES)
    expected = farroot.concatenate({str(path): "events" for path in several}, NAMES)
    assert same_awkward(ours, expected)


def test_globs_on_a_server(several: list[Path]) -> None:
    folder = several[0].parent
    with serving(folder.parent) as host:
        where = f"root://{host}//{folder.name}"
        for pattern in ("part*.root", "part[012].root", "{part0,part1,part2}.root"):
            counted = farroot.num_entries(f"{where}/{pattern}:events")
            assert [entries for _, _, entries in counted] == [300, 1, 500], pattern
        assert len(farroot.concatenate(f"{where[:-1]}[0-9]/part*.root:events", "int8")) == 801
        with pytest.raises(FileNotFoundError, match=r"absent\*"):
            farroot.concatenate(f"{where}/absent*.root:events", "int8")
        assert (
            len(farroot.concatenate(f"http://{host}/{folder.name}/part*.root:events", "int8"))
            == 801
        )


def test_a_pattern_means_the_same_wherever_files_lie(tmp_path: Path, made: Path) -> None:
    """``**`` was one directory on servers and any number of them on a disk: fewer events, and no
    word. A file beside directories made a real xrootd refuse the whole pattern.
    """
    top = tmp_path / "store"
    for name in ("a/1.root", "b/2.root", "b/deep/er/3.root", "b/deep/4.txt", ".c/5.root", "6.root"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, top / name)
    (top / "README").write_text("hello")
    patterns = [
        "**/*.root",
        "*/*.root",
        "b/**/*.root",
        "**/deep/**/*.root",
        "*/2.root",
        "**/[34].*",
    ]
    patterns += ["{a,b}/*.root", "**/er/*.root", "*/absent.root", "README/*"]

    def found(where: str) -> dict[str, list[str]]:
        return {
            each: [name.partition("/store/")[2] for name in _core.matching(f"{where}/store/{each}")]
            for each in patterns
        }

    on_disk = found(str(tmp_path))
    assert on_disk["**/*.root"] == ["6.root", "a/1.root", "b/2.root", "b/deep/er/3.root"]
    assert on_disk["*/2.root"] == ["b/2.root"]
    assert on_disk["README/*"] == []
    with serving(tmp_path) as host:
        assert found(f"root://{host}/") == on_disk
    need_xrootd()
    (run := tmp_path / "run").mkdir()
    with running_xrootd(tmp_path, run) as host:
        assert found(f"root://{host}/") == on_disk


def test_globs_on_a_real_server(real_xrootd: str, made: Path) -> None:
    (found,) = farroot.num_entries(f"root://{real_xrootd}//{made.stem[:-1]}*.root:events")
    assert found[0] == f"root://{real_xrootd}//{made.name}"


def test_the_report_names_servers_and_hides_secrets(served: str, made: Path) -> None:
    tree = farroot.open(f"http://user:hidden@{served}/{made.name}:events")
    assert isinstance(tree, farroot.Tree)
    tree.arrays("int32")
    report = tree.report()
    assert report["serial_round_trips"] >= 1
    assert any(served in source["name"] for source in report["sources"])
    for shown in (str(report), repr(report), tree.url, repr(tree), tree.address):
        assert "hidden" not in shown
    with pytest.raises(farroot.KeyInFileError) as error:
        tree["absent"]
    assert "hidden" not in str(error.value)


def test_a_server_that_dies_is_an_error(made: Path) -> None:
    """One that has answered before is waited for, here for a second only."""
    script = (
        "import sys, farroot\n"
        "tree = farroot.open(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    tree.arrays('float64')\n"
        "except farroot.Error as error:\n"
        "    print(isinstance(error, ConnectionError), error.retryable)\n"
    )
    with serving(made.parent) as host:
        reader = subprocess.Popen(
            [sys.executable, "-c", script, f"root://{host}//{made.name}:events"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"FARROOT_RETRY_TIMEOUT": "1"},
        )
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
    said, _ = reader.communicate("go on\n", timeout=30)
    assert said == "True True\n"


def test_columns_cost_few_round_trips(made: Path) -> None:
    """Counted on a link of 40 ms: over XRootD, from the address to three columns."""
    script = (
        "import sys, farroot\n"
        "tree = farroot.open(sys.argv[1])\n"
        "tree.arrays(['int32', 'jagged', 'text'], library='np')\n"
        "print(tree.report()['serial_round_trips'])\n"
    )
    with serving(made.parent, "--rtt", "40ms") as host:
        url = f"root://{host}//{made.name}:events"
        done = subprocess.run(
            [sys.executable, "-c", script, url], capture_output=True, text=True, check=True
        )
    assert int(done.stdout) <= 5
