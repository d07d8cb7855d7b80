"""Servers that are within their rights, or nearly so, and unlike others."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import farroot
import farroot.fsspec

from .skips import need_xrootd
from .test_remote import running_xrootd, serving

CONTENT = bytes(range(251)) * 20_000


class Asked(BaseHTTPRequestHandler):
    """A request, answered by the function that the server was started with."""

    protocol_version = "HTTP/1.1"
    answers: Callable[[Asked], None]

    def do_GET(self) -> None:
        type(self).answers(self)

    def do_HEAD(self) -> None:
        type(self).answers(self)

    def do_PROPFIND(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).answers(self)

    def log_message(self, *_: Any) -> None:
        pass

    def range(self, size: int) -> tuple[int, int] | None:
        """The first range that is asked for."""
        said = self.headers.get("Range")
        if said is None:
            return None
        first, _, last = said.removeprefix("bytes=").split(",")[0].partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1)

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def content(self, total: Callable[[int, int], str] | None = None) -> None:
        """The content, or a range of it with the size that ``total`` says."""
        wanted = self.range(len(CONTENT))
        if wanted is None:
            return self.send(200, CONTENT, ETag='"1"')
        first, end = wanted
        size = total(first, end) if total else str(len(CONTENT))
        where = f"bytes {first}-{end - 1}/{size}"
        return self.send(206, CONTENT[first:end], ETag='"1"', Content_Range=where)


@contextmanager
def answering(answers: Callable[[Any], None]) -> Iterator[str]:
    """A server on loopback; gives ``http://host:port``."""
    handler = type("Handler", (Asked,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def test_an_open_outlives_a_moment_without_answers(tmp_path: Path) -> None:
    """As where a node is killed, and the next one of its name answers a little later.

    Regression: the connections that the dead one had left used up the tries of an open at once.
    """
    begun: list[float] = []

    def answers(request: Asked) -> None:
        begun.append(time.monotonic())
        if begun[-1] > begun[0] + 0.25:
            return request.content()
        request.close_connection = True
        return None

    with answering(answers) as server:
        farroot.copy(f"{server}/f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "total", [lambda first, end: str(end - first), lambda first, end: "*"], ids=["own", "star"]
)
def test_a_size_that_looks_like_the_request_is_proven(tmp_path: Path, total: Any) -> None:
    """XrdHttp up to 4.8.5 sent ``bytes 0-0/1``: a copy was one byte long and called complete."""
    target = tmp_path / "copy"
    with answering(lambda asked: asked.content(total)) as url:
        farroot.copy(f"{url}/f.bin", target)
    assert target.read_bytes() == CONTENT


def test_a_short_file_is_as_long_as_the_request(tmp_path: Path) -> None:
    with answering(
        lambda asked: (
            asked.send(206, b"x", Content_Range="bytes 0-0/1")
            if asked.headers.get("Range")
            else asked.send(200, b"x")
        )
    ) as url:
        (copied,) = farroot.copy(f"{url}/f.bin", tmp_path / "copy")
    assert (copied.size, (tmp_path / "copy").read_bytes()) == (1, b"x")


@pytest.mark.parametrize("status", [503, 429])
@pytest.mark.parametrize("pause", [None, "1"])
def test_a_server_of_few_requests_at_a_time_gets_fewer(
    tmp_path: Path, status: int, pause: str | None
) -> None:
    """``limit_conn 2``: fourteen of sixteen connections were refused, five times, and the copy was
    given up after 1.5 s though two of them went on bringing bytes.
    """
    room = threading.BoundedSemaphore(2)
    refused = []

    def answers(asked: Asked) -> None:
        if not room.acquire(blocking=False):
            refused.append(time.monotonic())
            wait = {"Retry_After": pause} if pause else {}
            return asked.send(status, b"too many", **wait)
        try:
            time.sleep(0.05)
            return asked.content()
        finally:
            room.release()

    with answering(answers) as url:
        farroot.copy(f"{url}/f.bin", tmp_path / "copy")
        text = str(farroot.report())
    assert (tmp_path / "copy").read_bytes() == CONTENT
    assert refused
    assert "fewer at a time" in text


def test_an_address_that_expires_is_asked_for_anew(tmp_path: Path) -> None:
    """A door leads to an address that is good for a time: the read ended with it."""
    led, served = [0], [0]

    def answers(asked: Asked) -> None:
        if asked.path == "/door":
            led[0] += 1
            return asked.send(302, Location=f"/data?key={led[0]}")
        is_first = asked.path == "/data?key=1"
        served[0] += is_first
        if is_first and served[0] > 2:
            return asked.send(403, b"Request has expired")
        return asked.content()

    with answering(answers) as url:
        farroot.copy(f"{url}/door", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT
    assert led[0] > 1
    assert served[0] > 2


def test_an_address_that_never_serves_is_refused(tmp_path: Path) -> None:
    def answers(asked: Asked) -> None:
        if asked.path.startswith("/door"):
            return asked.send(302, Location="/data")
        return asked.send(403, b"no")

    with answering(answers) as url, pytest.raises(PermissionError):
        farroot.copy(f"{url}/door", tmp_path / "copy")


def of_nodes(asked: Any, says: Callable[[int], dict[str, str]]) -> None:
    """An answer with what the node says that the request reaches: one after the other."""
    asked.server.requests = number = getattr(asked.server, "requests", 0) + 1
    wanted = asked.range(len(CONTENT))
    first, end = wanted or (0, len(CONTENT))
    more = {"Content_Range": f"bytes {first}-{end - 1}/{len(CONTENT)}"} if wanted else {}
    asked.send(206 if wanted else 200, CONTENT[first:end], **more, **says(number))


TIME = "Mon, 01 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize("mark", ["", "W/"], ids=["strong", "weak"])
def test_etags_that_differ_by_node_are_refused_and_why(tmp_path: Path, mark: str) -> None:
    """Apache's ETag has the inode, which is another one on each machine behind a name."""

    def answers(asked: Any) -> None:
        of_nodes(asked, lambda number: {"ETag": f'{mark}"{number % 2}"', "Last_Modified": TIME})

    with answering(answers) as url:
        for read in (
            lambda: farroot.copy(f"{url}/f.bin", tmp_path / "copy"),
            lambda: farroot.open_bytes(f"{url}/f.bin").read([(0, 10), (4_000_000, 4_000_010)]),
        ):
            with pytest.raises(farroot.ChangedError, match="several servers under one name"):
                read()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("of_whole", [True, False], ids=["whole answers", "ranges"])
def test_an_etag_of_some_kinds_of_answers_alone(tmp_path: Path, of_whole: bool) -> None:
    """HEAD, and an answer with the whole file, have one, and ranges none; or the other way."""

    def answers(asked: Any) -> None:
        has_one = of_whole != (asked.headers.get("Range") is not None)
        of_nodes(asked, lambda _: {"ETag": '"1"', "Last_Modified": TIME} if has_one else {})

    with answering(answers) as url:
        farroot.copy(f"{url}/f.bin", tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == CONTENT
        files = farroot.fsspec.FileSystem(skip_instance_cache=True)
        assert files.info(f"{url}/f.bin")["size"] == len(CONTENT)
        assert files.cat(f"{url}/f.bin") == CONTENT


@pytest.mark.parametrize(
    "total", [lambda first, end: str(end - first), lambda first, end: "*"], ids=["own", "star"]
)
def test_a_proof_of_the_size_proves_the_size_alone(tmp_path: Path, total: Any) -> None:
    """The file "has changed", since the HEAD that its size was proven by had an ETag."""

    def answers(asked: Any) -> None:
        wanted = asked.range(len(CONTENT))
        if wanted is None:
            asked.send(200, CONTENT, ETag='"1"', Last_Modified=TIME)
        else:
            first, end = wanted
            where = f"bytes {first}-{end - 1}/{total(first, end)}"
            asked.send(206, CONTENT[first:end], Content_Range=where)

    with answering(answers) as url:
        farroot.copy(f"{url}/f.bin", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


def test_a_late_proof_of_the_size_takes_no_version_away(made: Path) -> None:
    """Regression: the file "had version 1, and now has none" where a range was answered between the
    request for the size and its answer."""
    content = made.read_bytes()

    def answers(asked: Any) -> None:
        wanted = asked.range(len(content))
        if wanted is None:
            time.sleep(0.1)
            asked.send(200, content, ETag='"1"')
        else:
            first, end = wanted
            # The end of the file is answered while its size is asked for at the beginning.
            time.sleep(0.05 if first else 0)
            where = f"bytes {first}-{end - 1}/*"
            asked.send(206, content[first:end], ETag='"1"', Content_Range=where)

    with answering(answers) as url:
        assert farroot.open(f"{url}/f.root:events").num_entries == 1000


def metalink(folder: Path, url: str, name: str = "dir/f.bin", **hashes: str) -> Path:
    lines = "".join(f'<hash type="{kind}">{value}</hash>' for kind, value in hashes.items())
    document = folder / "x.meta4"
    document.write_text(
        '<metalink xmlns="urn:ietf:params:xml:ns:metalink">'
        f'<file name="{name}">{lines.replace("sha256", "sha-256")}<url>{url}</url></file>'
        "</metalink>"
    )
    return document


SUMS = {
    "adler32": f"{zlib.adler32(CONTENT):08x}",
    "crc32": f"{zlib.crc32(CONTENT):08x}",
    "md5": hashlib.md5(CONTENT).hexdigest(),
    "sha256": hashlib.sha256(CONTENT).hexdigest(),
}


@pytest.mark.parametrize("kind", SUMS)
def test_hashes_of_a_metalink_are_compared(tmp_path: Path, kind: str) -> None:
    """A damaged replica was taken, even with ``verify``: the Metalink's hash was not compared."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "f").write_bytes(CONTENT)
    with serving(folder, "--writable") as host:
        good = metalink(tmp_path, f"root://{host}//f", **SUMS)
        (copied,) = farroot.copy(good, f"{tmp_path}/out/")
        assert Path(copied.target) == tmp_path / "out" / "f.bin"
        farroot.copy(good, f"root://{host}//up/", in_place=True)
        assert (folder / "up" / "f.bin").read_bytes() == CONTENT
        wrong = {**SUMS, kind: f"{int(SUMS[kind], 16) ^ 1:0{len(SUMS[kind])}x}"}
        bad = metalink(tmp_path, f"root://{host}//f", **wrong)
        for target in (f"{tmp_path}/bad", f"root://{host}//bad"):
            with pytest.raises(farroot.CorruptError, match="the Metalink says"):
                farroot.copy(bad, target)
        with subprocess.Popen(
            [sys.executable, "-m", "farroot", "cp", str(bad), "-"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as poured:
            assert b"the Metalink says" in poured.communicate()[1]
            assert poured.returncode
        assert not any((where / "bad").exists() for where in (tmp_path, folder))


def test_a_metalink_is_not_replaced_by_its_file(tmp_path: Path) -> None:
    """``cp -f x.meta4 .`` wrote the data under the name of the Metalink."""
    (tmp_path / "data").write_bytes(CONTENT)
    with serving(tmp_path) as host:
        document = metalink(tmp_path, f"root://{host}//data")
        before = document.read_text()
        farroot.copy(document, tmp_path, overwrite=True)
        assert (tmp_path / "f.bin").read_bytes() == CONTENT
        with pytest.raises(farroot.InvalidArgumentError, match="replace itself"):
            farroot.copy(document, document, overwrite=True)
        with pytest.raises(farroot.InvalidArgumentError, match="replace itself"):
            farroot.copy(tmp_path / "data", tmp_path / "data", overwrite=True)
    assert document.read_text() == before


def test_a_server_that_wants_a_login_is_asked_behind_it(tmp_path: Path, made: Path) -> None:
    """The first listing, pattern or checksum that a process asked such a server for failed."""
    need_xrootd()
    login = "xrootd.seclib libXrdSec.so\nsec.protocol unix\nxrootd.chksum max 2 adler32\n"
    with running_xrootd(made.parent, tmp_path, more=login) as host:
        script = (
            "import sys, farroot, farroot.fsspec\n"
            "host, name, target, call = sys.argv[1:]\n"
            "farroot.config(store=0)\n"
            "match call:\n"
            "    case 'ls': farroot.fsspec.FileSystem().ls(f'root://{host}//')\n"
            "    case 'glob': assert farroot.num_entries(f'root://{host}//{name[:-1]}*:events')\n"
            "    case 'verify': farroot.copy(f'root://{host}//{name}', target, verify=True)\n"
        )
        for call in ("ls", "glob", "verify"):
            command = [sys.executable, "-c", script, host, made.name, f"{tmp_path}/{call}", call]
            subprocess.run(command, check=True)
