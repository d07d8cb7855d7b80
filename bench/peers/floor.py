"""The floor: a raw client that knows every range beforehand and decodes nothing.

Opens N cold connections at the first moment and sends each of them everything in one burst:
handshake, protocol, login, open and its share of vectored reads on the file handle that the server
will give. Two round trips and TCP's ramp-up are all that is left: what there is to reach with as
many connections.
"""

from __future__ import annotations

import selectors
import socket
import struct
from urllib.parse import urlsplit

import clock

args = clock.arguments(
    ("--local", {"required": True, "help": "the same file here, to learn the ranges from"}),
    ("--connections", {"type": int, "default": 16}),
    ("--bytes", {"type": int, "help": "so many, branch by branch, instead of columns"}),
)

# XRootD protocol 5.2: request codes, response states, and the limits of a vectored read.
HANDSHAKE = struct.pack(">5i", 0, 0, 0, 4, 2012)
PROTOCOL, LOGIN, OPEN, READV = 3006, 3007, 3010, 3025
OK, OKSOFAR = 0, 4000
SEGMENTS_MAX, SEGMENT_BYTES_MAX = 256, 2_097_136
GUESSED_HANDLE = b"\0\0\0\0"


def basket_ranges() -> list[tuple[int, int]]:
    import uproot

    with uproot.open(args.local) as file:
        tree = file[args.tree]
        stop = tree.num_entries if args.entry_stop is None else args.entry_stop
        found: set[tuple[int, int]] = set()
        for name in args.columns or tree.keys():
            if args.bytes and sum(length for _, length in found) >= args.bytes:
                break
            branch = tree[name]
            for index, first in enumerate(branch.entry_offsets[:-1]):
                if first < stop:
                    seek = int(branch.member("fBasketSeek")[index])
                    found.add((seek, int(branch.member("fBasketBytes")[index])))
    return sorted(found)


def requests(share: list[tuple[int, int]]) -> tuple[bytes, int]:
    """All frames that one connection sends, and how many answers end with state ok."""
    path = urlsplit(args.url).path.replace("//", "/", 1).encode()
    frames = [
        HANDSHAKE,
        struct.pack(">HHiBB10xi", 1, PROTOCOL, 0x520, 0, 3, 0),
        struct.pack(">HHi8sBBBBi", 2, LOGIN, 1, b"floor\0\0\0", 0, 0, 5, 0, 0),
        struct.pack(">HHHHH6x4xi", 3, OPEN, 0, 0x0010, 0, len(path)) + path,
    ]
    segments = [
        (offset + done, min(length - done, SEGMENT_BYTES_MAX))
        for offset, length in share
        for done in range(0, length, SEGMENT_BYTES_MAX)
    ]
    for at in range(0, len(segments), SEGMENTS_MAX):
        group = segments[at : at + SEGMENTS_MAX]
        body = b"".join(struct.pack(">4siq", GUESSED_HANDLE, n, offset) for offset, n in group)
        frames.append(struct.pack(">HH15xBi", 4, READV, 0, len(body)) + body)
    return b"".join(frames), len(frames)


class Connection:
    """One cold connection; counts answers without keeping their bytes."""

    def __init__(self, share: list[tuple[int, int]]) -> None:
        self.outgoing, self.answers_due = requests(share)
        self.buffer = bytearray()
        self.skip = 0
        self.body_bytes = 0
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connect(self) -> None:
        url = urlsplit(args.url)
        self.socket.connect_ex((url.hostname, url.port))

    def send(self) -> None:
        sent = self.socket.send(self.outgoing)
        self.outgoing = self.outgoing[sent:]

    def receive(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the server has closed the connection")
        view = memoryview(data)
        while view:
            if self.skip:
                step = min(self.skip, len(view))
                self.skip -= step
                view = view[step:]
                continue
            step = min(8 - len(self.buffer), len(view))
            self.buffer += view[:step]
            view = view[step:]
            if len(self.buffer) == 8:
                self.begin_answer()

    def begin_answer(self) -> None:
        stream, state, length = struct.unpack(">HHi", self.buffer)
        if state not in (OK, OKSOFAR):
            raise OSError(f"state {state} in answer to request {stream}")
        self.buffer.clear()
        self.skip = length
        self.answers_due -= state == OK
        self.body_bytes += length if stream == 4 else 0

    def done(self) -> bool:
        return self.answers_due == 0 and self.skip == 0


def shares(ranges: list[tuple[int, int]], count: int) -> list[list[tuple[int, int]]]:
    """About as many bytes for each connection, in the order of the file."""
    total = sum(length for _, length in ranges)
    parts: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    passed = 0
    for offset, length in ranges:
        parts[min(count * passed // max(total, 1), count - 1)].append((offset, length))
        passed += length
    return [part for part in parts if part]


def job() -> int:
    poll = selectors.DefaultSelector()
    for connection in connections:
        connection.connect()
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        poll.register(connection.socket, both, connection)
    while poll.get_map():
        for key, events in poll.select():
            connection = key.data
            if events & selectors.EVENT_WRITE:
                connection.send()
                if not connection.outgoing:
                    poll.modify(connection.socket, selectors.EVENT_READ, connection)
            if events & selectors.EVENT_READ:
                connection.receive()
                if connection.done():
                    poll.unregister(connection.socket)
    return sum(connection.body_bytes for connection in connections)


connections = [Connection(share) for share in shares(basket_ranges(), args.connections)]
clock.run(job, lambda body_bytes: {"body_bytes": body_bytes})
