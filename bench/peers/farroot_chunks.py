"""farroot's engine from Rust: many chunks of one file. The program's start is on the clock."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import clock

args = clock.arguments(
    ("--chunks", {"type": int, "default": 50_000}),
    ("--bytes", {"type": int, "default": 10_000}),
    ("--stride", {"type": int, "default": 20_000}),
)
target = os.environ.get("CARGO_TARGET_DIR", Path(__file__).resolve().parents[2] / "target")
program = os.environ.get("FARROOT_CHUNKS", f"{target}/release/examples/chunks")
command = [program, args.url, str(args.chunks), str(args.bytes), str(args.stride)]


def job() -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


clock.run(job, json.loads)
