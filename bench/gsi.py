"""The first byte of a file behind gsi, 100 ms away: farroot and XRootD's own client.

    python bench/gsi.py [--runs N] [--rtt 100ms]

An authority, a host's certificate and a proxy are made for it with openssl; the server is the real
xrootd with gsi, in a lab. Needs farroot-lab and `cargo build --release -p farroot-remote --example
first_byte`. "first contact": nothing is known of the server; "known": farroot has spoken to it in
an earlier process. XRootD's client remembers nothing, so it has one line. See METHOD.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import run

# The lab's name of the far host.
HOST = "far.farlab"
PORT = 1094
INSIDE = "FARROOT_BENCH_GSI"
EXAMPLE = run.BENCH.parent / "target" / "release" / "examples" / "first_byte"

SERVER = """\
all.export / r/o
oss.localroot {at}/data
all.adminpath {at}/server
all.pidpath {at}/server
xrd.port {port}
xrootd.seclib libXrdSec.so
sec.protparm gsi -certdir:{at}/certificates -cert:{at}/host.pem -key:{at}/server/host.key
sec.protparm gsi -crl:0 -ca:1 -gridmap:{at}/gridmap -gmapopt:trymap,usedn
sec.protocol gsi
sec.protbind * only gsi
"""

XRDCL = """\
import sys, time, json
from XRootD import client
begun = time.perf_counter()
file = client.File()
for status, _ in (file.open(sys.argv[1]), file.read(0, 100)):
    assert status.ok, status.message
print(json.dumps({"time_s": time.perf_counter() - begun}), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--rtt", default="100ms")
    args = parser.parse_args()
    if INSIDE in os.environ:
        print(table(measured(Path(os.environ[INSIDE]), args.runs)))
        return
    folder = Path(tempfile.mkdtemp(prefix="farroot-gsi-"))
    try:
        make(folder)
        serve = f"exec xrootd {user()} -n bench -c {folder}/xrootd.cfg"
        lab = [run.lab_program(), "run", "--rtt", args.rtt, "--serve", str(folder / "data")]
        lab += ["--server", serve, "--server-port", str(PORT)]
        here = [sys.executable, __file__, "--runs", str(args.runs)]
        environment = {**os.environ, INSIDE: str(folder)}
        subprocess.run([*lab, "--", *here], check=True, env=environment)
    finally:
        shutil.rmtree(folder)


def user() -> str:
    return "-R xrootd" if os.geteuid() == 0 else ""


def make(at: Path) -> None:
    """Certificates, and a server's folder that its user can read."""
    at.chmod(0o755)
    for name in ("data", "server", "certificates"):
        (at / name).mkdir()
    (at / "data" / "a.bin").write_bytes(bytes(1_000_000))
    subject = "/C=XX/O=Bench/CN="
    ca = ("basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign,cRLSign")
    more = [word for extension in ca for word in ("-addext", extension)]
    made = ("-out", at / "ca.pem", "-subj", f"{subject}CA")
    openssl("req", "-x509", *key(at / "ca.key"), *made, *more)
    signed(at, "host", f"{subject}{HOST}", f"subjectAltName=DNS:{HOST}", issuer="ca")
    usage = "keyUsage=critical,digitalSignature,keyEncipherment"
    signed(at, "user", f"{subject}Ada", usage, issuer="ca")
    info = f"{usage}\nproxyCertInfo=critical,language:id-ppl-inheritAll"
    signed(at, "proxy", f"{subject}Ada/CN=1234567", info, issuer="user")
    shown = at / "x509up"
    parts = ("proxy.pem", "proxy.key", "user.pem")
    shown.write_text("".join((at / name).read_text() for name in parts))
    shown.chmod(0o600)
    for option in ("-subject_hash", "-subject_hash_old"):
        name = openssl("x509", "-noout", option, "-in", at / "ca.pem").strip()
        shutil.copy(at / "ca.pem", at / "certificates" / f"{name}.0")
    (at / "gridmap").write_text(f'"{subject}Ada" ada\n')
    (at / "xrootd.cfg").write_text(SERVER.format(at=at, port=PORT))
    shutil.move(at / "host.key", at / "server" / "host.key")
    (at / "server" / "host.key").chmod(0o400)
    if os.geteuid() == 0:
        for path in (at / "server", at / "server" / "host.key"):
            shutil.chown(path, "xrootd")


def key(path: Path) -> tuple[str | Path, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", path)


def signed(at: Path, name: str, subject: str, extensions: str, issuer: str) -> None:
    (at / "extensions").write_text(f"{extensions}\n")
    openssl("req", *key(at / f"{name}.key"), "-out", at / "request", "-subj", subject)
    by = ("-CA", at / f"{issuer}.pem", "-CAkey", at / f"{issuer}.key", "-CAcreateserial")
    words = ("-req", "-in", at / "request", *by, "-days", "30", "-out", at / f"{name}.pem")
    openssl("x509", *words, "-extfile", at / "extensions")


def openssl(*words: str | Path) -> str:
    command = ["openssl", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"openssl {words[0]}: {done.stderr.strip()}")
    return done.stdout


def measured(folder: Path, runs: int) -> dict[str, list[float]]:
    """Seconds to the first byte. Peers alternate; every run is a process of its own."""
    url = f"root://{HOST}:{PORT}//a.bin"
    environment = {
        **os.environ,
        "X509_CERT_DIR": str(folder / "certificates"),
        "X509_USER_PROXY": str(folder / "x509up"),
    }
    store = {"FARROOT_STORE_FOLDER": str(folder / "store")}
    peers = {
        "XRootD's client": ([run.python(), "-c", XRDCL], {}),
        "farroot, first contact": ([str(EXAMPLE)], {"FARROOT_STORE": "0"}),
        "farroot, known": ([str(EXAMPLE)], store),
    }
    times: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(runs + 1):
        for name, (command, more) in peers.items():
            done = subprocess.run(
                [*command, url],
                env={**environment, **more},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            if done.returncode:
                sys.exit(f"{name}: {(done.stderr or done.stdout).strip()}")
            # The first round fills caches, and what farroot remembers.
            if number:
                times[name].append(json.loads(done.stdout)["time_s"])
    return times


def table(times: dict[str, list[float]]) -> str:
    lines = ["| first byte behind gsi, ms | median | least | most |", "|---|---|---|---|"]
    for name, each in times.items():
        figures = " | ".join(f"{1000 * f(each):.0f}" for f in (median, min, max))
        lines.append(f"| {name} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
