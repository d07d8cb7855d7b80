"""Jobs of growth.py with farroot's own servers: their CPU time and the client's count together."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Bytes of one request.
READ_LEN = 100


@contextlib.contextmanager
def started(*words: str) -> Iterator[str]:
    """A server of farroot on a free port of this machine: its host and port."""
    command = [sys.executable, "-m", "farroot", *words, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"127\.0\.0\.1:\d+", line):
                yield found[0]
                break
        else:
            raise RuntimeError(f"{words[0]} has not started")
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def proxied(folder: Path) -> Iterator[tuple[str, str]]:
    """A server of a folder, and a proxy: host and port of the proxy, and the way to the server."""
    limits = ("--connections", "50000", "--connections-per-address", "50000")
    with started("serve", str(folder), *limits) as server, started("proxy", *limits) as proxy:
        yield proxy, f"/http://{server}"


def requests_served(path: Path, size: int) -> None:
    """So many requests, one after the other, of one client."""
    with started("serve", str(path.parent)) as server, connected(server) as client:
        for number in range(size):
            ask(client, f"/{path.name}", number)


def requests_proxied(path: Path, size: int) -> None:
    """The same through a proxy."""
    with proxied(path.parent) as (proxy, before), connected(proxy) as client:
        for number in range(size):
            ask(client, f"{before}/{path.name}", number)


def clients_served(path: Path, size: int) -> None:
    """So many clients that stay, with a request each."""
    limits = ("--connections", "50000", "--connections-per-address", "50000")
    with started("serve", str(path.parent), *limits) as server:
        clients(server, f"/{path.name}", size)


def clients_proxied(path: Path, size: int) -> None:
    """The same through a proxy."""
    with proxied(path.parent) as (proxy, before):
        clients(proxy, f"{before}/{path.name}", size)


def files_proxied(path: Path, size: int) -> None:
    """A request of each of so many files through a proxy."""
    with proxied(path) as (proxy, before), connected(proxy) as client:
        for number in range(size):
            ask(client, f"{before}/{number}.root", 0)


def files_over_http(path: Path, size: int) -> None:
    """The entries of so many files of a server."""
    import farroot

    with started("serve", str(path)) as server:
        urls = [f"http://{server}/{number}.root:t" for number in range(size)]
        list(farroot.num_entries(urls))


def listed_over_root(path: Path, size: int) -> None:
    """A pattern of all files of a folder of a server."""
    import farroot

    with started("serve", str(path)) as server:
        list(farroot.num_entries(f"root://{server}//*.root:t"))


def fill_cache(folder: Path, files: Path, size: int) -> None:
    """A cache with a column of each of so many files."""
    environment = {**os.environ, "FARROOT_CACHE": "4 GB", "FARROOT_CACHE_FOLDER": str(folder)}
    program = (
        "import farroot, sys; server, size = sys.argv[1], int(sys.argv[2]);"
        "urls = [f'http://{server}/{number}.root:t' for number in range(size)];"
        "print(len(farroot.concatenate(urls, ['c0'])))"
    )
    with started("serve", str(files)) as server:
        command = [sys.executable, "-c", program, server, str(size)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def connected(server: str) -> Iterator[socket.socket]:
    host, port = server.split(":")
    with socket.create_connection((host, int(port))) as client:
        yield client


def clients(server: str, target: str, size: int) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(size):
            ask(stack.enter_context(connected(server)), target, number)


def ask(client: socket.socket, target: str, number: int) -> None:
    """One request of a range, and its answer."""
    first = number % 10
    wanted = f"bytes={first}-{first + READ_LEN - 1}"
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nRange: {wanted}\r\n\r\n"
    client.sendall(head.encode())
    answer = b""
    while b"\r\n\r\n" not in answer or len(answer.partition(b"\r\n\r\n")[2]) < READ_LEN:
        got = client.recv(1 << 16)
        if not got:
            raise ConnectionError(answer[:200].decode(errors="replace"))
        answer += got
        if not answer.startswith(b"HTTP/1.1 2"):
            break
    if not answer.startswith(b"HTTP/1.1 206"):
        raise ConnectionError(answer[:200].decode(errors="replace"))
