"""The pages for users: every Python block and every shell line of them runs as printed.

Only the places differ: the servers that the pages name stand for one on this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .root import written_by
from .skips import corpus_folder, has_root, need_root
from .test_remote import serving

ROOT = Path(__file__).parents[2]

#: Also without ROOT, but for some blocks.
pytestmark = pytest.mark.interop
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Servers of the pages. The path behind is looked for at the top of the one that stands for them.
HOSTS = re.compile(r"(root|http)://(?:eos\.example|a|b)/+(?:store/)?")


#: Lines of a bar and of the log, which the pages switch on.
SAID = ("farroot: ", "INFO:farroot:")
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(page.read_text())
    return [text for language, text in found if language in languages]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the servers of the pages, as far as a page reads them."""
    folder = tmp_path_factory.mktemp("store")
    random = np.random.default_rng(1)

    def write(path: Path, name: str, columns: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with uproot.recreate(path) as file:
            types = {
                name: column.dtype if isinstance(column, np.ndarray) else column.type.content
                for name, column in columns.items()
            }
            file.mktree(name, types).extend(columns)

    def jagged(counts: Any) -> Any:
        return ak.unflatten(random.exponential(30, counts.sum()).astype(np.float32), counts)

    def nano(path: Path, entries: int) -> None:
        muons, jets = random.poisson(1.5, entries), random.poisson(4, entries)
        columns = {
            "run": np.full(entries, 1, dtype=np.int32),
            "event": np.arange(entries),
            "MET_pt": random.exponential(30, entries),
            "Muon_pt": jagged(muons),
            "Jet_pt": jagged(jets),
            "Jet_eta": jagged(jets),
        }
        write(path, "Events", columns)

    nano(folder / "nano.root", 2000)
    write(folder / "weights.root", "w", {"nominal": random.random(2000)})
    write(folder / "bdt.root", "scores", {"signal": random.random(2000)})
    for number in range(3):
        nano(folder / f"run3/{number}.root", 300)
        write(folder / f"run3/weights/{number}.root", "w", {"nominal": random.random(300)})
    with uproot.recreate(folder / "hists.root") as file:
        for name in ("pt", "eta"):
            file[f"muons/{name}"] = np.histogram(random.normal(size=100), bins=20)
    if has_root():
        written = written_by("joined_ntuples", tmp_path_factory.mktemp("joined"))
        (written / "attributes.root").rename(folder / "noted.root")
        written = written_by("field", tmp_path_factory.mktemp("hits"), "hits")
        (written / "hits_0_False.root").rename(folder / "hits.root")
    return folder


@pytest.fixture(scope="module")
def host(store: Path) -> Iterator[str]:
    with serving(store) as host:
        yield host


@pytest.fixture
def here(tmp_path: Path, store: Path) -> Path:
    """An empty folder to work in, with links to the files that pages name without a server."""
    for file in store.iterdir():
        (tmp_path / file.name).symlink_to(file)
    corpus = corpus_folder()
    if corpus is not None:
        (tmp_path / "online.root").symlink_to(corpus / "uproot-issue407.root")
    return tmp_path


def run(command: list[str], here: Path, host: str) -> str:
    """The output of a command, with the servers of the pages replaced in its arguments."""
    command = [HOSTS.sub(rf"\1://{host}//", each) for each in command]
    done = subprocess.run(
        command, cwd=here, env=environment(here), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"
    said = [line for line in done.stderr.splitlines() if not line.startswith(SAID)]
    assert said == [] or "--report" in command[-1], done.stderr
    return done.stdout


def environment(here: Path) -> dict[str, str]:
    """Where the shell finds this package's command."""
    command = here / "bin/farroot"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m farroot "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


def is_possible(block: str, here: Path) -> bool:
    """Whether files that only ROOT writes, or that are in the corpus, are there if it wants one."""
    wanted = [name for name in ("online.root", "hits.root", "noted.root") if name in block]
    return all((here / name).exists() for name in wanted)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_python_of_the_pages_runs(page: Path, here: Path, host: str) -> None:
    """Block after block, as one who reads the page would type them."""
    possible = [block for block in blocks(page, "python") if is_possible(block, here)]
    run([sys.executable, "-W", "error", "-c", "\n".join(possible)], here, host)


def test_shell_lines_of_the_pages_run(store: Path, here: Path, host: str) -> None:
    lines = [
        line.removeprefix("$ ")
        for page in PAGES
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ farroot")
    ]
    assert len(lines) >= 9
    for line in lines:
        if " serve " in line:
            # It goes on until it is ended; the port is that of whichever server was first.
            _, _, _, *options = shlex.split(line, comments=True)
            with serving(store, *options) as other:
                assert farroot.open(f"root://{other}//nano.root:Events").num_entries == 2000
        else:
            run(["sh", "-c", line], here, host)


def test_the_example_of_a_streamer_written_by_hand(here: Path, host: str) -> None:
    """It reads a file that ROOT has written."""
    need_root()
    (block,) = [
        block for block in blocks(ROOT / "docs/python.md", "python") if "hits.root" in block
    ]
    printing = "\nprint(farroot.open('hits.root:tree')['hits'].array().to_list())"
    code = "import farroot\n" + block + printing
    hits = [[{"channel": i, "charge": i / 2}] * (i % 3) for i in range(30)]
    assert run([sys.executable, "-W", "error", "-c", code], here, host) == f"{hits}\n"
