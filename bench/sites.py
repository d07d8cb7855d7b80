"""Servers that want a credential, 100 ms away: farroot, XRootD's own client, curl, ROOT.

An authority, a host's certificate, a proxy, a token and a ticket are made for it; the servers are
real ones, in a lab. Needs farroot-lab, `cargo build --release -p farroot-remote --example
first_byte` and, for tickets, krb5-kdc. "first contact": nothing is known of the server; "known":
farroot has spoken to it in an earlier process. XRootD's client remembers nothing, so it has one
line. See METHOD.md.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import commands
import data
import definitions
import sites_bed as bed
from model import Cell, Run

BENCH = Path(__file__).resolve().parent
FOLDER = "FARROOT_BENCH_SITES"
RTT_MS = 100
TIMEOUT_S = 120.0
COLUMNS = ",".join(definitions.H42_COLUMNS)
PROGRAM = ("examples/first_byte", "FARROOT_FIRST_BYTE")
FIRST_BYTE = "first byte: "
WHOLE_READS = "h42, three branches"
KERBEROS = FIRST_BYTE + "Kerberos"

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


class Sites:
    """All of its jobs, for run.py: the job takes the place of the link."""

    about = "servers that want a credential, 100 ms away, 1 Gbit/s"
    runs = 7

    def __init__(self) -> None:
        self.facts: dict = {}
        self.warmed: set[Cell] = set()

    def cells(self) -> list[Cell]:
        return [Cell(row.job, row.peer) for row in rows(Path(os.environ.get(FOLDER, "/")))]

    def prepare(self) -> None:
        commands.built(*PROGRAM, "-p farroot-remote --example first_byte")
        data.path_of("h42")

    @contextmanager
    def lab(self) -> Iterator[list[str] | None]:
        folder = Path(tempfile.mkdtemp(prefix="farroot-sites-"))
        try:
            bed.make(folder)
            shutil.copy(data.path_of("h42"), folder / "data" / "h42.root")
            os.environ[FOLDER] = str(folder)
            servers = ["--server", bed.servers(folder), "--server-port", str(bed.PLAIN)]
            yield ["--rtt", f"{RTT_MS}ms", "--serve", str(folder / "data"), *servers]
        finally:
            os.environ.pop(FOLDER, None)
            shutil.rmtree(folder)

    @contextmanager
    def opened(self) -> Iterator[Run]:
        folder = Path(os.environ[FOLDER])
        found = {Cell(row.job, row.peer): row for row in rows(folder)}
        with bed.kdc(folder) as has_ticket:

            def run(number: int, cell: Cell) -> list[dict]:
                if cell.link == KERBEROS and not has_ticket:
                    return []
                # The first run fills caches, and farroot's notes.
                if cell not in self.warmed:
                    self.warmed.add(cell)
                    answer(found[cell])
                one = {"run": number, "link": f"{RTT_MS} ms", "job": cell.link, "peer": cell.peer}
                return [one | answer(found[cell])]

            yield run

    def table(self, rows: list[dict]) -> list[dict]:
        pairs = dict.fromkeys((row["job"], row["peer"]) for row in rows)
        return [summary(job, peer, rows) for job, peer in pairs]

    def text(self, lines: list[dict]) -> str:
        return table(lines)


def answer(row: Row) -> dict:
    time.sleep(0.1)
    found = commands.answer_of(row.command, row.environment, TIMEOUT_S)
    return {key: found[key] for key in ("time_s", "failed") if key in found}


def rows(folder: Path) -> list[Row]:
    token = {"BEARER_TOKEN_FILE": str(folder / "token")}
    proxy = {"X509_USER_PROXY": str(folder / "x509up")}
    return [
        *first_bytes(folder, "no credential", "root", bed.PLAIN, {}),
        *first_bytes(folder, "TLS 1.3, token", "roots", bed.TOKEN, token),
        *first_bytes(folder, "gsi", "root", bed.GSI, proxy),
        *first_bytes(folder, "Kerberos", "root", bed.KRB5, {}),
        *first_bytes(folder, "https, token", "https", bed.HTTPS, token),
        *whole_reads(folder, token),
    ]


def first_bytes(
    folder: Path, job: str, scheme: str, port: int, environment: dict[str, str]
) -> Iterator[Row]:
    url = f"{scheme}://{bed.HOST}:{port}//a.bin"
    job = FIRST_BYTE + job
    environment = {**bed.environment(folder), **environment}
    if scheme == "https":
        url = url.replace("//a.bin", "/a.bin")
        words = [url, str(folder / "ca.pem"), str(folder / "token")]
        yield Row(job, "curl", [sys.executable, "-c", CURL, *words], environment)
    else:
        yield Row(job, "XRootD's client", [commands.python(), "-c", XRDCL, url], environment)
    first_byte = commands.path_of(*PROGRAM)
    first = {**environment, "FARROOT_STORE": "0"}
    known = {**environment, "FARROOT_STORE_FOLDER": str(folder / "store")}
    yield Row(job, "farroot, first contact", [first_byte, url], first)
    yield Row(job, "farroot, known", [first_byte, url], known)


def whole_reads(folder: Path, token: dict[str, str]) -> Iterator[Row]:
    environment = {**bed.environment(folder), **token, "FARROOT_STORE": "0"}
    peers = BENCH / "peers"
    # The server insists on TLS, whatever the address says; ROOT has no other scheme.
    tls, plain = f"root://{bed.HOST}:{bed.TOKEN}", f"root://{bed.HOST}:{bed.PLAIN}"
    for peer, script, base in (
        ("farroot, without TLS", "farroot_arrays", plain),
        ("farroot, TLS and token", "farroot_arrays", tls),
        ("ROOT, TLS and token", "root_getentry", tls),
        ("uproot, TLS and token", "uproot_arrays", tls),
    ):
        words = [f"{base}//h42.root", "--tree", "h42", "--columns", COLUMNS]
        yield Row(
            WHOLE_READS, peer, [commands.python(), str(peers / f"{script}.py"), *words], environment
        )


def summary(job: str, peer: str, rows: list[dict]) -> dict:
    mine = [one for one in rows if (one["job"], one["peer"]) == (job, peer)]
    times = [one["time_s"] for one in mine if "time_s" in one]
    line = {"link": mine[0]["link"], "job": job, "peer": peer, "runs": len(mine)}
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
