"""Runs the scenarios with several sources and with faults, in a lab with two real servers.

    python bench/sources.py [NAME...] [--runs N]

Writes each run to bench/record/sources.csv. Needs farroot-lab, as run.py does. See METHOD.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import data
import machine
import record
import run
import tables
from definitions import EXPERIMENTS
from faults import Hosts, Schedule
from scenarios import FIRST, SCENARIOS, Job, Scenario

TIMEOUT_S = 120
# Until a server that was started again answers.
RESTART_S = 2


def main() -> None:
    args = arguments()
    names = args.names or list(SCENARIOS)
    if run.INSIDE in os.environ:
        Path(os.environ[run.INSIDE]).write_text(json.dumps(run_all(names, args.runs)))
        return
    for name in names:
        data.path_of(SCENARIOS[name].file)
    rows = []
    for lab in dict.fromkeys(SCENARIOS[name].lab for name in names):
        rows += in_lab(lab, [name for name in names if SCENARIOS[name].lab == lab], args.runs)
    lines = [line for name in names for line in summary(name, rows)]
    print(as_text(lines))
    if not args.names:
        facts = {"about": "several sources and faults", "machine": machine.facts()}
        record.write(run.BENCH / "record" / "sources", facts, rows, lines)
        tables.write()


def arguments() -> argparse.Namespace:
    about = "\n".join(f"  {name:12} {one.about}" for name, one in SCENARIOS.items())
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=f"{__doc__}\n{about}", formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    unknown = set(args.names) - set(SCENARIOS)
    if unknown:
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    return args


def in_lab(lab: tuple[str, ...], names: list[str], runs: int) -> list[dict]:
    """Runs this same command on the near side of a lab, for the scenarios of that lab."""
    command = [run.lab_program(), "run", "--rtt", "0", "--rate", "none", *lab]
    here = [sys.executable, __file__, *names, "--runs", str(runs)]
    with tempfile.NamedTemporaryFile() as found:
        environment = {**os.environ, run.INSIDE: found.name}
        words = [*command, "--serve", str(data.DATA), "--", *here]
        subprocess.run(words, check=True, env=environment)
        return json.loads(Path(found.name).read_text())


def run_all(names: list[str], runs: int) -> list[dict]:
    # All of these are of the same lab.
    is_cluster = "cluster" in SCENARIOS[names[0]].lab
    hosts = Hosts(run.lab_program(), FIRST if is_cluster else None)
    rows = []
    try:
        for name in names:
            for number in range(runs):
                for job in SCENARIOS[name].jobs:
                    row = {"scenario": name, "run": number, "job": job.name}
                    rows.append(row | run_job(hosts, SCENARIOS[name], job))
                    print(rows[-1], file=sys.stderr, flush=True)
    finally:
        hosts.close()
    return rows


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
    words = [run.python(), str(run.BENCH / "peers" / f"{script}.py"), url(scenario, job, folder)]
    words += ["--tree", data.FILES[scenario.file][1], *options, *job.options]
    columns = EXPERIMENTS[scenario.file].columns if scenario.file in EXPERIMENTS else ()
    return words + (["--columns", ",".join(columns)] if columns else [])


def run_job(hosts: Hosts, scenario: Scenario, job: Job) -> dict:
    """One cold run, with its faults, and everything mended afterwards."""
    for host, options in scenario.options.items():
        hosts.set(host, options)
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


def summary(name: str, rows: list[dict]) -> list[dict]:
    """A line a job: its times, and how they compare with the scenario's first."""
    scenario = SCENARIOS[name]
    lines = []
    for job in scenario.jobs:
        mine = [row for row in rows if (row["scenario"], row["job"]) == (name, job.name)]
        line = {"scenario": name, "job": job.name, "runs": len(mine)}
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


def as_text(lines: list[dict]) -> str:
    text = []
    for line in lines:
        if line["job"] == SCENARIOS[line["scenario"]].jobs[0].name:
            text.append(f"\n{line['scenario']}: {SCENARIOS[line['scenario']].about}")
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


if __name__ == "__main__":
    main()
