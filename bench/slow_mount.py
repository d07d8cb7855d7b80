"""Mounts a folder through a file system that delays each read, as a model of NFS and Lustre.

    with slow_mount.mounted(folder, 0.005) as (there, mount): ...

It implements the kernel's FUSE protocol (linux/fuse.h, version 7.31), read-only, for one folder
without subfolders. Many reads wait at the same time, as on a network. Needs /dev/fuse and the right
to mount. `mount.bytes_read` counts the bytes that the kernel has read: the load of a server.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
BATCH_FORGET, INTERRUPT, DESTROY = 42, 36, 38
UNANSWERED = (FORGET, BATCH_FORGET, INTERRUPT)
HEAD = struct.Struct("<IIQQIIII")  # length, operation, unique, node, user, group, process, padding
ANSWER = struct.Struct("<IiQ")  # length, error, unique
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
ROOT_NODE = 1
REQUEST_BYTES_MAX = 1 << 17
ASYNC_READ = 1  # the kernel may send several reads of one file
READ_ONLY, NO_SUID, NO_DEVICES, DETACH = 1, 2, 4, 2
VALID_S = 3600


class Mount:
    """One mount: answers the kernel's requests."""

    def __init__(self, folder: Path, delay_s: float) -> None:
        self.delay_s = delay_s
        self.paths = sorted(path for path in folder.iterdir() if path.is_file())
        self.files = [os.open(path, os.O_RDONLY) for path in self.paths]
        self.folder = folder
        self.bytes_read = 0
        self.device = os.open("/dev/fuse", os.O_RDWR)

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                return
            _, operation, unique, node, *_ = HEAD.unpack_from(request)
            if operation in UNANSWERED:
                continue
            body = request[HEAD.size :]
            if operation == READ:
                threading.Thread(target=self.read, args=(unique, node, body), daemon=True).start()
            else:
                self.answer(unique, self.result(operation, node, body))

    def answer(self, unique: int, result: bytes | int) -> None:
        error, body = (-result, b"") if isinstance(result, int) else (0, result)
        with contextlib.suppress(OSError):
            os.write(self.device, ANSWER.pack(ANSWER.size + len(body), error, unique) + body)

    def read(self, unique: int, node: int, body: bytes) -> None:
        _, offset, size = struct.unpack_from("<QQI", body)
        time.sleep(self.delay_s)
        data = os.pread(self.files[node - ROOT_NODE - 1], size, offset)
        self.bytes_read += len(data)
        self.answer(unique, data)

    def result(self, operation: int, node: int, body: bytes) -> bytes | int:
        """The body of the answer, or an errno."""
        if operation == INIT:
            _, minor, ahead = struct.unpack_from("<III", body)
            sizes = struct.pack("<HHIIHH8I", 64, 48, 1 << 16, 1, 32, 0, *([0] * 8))
            return struct.pack("<IIII", 7, min(minor, 31), ahead, ASYNC_READ) + sizes
        if operation == LOOKUP:
            name = body.rstrip(b"\0").decode()
            names = [path.name for path in self.paths]
            if name not in names:
                return errno.ENOENT
            there = ROOT_NODE + 1 + names.index(name)
            entry = struct.pack("<QQQQII", there, 0, VALID_S, VALID_S, 0, 0)
            return entry + self.attributes(there)
        if operation == GETATTR:
            return struct.pack("<QII", VALID_S, 0, 0) + self.attributes(node)
        if operation == OPEN:
            return struct.pack("<QII", 0, 0, 0)
        if operation == STATFS:
            return struct.pack("<5Q4I6I", *([0] * 5), 4096, 255, 4096, 0, *([0] * 6))
        return b"" if operation in (RELEASE, FLUSH, DESTROY) else errno.ENOSYS

    def attributes(self, node: int) -> bytes:
        if node == ROOT_NODE:
            mode, size, when = stat.S_IFDIR | 0o555, 0, 0
        else:
            there = os.fstat(self.files[node - ROOT_NODE - 1])
            mode, size, when = stat.S_IFREG | 0o444, there.st_size, int(there.st_mtime)
        blocks = -(-size // 512)
        times = (when, when, when, 0, 0, 0)
        return ATTRIBUTES.pack(node, size, blocks, *times, mode, 1, 0, 0, 0, 4096, 0)


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def mounted(folder: Path, delay_s: float) -> Iterator[tuple[Path, Mount]]:
    """The slow folder, and the mount that counts its reads; OSError if it cannot be mounted."""
    mount = Mount(folder, delay_s)
    place = Path(tempfile.mkdtemp(prefix="farroot-slow-"))
    options = f"fd={mount.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    flags = READ_ONLY | NO_SUID | NO_DEVICES
    done = libc().mount(b"slow", bytes(place), b"fuse", flags, options.encode())
    if done != 0:
        raise OSError(ctypes.get_errno(), "cannot mount a file system of FUSE")
    threading.Thread(target=mount.serve, daemon=True).start()
    try:
        yield place, mount
    finally:
        libc().umount2(bytes(place), DETACH)
        os.close(mount.device)
        place.rmdir()


if __name__ == "__main__":
    with mounted(Path(sys.argv[1]), float(sys.argv[2])) as (there, counted):
        print(there, flush=True)
        sys.stdin.read()
        print(counted.bytes_read)
