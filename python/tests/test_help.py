"""Examples in the help of the shell command: each runs as printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import farroot

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


def verbs() -> list[str]:
    """All that the command does, as its help lists it."""
    listed = help_of().partition("Commands:\n")[2].partition("\n\n")[0]
    return [name for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE) if name != "help"]


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
