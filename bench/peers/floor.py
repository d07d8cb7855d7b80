"""The floor: a raw client that knows every range beforehand and decodes nothing.

Opens N cold connections at the first moment and sends each of them everything in one burst:
handshake, protocol, login, open and its share of vectored reads on the file handle that the server
will give. Two round trips and TCP's ramp-up are left: no reader with as many connections can take
less. With `--fill` the connections share one queue of requests and bound the bytes in flight, so
that they do not overfill the queue before the link.
"""

from __future__ import annotations

import selectors
import socket
import struct
from collections import deque
from urllib.parse import urlsplit

import clock

args = clock.arguments(
    ("--local", {"required": True, "help": "the same file here, to learn the ranges from"}),
    ("--connections", {"type": int, "default": 16}),
    ("--bytes", {"type": int, "help": "so many, branch by branch, instead of columns"}),
    ("--chunks", {"type": int, "help": "so many pieces of --chunk-bytes, one each --stride"}),
    ("--chunk-bytes", {"type": int, "default": 10_000}),
    ("--stride", {"type": int, "default": 20_000}),
    ("--pipe-bytes", {"type": int, "default": 0, "help": "bytes that the link holds"}),
    ("--fill", {"type": float, "help": "bytes in flight, in multiples of that"}),
)

# XRootD protocol 5.2: request codes, response states, and the limits of a vectored read.
HANDSHAKE = struct.pack(">5i", 0, 0, 0, 4, 2012)
PROTOCOL, LOGIN, OPEN, READV = 3006, 3007, 3010, 3025
OK, OKSOFAR = 0, 4000
SEGMENTS_MAX, SEGMENT_BYTES_MAX = 256, 2_097_136
GUESSED_HANDLE = b"\0\0\0\0"
# Of one read, where the bytes in flight are bounded.
READ_BYTES = 512 << 10
# However short the link is: some reads for each connection.
IN_FLIGHT_MAX = max(int((args.fill or 0) * args.pipe_bytes), args.connections * (256 << 10))


def ranges() -> list[tuple[int, int]]:
    if args.chunks:
        return [(number * args.stride, args.chunk_bytes) for number in range(args.chunks)]
    return basket_ranges()


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


def opening() -> bytes:
    """The messages of a connection before its reads; four answers are due."""
    path = urlsplit(args.url).path.replace("//", "/", 1).encode()
    return b"".join(
        [
            HANDSHAKE,
            struct.pack(">HHiBB10xi", 1, PROTOCOL, 0x520, 0, 3, 0),
            struct.pack(">HHi8sBBBBi", 2, LOGIN, 1, b"floor\0\0\0", 0, 0, 5, 0, 0),
            struct.pack(">HHHHH6x4xi", 3, OPEN, 0, 0x0010, 0, len(path)) + path,
        ]
    )


def reads_of(share: list[tuple[int, int]]) -> deque[tuple[bytes, int]]:
    """Vectored reads, each with the bytes that it brings."""
    segments = deque(
        (offset + done, min(length - done, SEGMENT_BYTES_MAX))
        for offset, length in share
        for done in range(0, length, SEGMENT_BYTES_MAX)
    )
    reads: deque[tuple[bytes, int]] = deque()
    while segments:
        group = [segments.popleft()]
        while segments and len(group) < SEGMENTS_MAX:
            if args.fill and sum(n for _, n in group) + segments[0][1] > READ_BYTES:
                break
            group.append(segments.popleft())
        body = b"".join(struct.pack(">4siq", GUESSED_HANDLE, n, offset) for offset, n in group)
        read = struct.pack(">HH15xBi", 4, READV, 0, len(body)) + body
        reads.append((read, sum(n for _, n in group)))
    return reads


class Connection:
    """One cold connection; counts answers without keeping their bytes."""

    def __init__(self) -> None:
        self.outgoing = opening()
        self.answers_due = 4
        self.in_flight = 0
        self.buffer = bytearray()
        self.skip = 0
        self.body_bytes = 0
        self.is_read = False
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connect(self) -> None:
        url = urlsplit(args.url)
        self.socket.connect_ex((url.hostname, url.port))

    def ask(self, read: bytes, size: int) -> None:
        self.outgoing += read
        self.answers_due += 1
        self.in_flight += size

    def behind(self) -> float:
        """How long it will take for the bytes that it owes, in no unit: these by the bytes
        delivered so far."""
        return self.in_flight / (self.body_bytes + READ_BYTES)

    def send(self) -> None:
        sent = self.socket.send(self.outgoing)
        self.outgoing = self.outgoing[sent:]

    def receive(self) -> int:
        """Takes the bytes that have arrived; returns how many of them belong to reads."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the server has closed the connection")
        view = memoryview(data)
        taken = 0
        while view:
            if self.skip:
                step = min(self.skip, len(view))
                self.skip -= step
                taken += step if self.is_read else 0
                view = view[step:]
                continue
            step = min(8 - len(self.buffer), len(view))
            self.buffer += view[:step]
            view = view[step:]
            if len(self.buffer) == 8:
                self.begin_answer()
        self.in_flight -= taken
        return taken

    def begin_answer(self) -> None:
        stream, state, length = struct.unpack(">HHi", self.buffer)
        if state not in (OK, OKSOFAR):
            raise OSError(f"state {state} in answer to request {stream}")
        self.buffer.clear()
        self.skip = length
        self.is_read = stream == 4
        self.answers_due -= state == OK
        self.body_bytes += length if self.is_read else 0

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


def ask_more(poll: selectors.BaseSelector, in_flight: int) -> int:
    """Sends reads while they may be in flight, where they come first; how many bytes."""
    asked = 0
    while reads and in_flight + asked < IN_FLIGHT_MAX:
        connection = min(connections, key=Connection.behind)
        read, size = reads.popleft()
        connection.ask(read, size)
        asked += size
        poll.modify(connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)
    return asked


def job() -> int:
    poll = selectors.DefaultSelector()
    for connection in connections:
        connection.connect()
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        poll.register(connection.socket, both, connection)
    in_flight = ask_more(poll, 0)
    while reads or any(not connection.done() for connection in connections):
        for key, events in poll.select():
            connection = key.data
            if events & selectors.EVENT_WRITE:
                connection.send()
                if not connection.outgoing:
                    poll.modify(connection.socket, selectors.EVENT_READ, connection)
            if events & selectors.EVENT_READ:
                in_flight -= connection.receive()
        in_flight += ask_more(poll, in_flight)
    return sum(connection.body_bytes for connection in connections)


connections = [Connection() for _ in range(args.connections)]
# With a bound on bytes in flight all share one queue; without, each sends all its requests at once.
reads = reads_of(ranges()) if args.fill else deque()
if not args.fill:
    connections = connections[: len(parts := shares(ranges(), args.connections))]
    for connection, part in zip(connections, parts, strict=True):
        for read, size in reads_of(part):
            connection.ask(read, size)
clock.run(job, lambda body_bytes: {"body_bytes": body_bytes})
