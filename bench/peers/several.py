"""Several clients of one job at the same time: the time of the slowest, and the bytes that all of
them received over the link. Each is a process of its own, warmed up before the clock starts."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--clients", type=int, required=True)
parser.add_argument("--script", required=True, help="of this folder, without .py")
args, job = parser.parse_known_args()
command = [sys.executable, str(Path(__file__).parent / f"{args.script}.py"), *job]
clients = [
    subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, clock.WAITS: "1"},
    )
    for _ in range(args.clients)
]
for client in clients:
    if not any(line == f"{clock.READY}\n" for line in client.stdout):
        sys.exit("a client has ended before it was ready")


def run() -> list[dict]:
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    lines = [client.communicate()[0].splitlines() for client in clients]
    return [json.loads(next(line for line in told if line.startswith("{"))) for told in lines]


def answer(told: list[dict]) -> dict:
    same = {key: told[0][key] for key in ("entries", "payload_bytes") if key in told[0]}
    if any(one[key] != same[key] for one in told for key in same):
        sys.exit(f"the clients disagree: {told}")
    times = sorted(one["time_s"] for one in told)
    return {**same, "time_s": times[-1], "fastest_s": times[0]}


clock.run(run, answer)
