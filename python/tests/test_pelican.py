"""Reading from a federation: its document, a director that redirects, and a cache."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import farroot

from .leaks import holds_secrets

SCRIPT = """
import sys
import farroot

tree = farroot.open(sys.argv[1])
print("SUM", int(tree["int32"].array(library="np").sum()), tree.num_entries)
print(tree.report())
"""


class Federation(BaseHTTPRequestHandler):
    """All three in one; the cache has the paths below ``/cache``."""

    protocol_version = "HTTP/1.1"
    content = b""
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        host = f"https://{self.headers['Host']}"
        if self.path == "/.well-known/pelican-configuration":
            self._say(200, json.dumps({"director_endpoint": host}).encode())
        elif self.path.startswith("/cache/"):
            start, end = self._range()
            place = f"bytes {start}-{end - 1}/{len(self.content)}"
            self._say(206, self.content[start:end], {"Content-Range": place, "ETag": '"1"'})
        else:
            cache = f"{host}/cache{self.path}"
            link = f'<{cache}>; rel="duplicate"; pri=1; depth=1'
            namespace = "namespace=/d, require-token=false"
            lines = {"Location": cache, "Link": link, "X-Pelican-Namespace": namespace}
            self._say(307, b"", lines)

    def _range(self) -> tuple[int, int]:
        size = len(self.content)
        first, _, last = self.headers["Range"].removeprefix("bytes=").split(",")[0].partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1)

    def _say(self, status: int, body: bytes, lines: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(lines or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def federation(made: Path, tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """Host and port, the authority to trust, and the requests."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("OPENSSL IS NOT INSTALLED: there is no certificate for a federation")
    new = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    host = ["-subj", "/CN=host", "-addext", "subjectAltName=IP:127.0.0.1"]
    host += ["-addext", "basicConstraints=critical,CA:FALSE"]
    host += ["-CA", str(tmp_path / "ca.pem"), "-CAkey", str(tmp_path / "ca.key")]
    for name, more in [("ca", ["-subj", "/CN=authority"]), ("host", host)]:
        outputs = ["-out", str(tmp_path / f"{name}.pem"), "-keyout", str(tmp_path / f"{name}.key")]
        subprocess.run([*new, *more, *outputs], check=True, capture_output=True)
        holds_secrets(tmp_path / f"{name}.key")
    seen: list[str] = []
    handler = type("Handler", (Federation,), {"content": made.read_bytes(), "seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "host.pem", tmp_path / "host.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", tmp_path / "ca.pem", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_a_tree_is_read_from_a_cache(federation: tuple[str, Path, list[str]], made: Path) -> None:
    host, authority, seen = federation
    environment = os.environ | {"SSL_CERT_FILE": str(authority)}
    url = f"pelican://{host}/d/made.root:events"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = done.stdout + done.stderr
    with farroot.open(made) as file:
        values = file["events"]["int32"].array(library="np")
    assert f"SUM {values.sum()} {len(values)}" in said, said
    assert seen.count("/.well-known/pelican-configuration") == 1, seen
    assert "/cache/d/made.root" in seen, seen
