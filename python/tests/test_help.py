"""Examples in the help of the shell command: each runs as printed.

Only the servers differ: the one that the lines name stands for one on this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import farroot

from .test_docs import HOSTS, environment
from .test_remote import serving

#: Verbs whose options have examples, and their arguments beside one of these options.
VERBS = {
    "cat": ["nano.root:Events"],
    "show": ["nano.root:Events"],
    "plan": ["nano.root:Events"],
    "map": ["nano.root:Events", "--svg", "map.svg"],
    "skim": ["nano.root:Events", "few.root", "--force"],
}
OPTION = re.compile(r"^ {2,6}(?:-\w, |    )?(--[\w-]+)", re.MULTILINE)


def command(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "farroot", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def help_of(*verb: str) -> str:
    done = command(*verb, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def verbs(*verb: str) -> list[str]:
    """All that the command does, or one of its verbs, as its help lists it."""
    listed = help_of(*verb).partition("Commands:\n")[2].partition("\n\n")[0]
    return [name for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE) if name != "help"]


def examples(*verb: str) -> list[str]:
    """The lines with which the help of a verb ends."""
    _, _, listed = help_of(*verb).partition("\nExamples:\n")
    lines = listed.splitlines()
    assert all(re.match(r"  \S", line) and len(line) <= 100 for line in lines), (verb, lines)
    return [line.strip() for line in lines]


def examples_of_options(verb: str) -> list[tuple[str, str]]:
    """Options of a verb, and the values in quotes that their descriptions have."""
    text = help_of(verb).partition("\nOptions:\n")[2]
    starts = [*OPTION.finditer(text)]
    ends = [*(start.start() for start in starts[1:]), len(text)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        description = " ".join(text[start.end() : end].split())
        found += [(start[1], value) for value in re.findall(r"'([^']+)'", description)]
    return [(option, value) for option, value in found if option != "--help"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file that the examples name columns of."""
    made = tmp_path_factory.mktemp("help")
    lists = ak.Array([[30.0, 12.0], [], [45.0]])
    columns = {
        "MET_pt": np.array([60.0, 55.0, 20.0]),
        "MET_sumEt": np.array([100.0, 200.0, 300.0]),
        "Muon": ak.zip({"pt": lists}),
        "Jet": ak.zip({"pt": lists, "eta": lists}),
    }
    with farroot.recreate(made / "nano.root") as file:
        file.mktree("Events", columns)
    return made


@pytest.fixture
def desk(folder: Path, tmp_path: Path) -> Path:
    """A home with the files that the examples at the end name."""
    nano = (folder / "nano.root").read_bytes()
    for name in ("nano.root", "run3/0.root", "run3/1.root", "data/0.root"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(nano)
    (tmp_path / "analysis.py").write_text("print(1)\n")
    return tmp_path


@pytest.fixture
def run(desk: Path) -> Iterator[Callable[[str], None]]:
    """Runs a line as a shell does; a server is ended when it has said its address."""
    others = {name: value for name, value in environment(desk).items() if "TOKEN" not in name}
    home = {"HOME": str(desk), "FARROOT_CACHE": "1 MB", "FARROOT_CACHE_FOLDER": str(desk / "kept")}

    def of_server(line: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line} --port 0"],
            cwd=desk,
            env={**others, **home},
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            said = process.stdout.readline()
            process.terminate()
        assert said.startswith("root://"), (line, said)

    with serving(desk) as host:
        (desk / "dataset.txt").write_text(f"root://{host}//nano.root\n")

        def run(line: str) -> None:
            if re.match("farroot (serve|proxy)\\b", line):
                of_server(line)
                return
            done = subprocess.run(
                ["bash", "-c", HOSTS.sub(rf"\1://{host}//", line)],
                cwd=desk,
                env={**others, **home},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

        yield run


def test_every_verb_has_help() -> None:
    listed = verbs()
    assert {*VERBS} < {*listed}
    assert len(listed) >= 16
    for verb in listed:
        assert "Usage: farroot" in help_of(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_of_options_run(folder: Path, verb: str) -> None:
    examples = examples_of_options(verb)
    assert ("--columns", "Jet_*") in examples
    for option, value in examples:
        done = command(verb, *VERBS[verb], option, value, folder=folder)
        assert done.returncode == 0, f"{verb} {option} {shlex.quote(value)}: {done.stderr}"


def test_every_verb_ends_with_examples_that_run(run: Callable[[str], None]) -> None:
    listed = [(verb,) for verb in verbs()] + [("cache", verb) for verb in verbs("cache")]
    for verb in listed:
        lines = examples(*verb)
        assert 1 <= len(lines) <= 2, verb
        for line in lines:
            assert " ".join(["farroot", *verb]) in line
            run(line)
