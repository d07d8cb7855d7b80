"""A site's cache under load. ROOT, uproot, xrdcp, curl and farroot read through three nodes, while
nodes, origins, disks, tokens and files fail. Every answer is compared with the files.

    make soak SOAK="--seconds 600 --seed 1"

The program needs root (for namespaces and tmpfs) and a release build of the command. It starts
itself again in a network and a mount namespace of its own, and ends all that it started.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import commands
import machine
import soak_faults
import soak_site
from soak_data import Files
from soak_jobs import Job, Jobs, Outcome

HERE = Path(__file__).resolve().parent
WORKERS = 5
#: Answers that take longer are listed.
SLOW_S = 10.0
#: Beyond the memory that the settings give to a node: code, connections, allocators.
NODE_BYTES_MAX = soak_site.MEMORY_BYTES + 300_000_000


@dataclass
class Verdict:
    """The answers of the run; `wrong` and `unexpected` have to stay empty."""

    outcomes: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    slowest_s: dict[str, float] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, job: Job, outcome: Outcome) -> None:
        with self.lock:
            self.outcomes[(job.kind, outcome.name)] += 1
            kept = self.slowest_s.get(job.kind, 0.0)
            self.slowest_s[job.kind] = max(kept, outcome.seconds)
            line = f"{job.kind} {outcome.url} [{outcome.faults}]: {outcome.text}"
            if outcome.seconds > SLOW_S:
                self.slow.append(f"{outcome.seconds:.1f} s, {outcome.name}: {line}")
                print(f"slow: {self.slow[-1]}", flush=True)
            if outcome.name == "wrong":
                self.wrong.append(line)
            elif outcome.name == "unexpected":
                self.unexpected.append(line)
            if outcome.name in ("wrong", "unexpected"):
                print(f"{outcome.name}: {line}", flush=True)

    def table(self) -> list[dict]:
        kinds = sorted({kind for kind, _ in self.outcomes})
        names = ("right", "refused", "expected", "unexpected", "wrong")
        return [
            {
                "client": kind,
                **{name: self.outcomes[(kind, name)] for name in names},
                "slowest_s": round(self.slowest_s[kind], 2),
            }
            for kind in kinds
        ]


def within_namespaces() -> None:
    """Starts this program again where its mounts and addresses are its own."""
    if os.environ.get("SOAK_WITHIN"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for address in soak_site.ADDRESSES:
            subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        return
    if os.geteuid():
        sys.exit("soak.py makes namespaces and mounts, and has to be run as root")
    command = ["unshare", "--mount", "--net", sys.executable, *sys.argv]
    os.execvpe(command[0], command, {**os.environ, "SOAK_WITHIN": "1"})


def work(jobs: Jobs, verdict: Verdict, end: float) -> None:
    while time.time() < end:
        job = jobs.next()
        for outcome in jobs.run(job):
            verdict.take(job, outcome)


def run(site: soak_site.Site, files: Files, options: argparse.Namespace) -> dict:
    faults = soak_faults.Faults(site, files, random.Random(options.seed))
    jobs = Jobs(site, files, faults, random.Random(options.seed + 1))
    verdict = Verdict()
    begin = time.time()
    end = begin + options.seconds
    workers = [
        threading.Thread(target=work, args=(jobs, verdict, end)) for _ in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    try:
        faults.go_on(end, without=set(options.without))
    finally:
        for worker in workers:
            worker.join()
    ended = [name for name, server in site.servers.items() if server.has_ended()]
    peaks = {name: site.servers[name].peak_bytes for name in soak_site.NODES}
    return {
        "seconds": round(time.time() - begin),
        "seed": options.seed,
        "faults": dict(Counter(fault.name for fault in faults.done)),
        "table": verdict.table(),
        "wrong": verdict.wrong,
        "unexpected": verdict.unexpected,
        "slow": verdict.slow,
        "ended": ended,
        "node_peak_bytes": peaks,
        "is_memory_bounded": max(peaks.values()) <= NODE_BYTES_MAX,
    }


def shown(result: dict) -> None:
    keys = list(result["table"][0])
    print(" ".join(f"{key:>15}" for key in keys))
    for line in result["table"]:
        print(" ".join(f"{line[key]:>15}" for key in keys))
    print("faults:", ", ".join(f"{name} {count}" for name, count in result["faults"].items()))
    peak = max(result["node_peak_bytes"].values())
    print(f"{len(result['wrong'])} wrong, {len(result['unexpected'])} unexpected errors, largest")
    print(f"node {peak / 1e6:.0f} MB; ended by themselves: {result['ended'] or 'none'}")


def write_record(result: dict, at: Path) -> None:
    about = "a site's cache under load, with faults"
    record = {"about": about, "figure": "outcomes", "machine": machine.facts(), **result}
    text = json.dumps(record, indent=1)
    (HERE / "record" / "soak.json").write_text(text.replace(str(at), "") + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--without", nargs="*", default=[], help="faults that are left out")
    parser.add_argument("--record", action="store_true", help="write bench/record/soak.json")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    options = parser.parse_args()
    within_namespaces()
    farroot = commands.built("farroot", "FARROOT_COMMAND", "-p farroot-cli")
    at = Path(tempfile.mkdtemp(prefix="farroot-soak-"))
    at.chmod(0o755)
    site = soak_site.Site(at, farroot)
    # What was started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by TERM"))
    try:
        site.make()
        files = Files(at, random.Random(options.seed))
        files.make()
        site.start()
        result = run(site, files, options)
    finally:
        site.end()
        if options.keep:
            print(at)
        else:
            shutil.rmtree(at, ignore_errors=True)
    shown(result)
    if options.record:
        write_record(result, at)
    (HERE.parent / "build").mkdir(exist_ok=True)
    (HERE.parent / "build" / "soak.json").write_text(json.dumps(result, indent=1))
    is_right = not (result["wrong"] or result["unexpected"] or result["ended"])
    sys.exit(0 if is_right and result["is_memory_bounded"] else 1)


if __name__ == "__main__":
    main()
