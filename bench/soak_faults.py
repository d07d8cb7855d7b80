"""The faults of soak.py, one after the other, each of which ends after some seconds."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import soak_site
from soak_data import Files

#: Clients recover between two faults, and an error belongs to one of them.
REST_S = 6.0
#: A proxy takes this long to see that a fault is over.
AFTER_S = 3.0


@dataclass
class DoneFault:
    name: str
    begin: float
    end: float


class Faults:
    def __init__(self, site: soak_site.Site, files: Files, chance: random.Random) -> None:
        self.site, self.files, self.chance = site, files, chance
        self.done: list[DoneFault] = []
        self.kinds: dict[str, Callable[[], None]] = {
            "node killed": self.node_killed,
            "node restarted": self.node_restarted,
            "node reloaded": self.node_reloaded,
            "node stopped": self.node_stopped,
            "origin killed": self.origin_killed,
            "origin stopped": self.origin_stopped,
            "disk lost": self.disk_lost,
            "disk full": self.disk_full,
            "cache damaged": self.cache_damaged,
            "file replaced": self.file_replaced,
            "token expired": self.token_expired,
        }

    def go_on(self, end: float, without: set[str]) -> None:
        for name in self.names(without):
            self.wait(REST_S, end)
            if time.time() > end - 15:
                self.wait(end - time.time(), end)
                return
            fault = DoneFault(name, time.time(), float("inf"))
            self.done.append(fault)
            print(f"{time.strftime('%X')} {name}", flush=True)
            self.kinds[name]()
            fault.end = time.time() + AFTER_S

    def names(self, without: set[str]) -> Iterator[str]:
        """All kinds in an order by chance, again and again."""
        while True:
            names = [name for name in self.kinds if name not in without]
            yield from self.chance.sample(names, len(names))

    def during(self, begin: float, end: float) -> list[str]:
        return [fault.name for fault in self.done if fault.begin <= end and fault.end >= begin]

    def wait(self, seconds: float, end: float = float("inf")) -> None:
        until = min(time.time() + seconds, end)
        while time.time() < until:
            for name in soak_site.NODES:
                self.site.servers[name].look_at_memory()
            time.sleep(0.2)

    def node(self) -> soak_site.Server:
        return self.site.servers[self.chance.choice(soak_site.NODES)]

    def origin(self) -> soak_site.Server:
        return self.site.servers[self.chance.choice(("open", "closed"))]

    def node_killed(self) -> None:
        self.killed(self.node(), 4)

    def node_restarted(self) -> None:
        node = self.node()
        node.end()
        node.start()
        self.site.wait_for(node)

    def node_reloaded(self) -> None:
        self.node().send(signal.SIGHUP)
        self.wait(1)

    def node_stopped(self) -> None:
        self.stopped(self.node(), 3)

    def origin_killed(self) -> None:
        self.killed(self.origin(), 3)

    def origin_stopped(self) -> None:
        self.stopped(self.origin(), 4)

    def killed(self, server: soak_site.Server, seconds: float) -> None:
        """For so many seconds."""
        server.kill()
        self.wait(seconds)
        server.start()
        self.site.wait_for(server)

    def stopped(self, server: soak_site.Server, seconds: float) -> None:
        server.send(signal.SIGSTOP)
        self.wait(seconds)
        server.send(signal.SIGCONT)

    def disk_lost(self) -> None:
        node, number = self.node(), self.chance.randrange(soak_site.DISKS)
        self.site.unmount_disk(node.name, number)
        self.wait(6)
        self.site.mount_disk(node.name, number)

    def disk_full(self) -> None:
        filler = self.site.disk(self.node().name, self.chance.randrange(soak_site.DISKS)) / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass
        self.wait(6)
        filler.unlink()

    def cache_damaged(self) -> None:
        """Other bytes in the middle of the cache of a node."""
        node = self.node()
        files: list[Path] = []
        for number in range(soak_site.DISKS):
            found = self.site.disk(node.name, number).rglob("*")
            files += [path for path in found if path.is_file() and path.stat().st_size > 1 << 20]
        for path in self.chance.sample(files, min(3, len(files))):
            with path.open("r+b") as file:
                for _ in range(20):
                    file.seek(self.chance.randrange(path.stat().st_size - 64))
                    file.write(self.chance.randbytes(64))

    def file_replaced(self) -> None:
        for file in self.chance.sample(self.files.replaceable(), 3):
            self.files.replace(file)

    def token_expired(self) -> None:
        """Of the nodes, towards the origin; then it is renewed in its place."""
        self.site.renew_node_token(-3600)
        self.wait(5)
        self.site.renew_node_token(86_400)
