"""XRootD's own cache (XCache: XrdPfc of Debian's xrootd-server) on the client's side of a link."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

#: Not 127.0.0.1, which ROOT takes for a local disk in places.
ADDRESS = "127.0.0.2"
#: Seconds within which it must accept connections after its start, and end after SIGTERM.
START_S, STOP_S = 20.0, 5.0

# Blocks, prefetching and checksums have their defaults. The limits of disk usage are so high that
# other programs' files hardly ever make XCache evict.
CONFIG = """\
all.export /
oss.localroot {folder}/files
all.adminpath {folder}/own
all.pidpath {folder}/own
xrd.port {port}
ofs.osslib libXrdPss.so
pss.cachelib libXrdPfc.so
pss.origin {origin}
pfc.ram 1g
pfc.diskusage 0.98 0.99
"""


class XCache:
    """A running XCache of one server, whose folder is empty at its start."""

    def __init__(self, origin: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="farroot-bench-xcache-"))
        with socket.socket() as free:
            free.bind((ADDRESS, 0))
            self.port = free.getsockname()[1]
        for name in ("files", "own"):
            (self.folder / name).mkdir()
        config = self.folder / "xrootd.cfg"
        config.write_text(CONFIG.format(folder=self.folder, port=self.port, origin=origin))
        user: list[str] = []
        if os.geteuid() == 0:
            user = ["-R", "xrootd"]
            for path in (self.folder, self.folder / "files", self.folder / "own"):
                shutil.chown(path, "xrootd")
        words = ["xrootd", *user, "-n", "xcache", "-c", str(config), "-l", f"{self.folder}/own/log"]
        self.process = subprocess.Popen(
            words, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.wait()

    @property
    def url(self) -> str:
        """Its address, to which the caller appends an absolute path."""
        return f"root://{ADDRESS}:{self.port}/"

    def wait(self) -> None:
        begun = time.monotonic()
        while self.process.poll() is None and time.monotonic() - begun < START_S:
            try:
                socket.create_connection((ADDRESS, self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        logs = sorted(self.folder.rglob("log*"))
        text = logs[-1].read_text(errors="replace") if logs and logs[-1].is_file() else ""
        self.stop()
        raise RuntimeError(f"XCache does not start: {text[-500:]}")

    def stop(self) -> None:
        """Ends the process and removes its folder."""
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class XCaches:
    """One empty cache for each run, or one filled cache for all runs of a peer."""

    def __init__(self) -> None:
        self.filled: dict[str, XCache] = {}

    def before(self, origin: str, peer: str, is_filled: bool) -> XCache:
        """The cache for a run of a peer; the caller passes it to `after` when the run ends."""
        if not is_filled:
            return XCache(origin)
        if peer not in self.filled:
            self.filled[peer] = XCache(origin)
        return self.filled[peer]

    def after(self, cache: XCache) -> None:
        if cache not in self.filled.values():
            cache.stop()

    def stop(self) -> None:
        for cache in self.filled.values():
            cache.stop()
