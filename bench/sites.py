"""Servers that want a credential, 100 ms away: farroot, XRootD's own client, curl, ROOT.

    python bench/sites.py [--runs N] [--rtt 100ms] [--only NAME...]

An authority, a host's certificate, a proxy, a token and a ticket are made for it; the servers are
real ones, in a lab. Needs farroot-lab, `cargo build --release -p farroot-remote --example
first_byte`, bench/out/data/h42.root and, for tickets, krb5-kdc. "first contact": nothing is known
of the server; "known": farroot has spoken to it in an earlier process. XRootD's client remembers
nothing, so it has one line. See METHOD.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import commands
import data
import definitions
import machine
import record
import run
import sites_bed as bed

ABOUT = "servers that want a credential, 100 ms away, 1 Gbit/s"
INSIDE = "FARROOT_BENCH_SITES"
EXAMPLE = run.BENCH.parent / "target" / "release" / "examples" / "first_byte"
COLUMNS = ",".join(definitions.H42_COLUMNS)

XRDCL = """\
import sys, time, json
from XRootD import client
begun = time.perf_counter()
file = client.File()
status, _ = file.open(sys.argv[1])
assert status.ok, status.message
status, _ = file.read(0, 1)
assert status.ok, status.message
print(json.dumps({"time_s": time.perf_counter() - begun}), flush=True)
"""

CURL = """\
import subprocess, sys, json
url, ca, token = sys.argv[1:]
command = ["curl", "-sS", "-f", "-r", "0-0", "--http1.1", "--cacert", ca, "-o", "/dev/null"]
command += ["-H", "@-", "-w", "%{time_starttransfer}", url]
header = "Authorization: Bearer " + open(token).read().strip()
done = subprocess.run(command, input=header, capture_output=True, text=True, check=True)
print(json.dumps({"time_s": float(done.stdout)}))
"""


@dataclass(frozen=True)
class Row:
    """One job of one peer."""

    job: str
    peer: str
    command: list[str]
    environment: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--rtt", default="100ms")
    parser.add_argument("--record", action="store_true", help="keep the figures in bench/record")
    parser.add_argument("--only", nargs="*", help="beginnings of the names of jobs")
    args = parser.parse_args()
    if INSIDE in os.environ:
        folder = Path(os.environ[INSIDE])
        with bed.kdc(folder) as has_ticket:
            found = rows(folder, has_ticket, args.only)
            lines, each = measured(found, args.runs, args.rtt)
            print(table(lines))
        if args.record:
            facts = {"about": ABOUT, "congestion": "cubic", "machine": machine.facts()}
            record.write(run.BENCH / "record" / "sites", facts, each, lines)
        return
    folder = Path(tempfile.mkdtemp(prefix="farroot-sites-"))
    try:
        bed.make(folder)
        if (h42 := data.DATA / "h42.root").exists():
            shutil.copy(h42, folder / "data" / "h42.root")
        lab = [run.lab_program(), "run", "--rtt", args.rtt, "--serve", str(folder / "data")]
        lab += ["--server", bed.servers(folder), "--server-port", str(bed.PLAIN)]
        subprocess.run(
            [*lab, "--", sys.executable, sys.argv[0], *sys.argv[1:]],
            check=True,
            env={**os.environ, INSIDE: str(folder)},
        )
    finally:
        shutil.rmtree(folder)


def rows(folder: Path, has_ticket: bool, only: list[str] | None) -> list[Row]:
    token = {"BEARER_TOKEN_FILE": str(folder / "token")}
    proxy = {"X509_USER_PROXY": str(folder / "x509up")}
    found = [
        *first_bytes(folder, "no credential", "root", bed.PLAIN, {}),
        *first_bytes(folder, "TLS 1.3, token", "roots", bed.TOKEN, token),
        *first_bytes(folder, "gsi", "root", bed.GSI, proxy),
        *(first_bytes(folder, "Kerberos", "root", bed.KRB5, {}) if has_ticket else []),
        *first_bytes(folder, "https, token", "https", bed.HTTPS, token),
    ]
    if (folder / "data" / "h42.root").exists():
        found += whole_reads(folder, token)
    return [row for row in found if not only or any(row.job.startswith(name) for name in only)]


def first_bytes(
    folder: Path, job: str, scheme: str, port: int, environment: dict[str, str]
) -> Iterator[Row]:
    url = f"{scheme}://{bed.HOST}:{port}//a.bin"
    job = f"first byte: {job}"
    environment = {**bed.environment(folder), **environment}
    if scheme == "https":
        url = url.replace("//a.bin", "/a.bin")
        words = [url, str(folder / "ca.pem"), str(folder / "token")]
        yield Row(job, "curl", [sys.executable, "-c", CURL, *words], environment)
    else:
        yield Row(job, "XRootD's client", [run.python(), "-c", XRDCL, url], environment)
    first = {**environment, "FARROOT_STORE": "0"}
    known = {**environment, "FARROOT_STORE_FOLDER": str(folder / "store")}
    yield Row(job, "farroot, first contact", [str(EXAMPLE), url], first)
    yield Row(job, "farroot, known", [str(EXAMPLE), url], known)


def whole_reads(folder: Path, token: dict[str, str]) -> Iterator[Row]:
    job = "h42, three branches"
    environment = {**bed.environment(folder), **token, "FARROOT_STORE": "0"}
    peers = run.BENCH / "peers"
    # The server insists on TLS, whatever the address says; ROOT has no other scheme.
    tls, plain = f"root://{bed.HOST}:{bed.TOKEN}", f"root://{bed.HOST}:{bed.PLAIN}"
    for peer, script, base in (
        ("farroot, without TLS", "farroot_arrays", plain),
        ("farroot, TLS and token", "farroot_arrays", tls),
        ("ROOT, TLS and token", "root_getentry", tls),
        ("uproot, TLS and token", "uproot_arrays", tls),
    ):
        words = [f"{base}//h42.root", "--tree", "h42", "--columns", COLUMNS]
        yield Row(job, peer, [run.python(), str(peers / f"{script}.py"), *words], environment)


def measured(found: list[Row], runs: int, rtt: str) -> tuple[list[dict], list[dict]]:
    """A line for each job and peer, and one for each run. Peers alternate; every run is a process
    of its own."""
    each = []
    for number in range(runs + 1):
        for row in found:
            time.sleep(0.1)
            answer = commands.answer_of(row.command, row.environment, timeout_s=120)
            one = {"link": rtt.replace("ms", " ms"), "job": row.job, "peer": row.peer}
            one |= {key: answer[key] for key in ("time_s", "failed") if key in answer}
            # The first round fills caches, and farroot's notes.
            if number:
                each.append({"run": number - 1, **one})
    return [summary(row, each) for row in found], each


def summary(row: Row, each: list[dict]) -> dict:
    mine = [one for one in each if (one["job"], one["peer"]) == (row.job, row.peer)]
    times = [one["time_s"] for one in mine if "time_s" in one]
    line = {"link": mine[0]["link"], "job": row.job, "peer": row.peer, "runs": len(mine)}
    if times:
        line |= {"median": median(times), "min": min(times), "max": max(times)}
    if failed := [one["failed"] for one in mine if "failed" in one]:
        line |= {"failed": len(failed), "why": failed[0]}
    return line


def table(lines: list[dict]) -> str:
    rows = ["| ms | peer | median | least | most |", "|---|---|---|---|---|"]
    for line in lines:
        figures = [f"{1000 * line[key]:.0f}" for key in ("median", "min", "max") if key in line]
        cells = " | ".join(figures) or line["why"]
        rows.append(f"| {line['job']} | {line['peer']} | {cells} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
