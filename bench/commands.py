"""Runs one command of an experiment in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from model import CannotRunError

ROOT = Path(__file__).resolve().parents[1]


def python() -> str:
    """The interpreter that has the peers and farroot."""
    return os.environ.get("FARROOT_PYTHON", sys.executable)


def path_of(program: str, variable: str) -> str:
    """Where an optimised program of this workspace is, unless the variable names another."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return os.environ.get(variable, str(target / "release" / program))


def built(program: str, variable: str, package: str) -> str:
    """The same of a program that has been built."""
    path = path_of(program, variable)
    if not Path(path).exists():
        raise CannotRunError(f"{path} is not there: cargo build --release {package}")
    return path


def lab() -> str:
    return built("farroot-lab", "FARROOT_LAB", "-p farroot-lab")


def set_link(host: str, knobs: list[str]) -> None:
    subprocess.run([lab(), "set", host, *knobs], check=True, stdout=subprocess.DEVNULL)


def base_environment() -> dict[str, str]:
    """Of this process, without the variable that would make each import compile farroot's modules:
    they lie in the checkout, while pip has compiled those of its peers."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def answer_of(command: list[str], environment: dict[str, str], timeout_s: float) -> dict:
    """The last line of JSON that the command prints. Without one, `failed` in the answer says why:
    a failure stays a row of the table. `environment` is added to that of this process."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**base_environment(), **environment},
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {timeout_s:g} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    output = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
    # The line that names the error, where the message has several lines.
    why = next((line for line in reversed(output) if "Error" in line), output[-1])
    return {"failed": f"exit {done.returncode}: {why[:200]}"}
