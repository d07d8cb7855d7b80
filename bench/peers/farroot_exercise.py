"""farroot: its own exercise, as its command runs it; the program's start is on the clock."""

import json
import os
import subprocess
import sys
from pathlib import Path

import clock

args = clock.arguments(
    ("--fraction", {"type": float, "default": 0.3}),
    ("--prescale", {"type": int, "default": 50}),
    ("--row-wise", {"action": "store_true"}),
    ("--sample", {"type": int, "help": "so many of the events stand for all"}),
    ("--without", {"default": "", "help": "rules, with commas"}),
)
program = os.environ.get("FARROOT_COMMAND", str(Path(sys.executable).parent / "farroot"))
command = [program, "exercise", f"{args.url}:{args.tree}"]
command += ["--json", f"--fraction={args.fraction}", f"--prescale={args.prescale}"]
events = args.sample or args.entry_stop
scale = args.entry_stop / events
command += [f"--events={events}"] + ["--row-wise"] * args.row_wise
command += [f"--without={rule}" for rule in args.without.split(",") if rule]


def job() -> dict:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def answer(outcome: dict) -> dict:
    report = outcome["report"]
    if args.sample:
        return {"entries": round(outcome["events"] * scale)}
    return {
        "entries": outcome["events"],
        "payload_bytes": outcome["content_bytes"],
        "cpu_s": outcome["cpu_s"],
        "needed_bytes": report["bytes_baskets"],
        "stalls": report["stalls"],
        "serial_round_trips": report["serial_round_trips"],
    }


clock.run(job, answer, scale)
