"""Records the sample frames beside this file from two running xrootd servers.

    python3 capture.py PORT AUTH_PORT

PORT serves a folder /store with numbers.bin (10,000 bytes, byte i is i % 251) and dir/{a.txt,b c.txt}, may be
written to and asks for no authentication; AUTH_PORT serves the same and asks for `unix`. Recorded from xrootd 5.5.3.

The samples gsi.* are of a session of xrdfs 5.5.3 with an xrootd 5.5.3 that wants gsi, both with certificates made for
it: the first message of the client, the server's answer, the key of the server's certificate, and its prime.
gsi.group15.pem is `openssl genpkey -genparam -algorithm DH -pkeyopt group:modp_3072`.
"""

import pathlib
import socket
import struct
import sys
import time

HERE = pathlib.Path(__file__).parent
HANDLE = bytes(4)


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)

    def take(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError("the server closed the connection")
            data += part
        return data

    def answer(self):
        head = self.take(8)
        status, length = struct.unpack(">Hi", head[2:])
        body = self.take(length)
        if status == 4007:  # the body says how much follows it
            body += self.take(struct.unpack(">i", body[12:16])[0])
        return head + body

    def ask(self, frame):
        self.socket.sendall(frame)
        return self.answer()

    def record(self, name, frame):
        answer = self.ask(frame)
        (HERE / f"{name}.req.bin").write_bytes(frame)
        (HERE / f"{name}.resp.bin").write_bytes(answer)
        print(f"{name:10} {len(frame):4} -> {len(answer):4}  status {answer[2] << 8 | answer[3]}")
        return answer


def frame(code, parameters, payload=b"", stream=1):
    return struct.pack(">HH16si", stream, code, parameters, len(payload)) + payload


HANDSHAKE = struct.pack(">5i", 0, 0, 0, 4, 2012)
PROTOCOL = frame(3006, struct.pack(">iBB", 0x520, 1, 3))
LOGIN = frame(
    3007,
    struct.pack(">i8sBBB", 4242, b"farroot", 0, 4 | 8, 0x85),
    b"&xrd.appname=farroot",
)


def session(port):
    connection = Connection(port)
    connection.ask(HANDSHAKE)
    connection.ask(PROTOCOL)
    return connection, connection.ask(LOGIN)[8:24]


def crc32c(data):
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def record_changes(c):
    """Requests that change files; the folder /store has to be writable."""
    c.record("mkdir", frame(3008, struct.pack(">B13xH", 1, 0o755), b"/store/new/below"))
    c.ask(frame(3010, struct.pack(">HH", 0o644, 0x128), b"/store/new/written.bin"))
    c.record("write", frame(3019, struct.pack(">4sq", HANDLE, 0), b"abcdefgh"))
    # Two pages, of which the second is damaged: the answer names it.
    pages = [bytes(6), b"page two"]
    sums = [crc32c(pages[0]), crc32c(pages[1]) ^ 1]
    data = b"".join(struct.pack(">I", s) + page for s, page in zip(sums, pages))
    c.record("pgwrite", frame(3026, struct.pack(">4sqBB", HANDLE, 4090, 0, 0), data))
    again = struct.pack(">I", sums[1] ^ 1) + pages[1]
    c.ask(frame(3026, struct.pack(">4sqBB", HANDLE, 4096, 0, 1), again))
    c.record("sync", frame(3016, HANDLE))
    c.record("truncate", frame(3028, struct.pack(">4sq", HANDLE, 4100)))
    c.ask(frame(3003, HANDLE))
    paths = [b"/store/new/written.bin", b"/store/new/moved.bin"]
    c.record("mv", frame(3009, struct.pack(">14xH", len(paths[0])), b" ".join(paths)))
    c.record("rm", frame(3014, b"", paths[1]))


def main():
    port, auth_port = int(sys.argv[1]), int(sys.argv[2])
    c = Connection(port)
    c.record("handshake", HANDSHAKE)
    c.record("protocol", PROTOCOL)
    c.record("login", LOGIN)
    c.record("open", frame(3010, struct.pack(">HH", 0, 0x450), b"/store/numbers.bin"))
    c.record("stat", frame(3017, b"", b"/store/numbers.bin"))
    c.record("read", frame(3013, struct.pack(">4sqi", HANDLE, 300, 40)))
    c.record("pgread", frame(3030, struct.pack(">4sqi", HANDLE, 4090, 40), bytes([0, 1])))
    segments = struct.pack(">4siq4siq", HANDLE, 5, 0, HANDLE, 7, 9000)
    c.record("readv", frame(3025, b"", segments))
    c.record("close", frame(3003, HANDLE))
    c.record("ping", frame(3011, b""))
    c.record("query", frame(3001, struct.pack(">H", 7), b"readv_ior_max readv_iov_max sitename nonsense"))
    c.record("dirlist", frame(3004, bytes(15) + b"\2", b"/store/dir"))
    c.record("locate", frame(3027, b"", b"/store/numbers.bin"))
    record_changes(c)
    gone, ident = session(port)
    gone.socket.close()
    time.sleep(0.5)
    c.record("endsess", frame(3023, ident))
    _, ident = session(port)
    path = Connection(port)
    path.ask(HANDSHAKE)
    path.ask(frame(3006, struct.pack(">iBB", 0x520, 1, 1)))
    path.record("bind", frame(3024, ident))
    a, _ = session(auth_port)
    a.record("auth", frame(3000, bytes(12) + b"unix", b"unix\0user group\0"))


main()
