"""Entries that a server selects are those that are read here, bit for bit; and no client gets more
than it could read."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from . import differential_tables
from .test_remote import started

ENTRIES = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("near")
    random = np.random.default_rng(1)
    counts = random.integers(0, 4, ENTRIES)
    columns = {
        "i": np.arange(ENTRIES),
        "met": random.exponential(30, ENTRIES).astype(np.float32),
        "pt": ak.unflatten(random.exponential(20, counts.sum()), counts),
        "ok": random.random(ENTRIES) < 0.5,
        "p3": random.random((ENTRIES, 3)),
        "name": ak.Array([f"ü{number % 7}" for number in range(ENTRIES)]),
    }
    for name, make in (("tree", "mktree"), ("ntuple", "mkrntuple")):
        with farroot.recreate(folder / f"{name}.root") as file:
            table = getattr(file, make)("t", {key: ak.type(each) for key, each in columns.items()})
            for start in range(0, ENTRIES, 2500):
                table.extend({key: each[start : start + 2500] for key, each in columns.items()})
    (folder / ".hidden").mkdir()
    shutil.copy(folder / "tree.root", folder / ".hidden/secret.root")
    return folder


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[str]:
    with started("serve", str(folder), "--select") as host:
        yield host


def notes(table: Any) -> str:
    return "\n".join(table.report()["notes"])


def same(one: Any, other: Any) -> None:
    assert ak.array_equal(one, other, equal_nan=True, dtype_exact=True, check_parameters=True)


@pytest.mark.parametrize("name", ["tree", "ntuple"])
@pytest.mark.parametrize("scheme", ["root", "http"])
def test_what_is_selected_there_is_what_is_read_here(
    folder: Path, host: str, name: str, scheme: str
) -> None:
    here = farroot.open(f"{folder}/{name}.root:t")
    slash = "//" if scheme == "root" else "/"
    there = farroot.open(f"{scheme}://{host}{slash}{name}.root:t", near=True)
    ranges: list[dict[str, Any]] = [
        {},
        {"entry_start": 777, "entry_stop": 15_001},
        {"entry_stop": 0},
    ]
    for cut in (None, "met > 100", "met < 0", "(i % 97 == 3) & ok", "met >= 0"):
        for ends in ranges:
            same(there.arrays(cut=cut, **ends), here.arrays(cut=cut, **ends))
        sizes: tuple[Any, ...] = (3000, "200 kB")
        for step in sizes:
            one = list(there.iterate(["pt", "name", "p3"], cut=cut, step_size=step))
            other = list(here.iterate(["pt", "name", "p3"], cut=cut, step_size=step))
            assert list(map(len, one)) == list(map(len, other))
            for mine, yours in zip(one, other, strict=True):
                same(mine, yours)
    same(there["met"].array(), here["met"].array())
    aliases = {"half": "met / 2"}
    for columns in ("half", ["half", "pt * 2", "i"]):
        one = there.arrays(columns, cut="half > 40", aliases=aliases)
        same(one, here.arrays(columns, cut="half > 40", aliases=aliases))
    assert "read here" not in notes(there)


@pytest.mark.parametrize("name", ["tree", "ntuple"])
@pytest.mark.parametrize("scheme", ["root", "http"])
def test_the_choice_gives_the_same_entries(folder: Path, host: str, name: str, scheme: str) -> None:
    here = farroot.open(f"{folder}/{name}.root:t")
    slash = "//" if scheme == "root" else "/"
    url = f"{scheme}://{host}{slash}{name}.root:t"
    for cut in (None, "met > 100", "met < 0", "(i % 97 == 3) & ok", "met >= 0"):
        # The second time it is known that the server selects, and how many entries are left.
        for _ in range(2):
            chosen = farroot.open(url, near="auto")
            same(chosen.arrays(cut=cut), here.arrays(cut=cut))
            one = list(chosen.iterate(["pt", "name"], cut=cut, step_size=3000))
            same(ak.concatenate(one), here.arrays(["pt", "name"], cut=cut))
            assert cut is None or "entries are selected" in notes(chosen)
    histogram = farroot.open(url, near="auto").histogram("met", (50, 0, 200), cut="i > 10")
    assert histogram == here.histogram("met", (50, 0, 200), cut="i > 10")
    assert farroot.config(near="auto")["near"] == "auto"
    assert farroot.config(near=False)["near"] == "off"


def test_a_server_that_has_not_said_that_it_selects_is_not_asked(folder: Path) -> None:
    here = farroot.open(f"{folder}/tree.root:t").arrays(cut="met > 100")
    with started("serve", str(folder)) as host, cutting(host, 1.0) as server:
        table = farroot.open(
            f"http://127.0.0.1:{server.server_address[1]}/tree.root:t", near="auto"
        )
        same(table.arrays(cut="met > 100"), here)
        assert server.selects == 0
        assert "no server has said that it selects" in notes(table)


def test_a_skim_transfers_a_part_of_the_bytes(folder: Path, tmp_path: Path, host: str) -> None:
    far = farroot.open(f"http://{host}/tree.root:t")
    before = farroot.report()["bytes_received"]
    far.arrays(["pt", "met"], cut="met > 200")
    between = farroot.report()["bytes_received"]
    near = farroot.open(f"http://{host}/tree.root:t", near=True)
    opened = farroot.report()["bytes_received"]
    near.arrays(["pt", "met"], cut="met > 200")
    after = farroot.report()["bytes_received"]
    assert after - opened < (between - before) / 3
    assert near.arrays(cut="met > 200").fields == near.keys()


def test_the_setting_selects_for_all_files(folder: Path, host: str) -> None:
    program = (
        "import farroot, sys\n"
        "table = farroot.open(sys.argv[1])\n"
        "print(len(table.arrays('i', cut='met > 100')), table.report()['notes'])\n"
    )
    environment = os.environ | {"FARROOT_NEAR": "on"}
    url = f"http://{host}/tree.root:t"
    ran = subprocess.run(
        [sys.executable, "-c", program, url], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "read here" not in ran.stdout
    assert farroot.config(near=True)["near"] == "on"
    assert farroot.config(near=False)["near"] == "off"
    with pytest.raises(farroot.InvalidArgumentError, match="near"):
        farroot.open(url, near="root://x")
    with pytest.raises(farroot.ArgumentTypeError, match="near"):
        farroot.open(url, near=1)  # type: ignore[call-overload]


def test_a_server_that_does_not_select_is_read_from(folder: Path) -> None:
    here = farroot.open(f"{folder}/tree.root:t").arrays(cut="met > 100")
    with started("serve", str(folder)) as host:
        table = farroot.open(f"root://{host}//tree.root:t", near=True)
        same(table.arrays(cut="met > 100"), here)
        assert "does not select" in notes(table)


def test_a_proxy_selects_of_files_that_are_far(folder: Path) -> None:
    here = farroot.open(f"{folder}/ntuple.root:t").arrays(cut="met > 100")
    with started("serve", str(folder)) as host, started("proxy", "--select") as proxy:
        for url in (f"root://{host}//ntuple.root", f"http://{host}/ntuple.root"):
            table = farroot.open(f"{url}:t", near=f"http://{proxy}")
            same(table.arrays(cut="met > 100"), here)
            assert "read here" not in notes(table)
        table = farroot.open(f"root://{proxy}//root://{host}//ntuple.root:t", near=True)
        same(table.arrays(cut="met > 100"), here)
        assert "read here" not in notes(table)
        text = asked(proxy, "GET", "/metrics")[1].decode()
        selected = re.search(r'select_entries_total{entry="selected"} (\d+)', text)
        assert selected is not None
        assert int(selected.group(1)) == 3 * len(here)


# --- A failure in the middle


class Cutting(BaseHTTPRequestHandler):
    """Passes requests on to a server, and ends answers to `/select` after some bytes."""

    server: Any
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection(self.server.upstream)
        passed = ("Range", "Accept-Encoding")
        kept = {key: self.headers[key] for key in passed if key in self.headers}
        with closing(upstream):
            upstream.request(self.command, self.path, body=body or None, headers=kept)
            answer = upstream.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for key in ("Content-Type", "Content-Encoding", "Content-Range", "ETag", "Accept-Ranges"):
            if answer.headers.get(key):
                self.send_header(key, answer.headers[key])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.path == "/select":
            self.server.selects += 1
            self.wfile.write(content[: int(len(content) * self.server.share)])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_HEAD = _pass_on  # noqa: N815

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def cutting(upstream: str, share: float) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    server.upstream, server.share, server.selects = upstream, share, 0
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("name", ["tree", "ntuple"])
def test_a_server_that_is_gone_is_continued_for(
    folder: Path, host: str, name: str, share: float
) -> None:
    here = farroot.open(f"{folder}/{name}.root:t")
    with cutting(host, share) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/{name}.root:t"
        there = farroot.open(url, near=True)
        for cut in (None, "met > 60", "i % 3 == 0"):
            same(there.arrays(cut=cut), here.arrays(cut=cut))
            steps = list(there.iterate(["pt", "i"], cut=cut, step_size=1999))
            assert list(map(len, steps)) == [
                len(each) for each in here.iterate(["pt", "i"], cut=cut, step_size=1999)
            ]
            same(ak.concatenate(steps), here.arrays(["pt", "i"], cut=cut))
        assert server.selects == 6
        assert "read here" in notes(there)


def test_a_changed_file_is_not_mixed_with_the_opened_one(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "tree.root", tmp_path / "f.root")
    with started("serve", str(tmp_path), "--select") as host:
        table = farroot.open(f"http://{host}/f.root:t", near=True)
        (tmp_path / "f.root").unlink()
        shutil.copy(folder / "ntuple.root", tmp_path / "f.root")
        with pytest.raises(farroot.Error):
            table.arrays(["i"], cut="met > 100")


# --- Requests of any program


def asked(
    host: str, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, bytes, Any]:
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def select(host: str, **request: Any) -> tuple[int, bytes]:
    status, content, _ = asked(host, "POST", "/select", json.dumps(request).encode())
    return status, content


def test_curl_gets_a_stream_of_arrow(folder: Path, host: str) -> None:
    pa = pytest.importorskip("pyarrow")
    here = farroot.open(f"{folder}/tree.root:t")
    request = {
        "files": ["/tree.root"],
        "table": "t",
        "columns": ["i", "pt", "twice", "met + 1"],
        "define": {"twice": "met * 2"},
        "cut": "twice > 300",
    }
    query = urllib.parse.urlencode({"request": json.dumps(request)})
    if shutil.which("curl"):
        ran = subprocess.run(["curl", "-sf", f"http://{host}/select?{query}"], capture_output=True)
        content = ran.stdout
    else:
        content = asked(host, "GET", f"/select?{query}")[1]
    table = pa.ipc.open_stream(content).read_all()
    expected = here.arrays(["i", "pt", "met"], cut="met * 2 > 300")
    assert table.column_names == ["i", "pt", "twice", "met + 1"]
    assert table.column("i").to_pylist() == expected.i.tolist()
    assert table.column("pt").to_pylist() == expected.pt.tolist()
    assert table.column("twice").to_pylist() == (expected.met * 2).tolist()
    files = [{"file": "/tree.root", "table": "t"}, {"file": "/ntuple.root", "table": "t"}]
    both = select(host, files=files, columns=["i"], cut="met > 100")[1]
    assert pa.ipc.open_stream(both).read_all().num_rows == 2 * len(
        here.arrays("i", cut="met > 100")
    )


def test_an_answer_is_compressed_as_the_client_wants(folder: Path, host: str) -> None:
    pa = pytest.importorskip("pyarrow")
    request = {"files": ["/tree.root"], "table": "t", "columns": ["i", "pt", "name"]}
    lengths = {}
    for compression in (None, "zstd", "none"):
        for coding in ("gzip", "br, zstd"):
            chosen = {"compression": compression} if compression else {}
            body = json.dumps({**request, **chosen}).encode()
            headers = {"Accept-Encoding": coding}
            status, content, head = asked(host, "POST", "/select", body, **headers)
            assert status == 200
            is_coded = compression == "none" and "zstd" in coding
            assert head["Content-Encoding"] == ("zstd" if is_coded else None)
            lengths[compression, coding] = len(content)
            stream = pa.input_stream(
                pa.BufferReader(content), compression="zstd" if is_coded else None
            )
            table = pa.ipc.open_stream(stream).read_all()
            assert table.column("i").to_pylist() == list(range(ENTRIES))
    assert lengths[None, "gzip"] == lengths["zstd", "gzip"] < lengths["none", "gzip"]
    assert lengths["none", "br, zstd"] < lengths["none", "gzip"]


def raw(host: str, request: dict[str, Any], *lines: str) -> bytes:
    """All that a server answers, until it closes the connection."""
    body = json.dumps(request).encode()
    head = ["POST /select HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    name, _, port = host.rpartition(":")
    with socket.create_connection((name, int(port)), timeout=30) as client:
        head += ["Connection: close", *lines, "", ""]
        client.sendall("\r\n".join(head).encode() + body)
        with client.makefile("rb") as answer:
            return answer.read()


def test_an_error_behind_the_types_is_in_the_trailers(folder: Path, tmp_path: Path) -> None:
    """Clients without trailers wait for the first entries, and get a status in its place."""
    content = bytearray((folder / "tree.root").read_bytes())
    content[1000 : len(content) // 2] = bytes(len(content) // 2 - 1000)
    (tmp_path / "f.root").write_bytes(content)
    with started("serve", str(tmp_path), "--select") as host:
        request = {"files": ["/f.root"], "table": "t", "columns": ["i"]}
        answer = raw(host, request, "TE: trailers")
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"\r\nfarroot-error: " in answer
        assert re.search(rb"\r\nfarroot-delay: [\d.]+", answer)
        assert re.match(rb"HTTP/1.1 (4|5)\d\d", raw(host, request))
        # The reader tells why, and does not take what is missing for the end.
        table = farroot.open(f"http://{host}/f.root:t", near=True)
        with pytest.raises(farroot.Error):
            table.arrays(["i"])
        assert "does not select" in notes(table)


def test_metadata_are_sent_in_parts(folder: Path, host: str) -> None:
    name = urllib.parse.quote("/tree.root", safe="")
    parts = [asked(host, "GET", f"/select?metadata={name}&part={part}") for part in range(4)]
    assert [(status, len(content)) for status, content, _ in parts] == [(200, 13_000)] * 4
    number = parts[0][1][:8]
    assert all(content[:8] == number for _, content, _ in parts)
    for wrong in ("part=4", "part=-1", "part=x"):
        assert asked(host, "GET", f"/select?metadata={name}&{wrong}")[0] == 400
    for hidden in ("/.hidden/secret.root", "/../etc/passwd", "/absent.root"):
        name = urllib.parse.quote(hidden, safe="")
        assert asked(host, "GET", f"/select?metadata={name}&part=0")[0] in (403, 404)


def test_entries_are_counted(folder: Path, host: str) -> None:
    here = farroot.open(f"{folder}/tree.root:t")
    files = ["/tree.root", "/ntuple.root"]
    status, content = select(host, files=files, operation="count", cut="met > 50")
    assert status == 200
    assert json.loads(content)["count"] == 2 * len(here.arrays("i", cut="met > 50"))
    content = select(host, files=files, operation="count", entries=[5, 19_000])[1]
    assert json.loads(content)["count"] == 2 * 18_995


def test_a_request_reads_nothing_that_a_client_may_not(
    folder: Path, host: str, tmp_path: Path
) -> None:
    os.symlink("/etc/passwd", folder / "leak")
    for name, status in (
        ("/none.root", 404),
        ("/../tree.root", 403),
        ("/%2e%2e/tree.root", 403),
        ("/.hidden/secret.root", 404),
        ("/leak", 403),
        ("file:///etc/passwd", 404),
        ("http://127.0.0.1:1/tree.root", 404),
        ("/tree.root|/ntuple.root", 404),
        ("", 403),
        ("/", 403),
    ):
        found = select(host, files=[name], columns=["i"])
        assert found[0] == status, (name, found)
        assert asked(host, "GET", urllib.parse.quote(name, safe="/%"))[0] != 206


def test_friends_outside_are_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    make_with_friend(inside / "main.root", outside / "beside.root")
    with started("serve", str(inside), "--select") as host:
        status, content = select(host, files=["/main.root"], table="t", columns=["x", "b.w"])
        assert status in (403, 404), content
        assert b"beside" not in content


def make_with_friend(main: Path, beside: Path) -> None:
    ROOT = pytest.importorskip("ROOT")  # noqa: N806
    file = ROOT.TFile(str(beside), "recreate")
    tree = ROOT.TTree("b", "")
    value = np.zeros(1)
    tree.Branch("w", value, "w/D")
    tree.Fill(), tree.Write(), file.Close()
    file = ROOT.TFile(str(main), "recreate")
    tree = ROOT.TTree("t", "")
    tree.Branch("x", value, "x/D")
    tree.Fill(), tree.AddFriend("b", str(beside)), tree.Write(), file.Close()


def test_a_proxy_selects_of_allowed_origins_only(folder: Path, host: str) -> None:
    other = "root://127.0.0.2:9"
    with started("proxy", "--select", "--origin", other) as proxy:
        name = f"/root://{host}//tree.root"
        assert select(proxy, files=[name], table="t", columns=["i"])[0] == 403
        assert select(proxy, files=["/tree.root"], table="t", columns=["i"])[0] in (400, 404)
        assert select(proxy, files=["/file:///etc/passwd"])[0] in (400, 403, 404)


def test_requests_that_are_too_much_are_refused(host: str) -> None:
    file = {"files": ["/tree.root"], "table": "t"}
    deep = "(" * 50_000 + "met" + ")" * 50_000
    for request, statuses in (
        ({**file, "cut": deep}, (400, 413)),
        ({**file, "cut": "met > " + "-" * 15_000 + "1"}, (400, 413)),
        ({**file, "cut": "met > 9**9**9**9"}, (400, 413)),
        ({"files": ["/tree.root"] * 1000, "table": "t"}, (413,)),
        ({**file, "columns": [f"met+{number}" for number in range(2000)]}, (413,)),
        ({**file, "operation": "histogram", "axes": [axis("met", 10**9)]}, (400, 413)),
        ({**file, "operation": "histogram", "axes": [axis("name", 5)]}, (400,)),
        ({**file, "columns": ["none"]}, (404,)),
        ({**file, "columns": []}, (400,)),
        ({**file, "operation": "count", "entries": [10, 5]}, (400,)),
        ({**file, "operation": "count", "entries": [10, 5], "cut": "met > 1"}, (400,)),
        ({**file, "version": 9}, (501,)),
        ({"files": [{"file": "/tree.root", "table": "t", "num_entries": 7}]}, (409,)),
        ({"files": [{"file": "/tree.root", "table": "t", "size": 7}]}, (409,)),
        ({**file, "files": ["/tree.root", {"file": "/tree.root", "size": 7}]}, (409,)),
        ({**file, "files": [{"file": "/tree.root", "num_entries": 3}]}, (409, 500, 502)),
    ):
        status, content = select(host, **request)
        assert status in statuses, (str(request)[:90], status, content)
    status = asked(host, "POST", "/select", b"[" * 200_000)[0]
    assert status == 400
    assert refused_at_once(host, "Content-Length: 10000000000") == 413
    assert refused_at_once(host, "Transfer-Encoding: chunked", b"fffff\r\n" + b" " * 400_000) == 413
    assert asked(host, "GET", "/select?request=%7B")[0] == 400
    status, _, headers = asked(host, "PUT", "/select", b"{}")
    assert (status, headers["allow"]) == (405, "GET, HEAD, POST")
    status, _, headers = asked(host, "HEAD", "/select?request=%7B")
    assert (status, headers["allow"]) == (405, "GET, POST")
    status, content, _ = asked(host, "GET", "/select")
    assert (status, b"?request=" in content) == (400, True)
    assert select(host, **file, operation="count")[0] == 200


def refused_at_once(host: str, length: str, body: bytes = b"") -> int:
    """The status that comes before a long request has been sent."""
    address, port = host.split(":")
    with socket.create_connection((address, int(port)), timeout=30) as connection:
        head = f"POST /select HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return int(connection.recv(100).split()[1])


def axis(column: str, bins: int) -> dict[str, Any]:
    return {"column": column, "bins": bins, "start": 0, "stop": 1}


def test_a_client_that_does_not_read_stops_the_work(folder: Path, host: str) -> None:
    body = json.dumps({"files": ["/tree.root"] * 200, "table": "t"}).encode()
    head = f"POST /select HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    address, port = host.split(":")
    idle = []
    for _ in range(16):
        connection = socket.create_connection((address, int(port)))
        connection.sendall(head + body)
        connection.recv(100)
        idle.append(connection)
    # The address has as many as may be.
    status, content = select(host, files=["/tree.root"], table="t", columns=["i"])
    assert (status, b"try again" in content) == (503, True)
    table = farroot.open(f"http://{host}/tree.root:t", near=True)
    assert len(table.arrays("i")) == ENTRIES
    assert "read here" in notes(table)
    for connection in idle:
        connection.close()
    for _ in range(100):
        status, _content = select(host, files=["/tree.root"], table="t", operation="count")
        if status == 200:
            break
        threading.Event().wait(0.1)
    assert status == 200


# --- Histograms


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("name", ["tree", "ntuple"])
def test_a_histogram_is_that_of_hist(folder: Path, host: str, name: str, near: bool) -> None:
    hist = pytest.importorskip("hist")
    arrays = farroot.open(f"{folder}/{name}.root:t").arrays()
    table = farroot.open(f"http://{host}/{name}.root:t", near=near)
    found = table.histogram("met", (50, 0, 200))
    expected = hist.Hist(hist.axis.Regular(50, 0, 200, label="met")).fill(arrays.met)
    assert found == expected
    found = table.histogram("pt / 2", (50, 0, 20), cut="met > 40", weight="met")
    left = arrays[arrays.met > 40]
    weights = ak.flatten(ak.broadcast_arrays(left.met, left.pt)[0])
    expected = hist.Hist(
        hist.axis.Regular(50, 0, 20, label="pt / 2"), storage=hist.storage.Weight()
    ).fill(ak.flatten(left.pt / 2), weight=weights)
    assert np.array_equal(found.view(flow=True).value, expected.view(flow=True).value)
    assert np.array_equal(found.view(flow=True).variance, expected.view(flow=True).variance)
    found = table.histogram(["met", "i"], [[0, 1, 10, 1e3], (7, 0, 3e4)], entry_start=100)
    expected = hist.Hist(
        hist.axis.Variable([0, 1, 10, 1e3], label="met"), hist.axis.Regular(7, 0, 3e4, label="i")
    ).fill(arrays.met[100:], arrays.i[100:])
    assert found == expected
    assert "does not select" not in notes(table)


def test_histograms_of_other_things_are_refused(folder: Path) -> None:
    pytest.importorskip("hist")
    table = farroot.open(f"{folder}/tree.root:t")
    for columns, bins, error in (
        ("name", (5, 0, 1), farroot.InvalidArgumentError),
        ("met", (0, 0, 1), farroot.InvalidArgumentError),
        ("met", (5, 1, 1), farroot.InvalidArgumentError),
        ("met", "50", farroot.ArgumentTypeError),
        (["met"], [(5, 0, 1)] * 2, farroot.InvalidArgumentError),
        (["met"] * 4, [(5, 0, 1)] * 4, farroot.InvalidArgumentError),
        ("none", (5, 0, 1), farroot.KeyInFileError),
    ):
        with pytest.raises(error):
            table.histogram(columns, bins)


# --- Tables that are made up


@pytest.mark.parametrize("is_ntuple", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_seeded_tables(tmp_path: Path, seed: int, is_ntuple: bool) -> None:
    columns = differential_tables.of_all_types(seed, 300, is_ntuple)
    path = tmp_path / "f.root"
    differential_tables._write(path, "t", columns, seed, is_ntuple)
    random = np.random.default_rng(seed)
    with started("serve", str(tmp_path), "--select") as host:
        here = farroot.open(f"{path}:t")
        there = farroot.open(f"http://{host}/f.root:t", near=True)
        same(there.arrays(), here.arrays())
        for _ in range(20):
            start, stop = sorted(random.integers(0, 301, 2).tolist())
            ends = {"entry_start": start, "entry_stop": stop}
            for name in random.choice(list(columns), 4):
                same(there.arrays([name], **ends), here.arrays([name], **ends))
        assert "read here" not in notes(there)


def test_the_server_ends_on_a_signal_while_it_answers(folder: Path) -> None:
    command = [sys.executable, "-m", "farroot", "serve", str(folder), "--select", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host = process.stdout.readline().split("//")[1].strip("/\n")
        table = farroot.open(f"http://{host}/tree.root:t", near=True)
        steps = table.iterate(["i", "pt"], step_size=100)
        next(iter(steps))
        process.send_signal(signal.SIGINT)
        process.wait(20)
