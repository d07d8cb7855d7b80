"""Proxies of HTTP between this machine and the servers, as curl reads their variables."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import farroot

from .leaks import MARKER, holds_secrets, secret_file
from .test_remote import serving, started

CONTENT = bytes(range(256)) * 400
SECRET = "pass word"


class Proxy:
    """A proxy that keeps the heads of requests, and all that is sent through it in clear."""

    def __init__(self, status: str = "200 OK", password: str | None = None) -> None:
        self.status, self.password = status, password
        self.heads: list[str] = []
        self.clear = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(4096)
                if not more:
                    return
                head += more
            text = head.decode()
            self.heads.append(text)
            method, target, _ = text.split("\r\n")[0].split(" ")
            said = [line for line in text.split("\r\n") if line.lower().startswith("proxy-auth")]
            if self.password is not None:
                wanted = base64.b64encode(self.password.encode()).decode()
                if not said or said[0].split()[-1] != wanted:
                    no = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
                    client.sendall(no.encode())
                    return
            if self.status != "200 OK":
                client.sendall(f"HTTP/1.1 {self.status}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            at = target if method == "CONNECT" else urlsplit(target).netloc
            host, _, port = at.rpartition(":")
            try:
                server = socket.create_connection((host.strip("[]"), int(port)))
            except OSError:
                # A late client of a server that has ended.
                return
            with server:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = urlsplit(target).path
                    server.sendall(head.replace(target.encode(), path.encode(), 1))
                back = threading.Thread(target=self.pass_on, args=(server, client, False))
                back.start()
                self.pass_on(client, server, True)
                back.join()

    def pass_on(self, source: socket.socket, target: socket.socket, is_kept: bool) -> None:
        try:
            while more := source.recv(65536):
                if is_kept:
                    self.clear += more
                target.sendall(more)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@contextmanager
def proxy(status: str = "200 OK", password: str | None = None) -> Iterator[Proxy]:
    one = Proxy(status, password)
    try:
        yield one
    finally:
        # A thread waits for the next client.
        one.listener.shutdown(socket.SHUT_RDWR)
        one.listener.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proxied")
    (folder / "f").write_bytes(CONTENT)
    return folder


def copy(url: str, target: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    command = [sys.executable, "-m", "farroot", "cp", "-f", url, str(target)]
    environment = {**kept, **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_http_goes_through_as_a_whole_address(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as host, proxy() as one:
        via, url = f"http://127.0.0.1:{one.port}", f"http://{host}/f"
        for variables in ({"http_proxy": via}, {"all_proxy": via}, {"FARROOT_HTTP_PROXY": via}):
            one.heads.clear()
            done = copy(url, tmp_path / "f", **variables)
            assert done.returncode == 0, done.stderr
            assert (tmp_path / "f").read_bytes() == CONTENT
            assert one.heads
            assert all(head.startswith(f"GET {url} HTTP/1.1") for head in one.heads)
        one.heads.clear()
        for variables in (
            {"HTTP_PROXY": via},
            {"https_proxy": via},
            {"http_proxy": via, "no_proxy": "example.org,127.0.0.0/8"},
            {"http_proxy": via, "NO_PROXY": "*"},
            {"http_proxy": via, "FARROOT_HTTP_PROXY": "none"},
        ):
            assert copy(url, tmp_path / "f", **variables).returncode == 0
            assert not one.heads, variables


def test_a_proxy_that_wants_a_password_gets_it_and_errors_do_not_say_it(
    folder: Path, tmp_path: Path
) -> None:
    with serving(folder) as host, proxy(password=f"user:{SECRET}") as one:
        url = f"http://{host}/f"
        via = f"http://user:pass%20word@127.0.0.1:{one.port}"
        assert copy(url, tmp_path / "f", http_proxy=via).returncode == 0
        for wrong in (f"http://127.0.0.1:{one.port}", f"http://user:wrong@127.0.0.1:{one.port}"):
            for address in (url, f"https://{host}/f"):
                done = copy(address, tmp_path / "g", all_proxy=wrong)
                assert done.returncode == 1
                assert "proxy" in done.stderr
                assert "407" in done.stderr
                assert "wrong" not in done.stderr


@pytest.mark.parametrize("status", ["403 Forbidden", "503 Service Unavailable", "nonsense"])
def test_a_refusal_is_said_to_be_the_proxys(status: str, tmp_path: Path) -> None:
    with proxy(status) as one:
        via = f"http://127.0.0.1:{one.port}"
        variables = {"https_proxy": via, "FARROOT_READ_TIMEOUT": "2"}
        done = copy("https://server.invalid/f", tmp_path / "f", **variables)
        assert done.returncode == 1
        assert f"the proxy {via} refuses the connection" in done.stderr
        assert one.heads[0].startswith("CONNECT server.invalid:443 HTTP/1.1\r\n")
    done = copy("https://server.invalid/f", tmp_path / "f", **variables)
    assert f"the proxy {via} is not reached" in done.stderr
    for bad in ("socks5://127.0.0.1:1", "http://user:secret@[bad"):
        done = copy("https://server.invalid/f", tmp_path / "f", https_proxy=bad)
        assert done.returncode == 1
        assert "proxy" in done.stderr or "proxies" in done.stderr
        assert "secret" not in done.stderr


@pytest.mark.parametrize("scheme", ["socks4", "socks4a", "socks5", "socks5h"])
def test_a_proxy_of_socks_is_refused_in_words(folder: Path, tmp_path: Path, scheme: str) -> None:
    """`ssh -D` is one, which `all_proxy` names for all programs: to go past it unasked could lead
    out of a closed network, or to another server of the same name."""
    with serving(folder) as host, proxy() as one:
        socks = f"{scheme}://user:{SECRET.replace(' ', '%20')}@127.0.0.1:{one.port}"
        for name in ("all_proxy", "ALL_PROXY", "http_proxy", "FARROOT_HTTP_PROXY"):
            done = copy(f"http://{host}/f", tmp_path / "f", **{name: socks})
            assert done.returncode == 1, name
            assert done.stderr.startswith("farroot: "), done.stderr
            assert "http://HOST:PORT" in done.stderr
            if name != "FARROOT_HTTP_PROXY":
                assert f"proxies of kind {scheme}:// are not supported" in done.stderr
            assert "pass" not in done.stderr
            assert not (tmp_path / "f").exists()
        # What need not go through one does not.
        for variables in ({"all_proxy": socks, "no_proxy": "127.0.0.1"}, {"https_proxy": socks}):
            assert copy(f"http://{host}/f", tmp_path / "f", **variables).returncode == 0
        assert copy(f"root://{host}//f", tmp_path / "f", all_proxy=socks).returncode == 0
        assert not one.heads


@pytest.mark.parametrize("wrong", ["*", "http://*:3128", "a b", "http://", "://x", "%"])
def test_no_proxy_is_made_of_what_names_none(wrong: str, folder: Path, tmp_path: Path) -> None:
    """`http_proxy="*"`, meant for `no_proxy`, is no host that could be looked for."""
    with serving(folder) as host:
        for name in ("http_proxy", "FARROOT_HTTP_PROXY"):
            done = copy(f"http://{host}/f", tmp_path / "f", **{name: wrong})
            assert done.returncode == 1
            assert done.stderr.startswith("farroot: "), done.stderr
            assert "http://HOST:PORT" in done.stderr
        with pytest.raises(farroot.InvalidArgumentError, match="http_proxy"):
            farroot.config(http_proxy=wrong)
    assert not (tmp_path / "f").exists()


def test_doctor_says_through_which_proxy_and_looks_at_it(folder: Path) -> None:
    """It looked at the way to the server itself, which is none where a site has a proxy."""

    def lines(url: str, step: str, **variables: str) -> list[str]:
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        command = [sys.executable, "-m", "farroot", "doctor", url]
        environment = {**kept, **variables}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return [line for line in done.stdout.splitlines() if line.startswith(f"{step} ")]

    with serving(folder) as host, proxy() as one:
        via, url = f"127.0.0.1:{one.port}", f"http://{host}/f"
        variables = {"http_proxy": f"http://user:{MARKER}@{via}"}
        [said] = lines(url, "proxy", **variables)
        assert said.endswith(f"HTTP goes through the proxy http://{via}")
        assert [via in line for line in lines(url, "connect", **variables)] == [True]
        assert lines(url, "read", **variables)
        assert lines(url, "proxy", **variables, no_proxy="127.0.0.1") == []
        assert lines(f"root://{host}//f", "proxy", **variables) == []
        wrong = {"http_proxy": "socks5://127.0.0.1:1"}
        assert "FAULT: proxies of kind socks5://" in lines(url, "proxy", **wrong)[0]


def test_nothing_of_https_is_seen_by_the_proxy(folder: Path, tmp_path: Path) -> None:
    """And the certificate that the page of `farroot serve` makes is believed by our own client: one
    that signs itself was refused, although the user had named it."""
    if shutil.which("openssl") is None:
        pytest.skip("THERE IS NO openssl: the certificate of a protected server is made by it")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "30",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    holds_secrets(tmp_path / "key.pem")
    secret_file(tmp_path / "tokens", f"{MARKER}\n")
    secret_file(tmp_path / "token", f"{MARKER}\n")
    tls = ["--tls", str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")]
    guarded = started("serve", str(folder), *tls, "--token", str(tmp_path / "tokens"))
    with guarded as host, proxy() as one:
        variables = {
            "https_proxy": f"127.0.0.1:{one.port}",
            "SSL_CERT_FILE": str(tmp_path / "cert.pem"),
            "BEARER_TOKEN_FILE": str(tmp_path / "token"),
        }
        for url in (f"https://{host}/f", f"https://{host.replace('127.0.0.1', 'localhost')}/f"):
            done = copy(url, tmp_path / "f", **variables)
            assert done.returncode == 0, done.stderr
            assert (tmp_path / "f").read_bytes() == CONTENT
        assert all(head.startswith("CONNECT ") for head in one.heads)
        everything = "".join(one.heads).encode() + one.clear
        assert MARKER.encode() not in everything
        assert b"GET " not in everything
        assert copy(f"roots://{host}//f", tmp_path / "f", **variables).returncode == 0
        variables["SSL_CERT_FILE"] = "/etc/ssl/certs/ca-certificates.crt"
        assert copy(f"https://{host}/f", tmp_path / "g", **variables).returncode == 1
