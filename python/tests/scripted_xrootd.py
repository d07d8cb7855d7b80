"""A small XRootD server whose answers a test chooses."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

OK, ERROR, REDIRECT = 0, 4003, 4004
NOT_FOUND, NOT_AUTHORIZED, UNSUPPORTED = 3011, 3010, 3013
NAMES = {
    3001: "query",
    3003: "close",
    3004: "dirlist",
    3006: "protocol",
    3007: "login",
    3010: "open",
    3013: "read",
    3016: "sync",
    3017: "stat",
    3019: "write",
    3023: "endsess",
    3025: "readv",
    3027: "locate",
}
SERVER, MANAGER = 1, 2


@dataclass
class Asked:
    """A request of a client."""

    name: str
    stream: bytes
    parameters: bytes
    data: bytes
    #: Number of the connection, from 0.
    connection: int

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


#: What a test answers; None leaves the answer to the server, b"" ends the connection.
Answers = Callable[[Asked], bytes | None]


def answer(asked: Asked, status: int, body: bytes = b"") -> bytes:
    return asked.stream + struct.pack(">HI", status, len(body)) + body


def error(asked: Asked, code: int, text: str) -> bytes:
    return answer(asked, ERROR, struct.pack(">I", code) + text.encode() + b"\0")


def redirect(asked: Asked, host: str, port: int) -> bytes:
    return answer(asked, REDIRECT, struct.pack(">i", port) + host.encode())


class Server:
    """Serves one file under every name, unless the test answers."""

    def __init__(self, content: bytes, answers: Answers, role: int) -> None:
        self.content, self.answers, self.role = content, answers, role
        self.asked: list[Asked] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def named(self, name: str) -> list[Asked]:
        return [each for each in self.asked if each.name == name]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            number = self.connections
            self.connections += 1
            threading.Thread(target=self._serve, args=(client, number), daemon=True).start()

    def _serve(self, client: socket.socket, number: int) -> None:
        with client, client.makefile("rb") as stream:
            try:
                if len(stream.read(20)) < 20:
                    return
                is_data = self.role == SERVER
                client.sendall(struct.pack(">HHIII", 0, OK, 8, 0x520, is_data))
                while len(head := stream.read(24)) == 24:
                    kind, length = int.from_bytes(head[2:4]), int.from_bytes(head[20:24])
                    name = NAMES.get(kind, str(kind))
                    one = Asked(name, head[:2], head[4:20], stream.read(length), number)
                    self.asked.append(one)
                    said = self.answers(one)
                    said = self._usual(one) if said is None else said
                    if not said:
                        # With requests unread, the system would discard answers on their way.
                        client.shutdown(socket.SHUT_WR)
                        while stream.read(1 << 16):
                            pass
                        return
                    client.sendall(said)
            except OSError:
                return

    def _usual(self, asked: Asked) -> bytes:
        stat = f"1 {len(self.content)} 16 1700000000\0".encode()
        match asked.name:
            case "protocol":
                return answer(asked, OK, struct.pack(">II", 0x520, self.role))
            case "login":
                return answer(asked, OK, bytes(16))
            case "close" | "endsess":
                return answer(asked, OK)
            case "open":
                return answer(asked, OK, bytes(12) + stat)
            case "stat":
                return answer(asked, OK, stat)
            case "read":
                begin, length = struct.unpack(">qi", asked.parameters[4:16])
                return answer(asked, OK, self.content[begin : begin + length])
            case "readv":
                return answer(asked, OK, b"".join(self._segments(asked.data)))
            case _:
                return error(asked, UNSUPPORTED, "not supported")

    def _segments(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), 16):
            length, begin = struct.unpack(">iq", data[at + 4 : at + 16])
            yield data[at : at + 16] + self.content[begin : begin + length]


@contextmanager
def scripted(
    content: bytes = b"", answers: Answers = lambda _: None, role: int = SERVER
) -> Iterator[Server]:
    """A server on loopback."""
    server = Server(content, answers, role)
    try:
        yield server
    finally:
        # A thread waits for the next client.
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
