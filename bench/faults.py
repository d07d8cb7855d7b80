"""Faults of servers during a read: processes that die, stop and come back, links that are cut and
slowed. Runs on the near side of a lab, whose processes it may signal."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import commands

BUSIEST = "the busiest"


@dataclass(frozen=True)
class Fault:
    """Something done to a host, so many seconds after the job has begun (before it: negative).

    `host` may be BUSIEST: whichever data server has sent most until then. `action`: kill, stop
    (SIGSTOP), restart (after a kill), or options of farroot-lab set.
    """

    at_s: float
    host: str
    action: str


class Hosts:
    """The servers of a lab, as they are now."""

    def __init__(self, redirector: str | None = None) -> None:
        self.redirector = redirector
        self.pids: dict[str, list[int]] = {}
        self._spares: dict[str, list[subprocess.Popen]] = {}
        self._dead: set[str] = set()
        self._started: list[subprocess.Popen] = []
        self._stopped: set[int] = set()
        self._sent_before: dict[str, int] = {}
        for key, value in os.environ.items():
            if key.startswith("FARLAB_") and key.endswith("_PIDS") and key != "FARLAB_PIDS":
                name = key.removeprefix("FARLAB_").removesuffix("_PIDS").lower()
                self.pids[name] = [int(pid) for pid in value.split()]

    def sent(self) -> dict[str, int]:
        """Bytes that each server has sent so far."""
        asked = subprocess.run([commands.lab(), "stats"], check=True, stdout=subprocess.PIPE)
        stats = json.loads(asked.stdout)
        return {host: stats[host]["sent"]["bytes"] for host in self.pids}

    def prepare(self, faults: tuple[Fault, ...]) -> None:
        """Counts the bytes that each host sends from here on, and readies servers for killed ones.

        Their namespaces can be entered only while they live.
        """
        self._sent_before = self.sent()
        for fault in faults:
            if fault.action == "kill":
                for host in self.pids if fault.host == BUSIEST else [fault.host]:
                    self._spares[host] = [spare(pid) for pid in self.pids[host]]

    def sent_in_all(self) -> int:
        """Bytes that all hosts have sent since `prepare`."""
        return sum(self.sent().values()) - sum(self._sent_before.values())

    def busiest(self) -> str:
        sent = self.sent()
        sent.pop(self.redirector or "", None)
        return max(sent, key=lambda host: sent[host] - self._sent_before[host])

    def do(self, fault: Fault) -> None:
        host = self.busiest() if fault.host == BUSIEST else fault.host
        match fault.action:
            case "kill":
                self._signal(host, signal.SIGKILL)
                self._dead.add(host)
            case "stop":
                self._signal(host, signal.SIGSTOP)
                self._stopped.update(self.pids[host])
            case "restart":
                self._restart(host)
            case options:
                commands.set_link(host, options.split())

    def mend(self) -> None:
        """Every server is up and running again, for the next job."""
        for pid in self._stopped:
            os.kill(pid, signal.SIGCONT)
        self._stopped.clear()
        for host in list(self._dead):
            self._restart(host)
        for process in (process for unused in self._spares.values() for process in unused):
            process.kill()
        self._spares.clear()

    def close(self) -> None:
        self.mend()
        for process in self._started:
            process.terminate()

    def _signal(self, host: str, number: signal.Signals) -> None:
        for pid in self.pids[host]:
            os.kill(pid, number)

    def _restart(self, host: str) -> None:
        again = self._spares.pop(host)
        for process in again:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.close()
        self._dead.discard(host)
        self.pids[host] = [process.pid for process in again]
        self._started += again


def spare(pid: int) -> subprocess.Popen:
    """A second copy of the server in the same namespaces, which waits for a line to begin.

    It has entered them when this returns: with the process they end.
    """
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    user = Path(f"/proc/{pid}").stat()
    enter = ["nsenter", f"--target={pid}", "--net", "--mount", "--uts", "--"]
    become = ["setpriv", f"--reuid={user.st_uid}", f"--regid={user.st_gid}", "--init-groups"]
    wait = ["--", "sh", "-c", f"echo here && read word && exec {shlex.join(words)} >/dev/null"]
    process = subprocess.Popen(
        [*enter, *become, *wait],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    assert process.stdout
    process.stdout.readline()
    return process


class Schedule:
    """Does each fault at its time after `begin`, and counts the bytes sent until a mark."""

    def __init__(
        self, hosts: Hosts, faults: tuple[Fault, ...], mark_s: float | None = None
    ) -> None:
        self.hosts = hosts
        self.timers = [
            threading.Timer(fault.at_s, hosts.do, (fault,)) for fault in faults if fault.at_s >= 0
        ]
        #: Bytes, 0 where it has not come so far.
        self.marked = 0
        if mark_s:
            self.timers.append(threading.Timer(mark_s, self._mark))

    def _mark(self) -> None:
        self.marked = self.hosts.sent_in_all()

    def begin(self) -> None:
        for timer in self.timers:
            timer.start()

    def end(self) -> None:
        for timer in self.timers:
            timer.cancel()
            if timer.is_alive():
                timer.join()
