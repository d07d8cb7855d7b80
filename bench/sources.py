"""Scenarios with several sources and with faults, in a lab with two or more real servers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import commands
import data
from definitions import EXPERIMENTS
from faults import Hosts, Schedule
from model import Cell, Run
from scenarios import FIRST, Job, Scenario

BENCH = Path(__file__).resolve().parent
TIMEOUT_S = 120
# Until a server that was started again answers.
RESTART_S = 2


class Sources:
    """A :class:`Scenario`, for run.py."""

    runs = 3

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.about = scenario.about
        self.facts: dict = {}
        self.jobs = {job.name: job for job in scenario.jobs}

    def cells(self) -> list[Cell]:
        return [Cell("", name) for name in self.jobs]

    def prepare(self) -> None:
        data.path_of(self.scenario.file)

    @contextmanager
    def lab(self) -> Iterator[list[str] | None]:
        yield ["--rtt", "0", "--rate", "none", *self.scenario.lab, "--serve", str(data.DATA)]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        hosts = Hosts(FIRST if "cluster" in self.scenario.lab else None)

        def run(number: int, cell: Cell) -> list[dict]:
            row = {"run": number, "job": cell.peer}
            return [row | run_job(hosts, self.scenario, self.jobs[cell.peer])]

        try:
            yield run
        finally:
            hosts.close()

    def table(self, rows: list[dict]) -> list[dict]:
        return summary(self.scenario, rows)

    def text(self, lines: list[dict]) -> str:
        return as_text(self.scenario, lines)


SCRIPTS = {
    "arrays": ("farroot_sources",),
    "loop": ("farroot_exercise", "--row-wise", "--entry-stop", "1000"),
    "farroot cp": ("farroot_copy",),
    "xrdcp": ("xrdcp", "--to-disk"),
}


def url(scenario: Scenario, job: Job, folder: Path) -> str:
    path = f"{scenario.file}.root"
    bases = [os.environ[f"FARLAB_{host.upper()}_ROOT_URL"] for host in job.hosts]
    urls = [f"{base}/{path}" for base in bases]
    if not job.metalink:
        return "|".join(urls)
    size = data.path_of(scenario.file).stat().st_size
    places = "".join(f'<url priority="{rank}">{url}</url>' for rank, url in enumerate(urls, 1))
    document = folder / f"{scenario.file}.meta4"
    document.write_text(
        '<metalink xmlns="urn:ietf:params:xml:ns:metalink">'
        f'<file name="{path}"><size>{size}</size>{places}</file></metalink>'
    )
    return str(document)


def command(scenario: Scenario, job: Job, folder: Path) -> list[str]:
    script, *options = SCRIPTS[job.means]
    words = [commands.python(), str(BENCH / "peers" / f"{script}.py"), url(scenario, job, folder)]
    words += ["--tree", data.FILES[scenario.file][1], *options, *job.options]
    columns = EXPERIMENTS[scenario.file].columns if scenario.file in EXPERIMENTS else ()
    return words + (["--columns", ",".join(columns)] if columns else [])


def run_job(hosts: Hosts, scenario: Scenario, job: Job) -> dict:
    """One cold run, with its faults, and everything mended afterwards."""
    for host, options in scenario.options.items():
        commands.set_link(host, options.split())
    hosts.prepare(job.faults)
    for fault in job.faults:
        if fault.at_s < 0:
            hosts.do(fault)
    schedule = Schedule(hosts, job.faults, job.mark_s)
    folder = tempfile.TemporaryDirectory()
    environment = {**os.environ, "FARROOT_STORE": "0"}
    process = subprocess.Popen(
        command(scenario, job, Path(folder.name)),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    killer = threading.Timer(TIMEOUT_S, process.kill)
    killer.start()
    result = {"failed": "no answer"}
    try:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("begin"):
                schedule.begin()
            elif line.startswith("{"):
                result = json.loads(line)
        process.wait()
    finally:
        killer.cancel()
        schedule.end()
        hosts.mend()
        folder.cleanup()
        if "kill" in {fault.action for fault in job.faults}:
            time.sleep(RESTART_S)
    if schedule.marked and job.mark_s and result.get("time_s", 0) > job.mark_s:
        result["rate_after_mark"] = (result["link_bytes"] - schedule.marked) / (
            result["time_s"] - job.mark_s
        )
    return result


def summary(scenario: Scenario, rows: list[dict]) -> list[dict]:
    """A line a job: its times, and how they compare with the scenario's first."""
    lines = []
    for job in scenario.jobs:
        mine = [row for row in rows if row["job"] == job.name]
        if not mine:
            continue
        line = {"job": job.name, "runs": len(mine)}
        failed = [row["failed"] for row in mine if "failed" in row]
        if failed:
            line["failed"] = failed[0]
        if not failed or job.fails:
            times = [row["time_s"] for row in mine]
            line |= {"median": median(times), "min": min(times), "max": max(times)}
            for key in (
                "link_bytes",
                "connections",
                "entries",
                "digest",
                "payload_bytes",
                "rate_after_mark",
            ):
                if key in mine[0]:
                    line[key] = median(row[key] for row in mine)
        lines.append(line)
    for line in lines:
        if "median" in line and "median" in lines[0]:
            line["to_first"] = line["median"] / lines[0]["median"]
            line["beyond_first_s"] = line["median"] - lines[0]["median"]
    digests = {line["digest"] for line in lines if "digest" in line}
    if len(digests) > 1:
        lines[0]["disagrees"] = sorted(digests)
    return lines


def as_text(scenario: Scenario, lines: list[dict]) -> str:
    text = [scenario.about]
    for line in lines:
        start = f"  {line['job']:24}"
        if "median" not in line:
            text.append(f"{start} FAILED: {line['failed']}")
            continue
        times = " ".join(f"{line[key]:8.2f}" for key in ("median", "min", "max"))
        more = f" x{line['to_first']:.2f} {line['beyond_first_s']:+.2f} s"
        link = f" {line['link_bytes'] / 1e6:8.2f} MB" if "link_bytes" in line else ""
        conns = f" {line['connections']:.0f} conns" if "connections" in line else ""
        late = line.get("rate_after_mark")
        conns += f" {late / 1e6:.1f} MB/s in the end" if late else ""
        why = f"  {line['failed']}" if "failed" in line else ""
        wrong = "  DISAGREES" if "disagrees" in line else ""
        text.append(f"{start} {times} s {more}{link}{conns}{wrong}{why}")
    return "\n".join(text)
