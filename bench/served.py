"""`farroot serve` as the server of an experiment: in the lab, or on this machine."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import commands

#: Its port in the lab.
PORT = 1094


def command(*words: str) -> list[str]:
    """The installed command, or the program that the variable names."""
    program = os.environ.get("FARROOT_COMMAND")
    return [*([program] if program else [commands.python(), "-m", "farroot"]), "serve", *words]


def far(options: tuple[str, ...]) -> list[str]:
    """Options of `farroot-lab run`."""
    words = command(*options, "--address", "0.0.0.0", "--port", str(PORT))
    shell = f'exec {shlex.join(words)} "$FARLAB_DIRECTORY"'
    return ["--server", shell, "--server-port", str(PORT)]


@contextmanager
def here(folder: Path, options: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """A server on free ports of this machine: its addresses by scheme."""
    words = command(str(folder), *options, "--port", "0")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found: dict[str, str] = {}
        schemes = ("root", "http", *(["grpc"] if "--flight" in options else []))
        for line in process.stdout:
            if address := re.search(r"(\w+)://127\.0\.0\.1:\d+", line):
                found[address[1]] = address[0] + ("/" if address[1] == "root" else "")
            if all(scheme in found for scheme in schemes):
                break
        else:
            raise RuntimeError(f"no server has started: {shlex.join(words)}")
        yield found
    finally:
        process.terminate()
        process.wait()
