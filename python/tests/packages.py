"""The ROOT files that other packages of the registry carry, compared as those of the corpus are.

``python -m tests.packages`` fetches the packages (170 MB) and writes ``docs/packages.md``. They are
files of experiments that nobody here has chosen: NanoAOD, PHYSLITE, Delphes, EDM4hep, KM3NeT.
"""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import os
import re
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin

from . import corpus_root
from .corpus import OUTCOMES, Outcome, compare
from .skips import REPOSITORY, has_root

PAGE = REPOSITORY / "docs" / "packages.md"
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")


@dataclass(frozen=True)
class Package:
    """A release, the kind of its files, and the SHA-256 of the archive."""

    name: str
    version: str
    what: str
    sha256: str


PACKAGES = (
    Package(
        "coffea",
        "2026.9.0",
        "CMS NanoAOD as trees and RNTuples, ATLAS PHYSLITE, Delphes, EDM4hep, FCC, DUNE",
        "7dfc1b54d9d1533c8a5bd8a5786d13272ea1a170b0817061d4478f721aedae04",
    ),
    Package(
        "km3net-testdata",
        "0.4.31",
        "KM3NeT's events, data acquisition, simulations and calibrations",
        "1274b22f3dd869b05337199aa8e9b97388f2126633ded12ab003805e2024e173",
    ),
    Package(
        "uproot-custom",
        "2.5.1",
        "nested containers of every kind, arrays of them, pointers",
        "79247a5c5dc6f500173ece417760dc34c90c87c22915ef870bdf73630b2191ba",
    ),
    Package(
        "pybes3",
        "0.5.6",
        "BES III",
        "f3b94a74f07cdb8ae26891b9f29fbb48e96acdfff86c759a0078dad88d71860f",
    ),
    Package(
        "root_numpy",
        "4.8.0",
        "small trees of ROOT 5",
        "5842bbcde92133f60a61f56e9f0a875a0dbc2a567cc65a9ac141ecd72e416878",
    ),
    Package(
        "rootpy",
        "1.0.1",
        "small trees and directories of ROOT 5 and 6",
        "7d85fc8fc4ff96a833fa593be401aa4836b755757b518d23d4c00d7a105ce27e",
    ),
)
#: Why uproot reads objects that farroot refuses.
REFUSED = (
    "The unsupported columns are hits and frames of KM3NeT's data acquisition, which are not\n"
    "written as the file describes their classes. uproot reads their times as big-endian, and\n"
    "frames from a wrong offset. `farroot.register` can read them\n"
    "([python.md](python.md#classes-with-custom-streamers))."
)
#: Of the corpus's collection, too.
IN_COLLECTION = ("km3net_online.root", "km3net_offline.root", "usr-sample.root")


def fetch(package: Package) -> bytes:
    """The archive of a release, which the index names with its checksum (PEP 503)."""
    index = f"{INDEX}/{package.name}/"
    with urllib.request.urlopen(index, timeout=60) as answer:
        found = re.search(f'href="([^"]*)#sha256={package.sha256}"', answer.read().decode())
    if found is None:
        raise ValueError(f"{index} has no {package.name} {package.version} any more")
    with urllib.request.urlopen(urljoin(index, found[1]), timeout=600) as answer:
        content = bytes(answer.read())
    if hashlib.sha256(content).hexdigest() != package.sha256:
        raise ValueError(f"{found[1]} is not what the index says")
    return content


def root_files(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the ROOT files in a wheel or a source archive."""
    if zipfile.is_zipfile(io.BytesIO(archive)):
        with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
            for name in zipped.namelist():
                if name.endswith(".root"):
                    yield PurePosixPath(name).name, zipped.read(name)
        return
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.endswith(".root") else None
            if file is not None:
                yield PurePosixPath(member.name).name, file.read()


def compare_package(package: Package, folder: Path) -> list[Outcome]:
    """Compares every file of a package, written into the folder, with uproot."""
    paths = []
    for name, content in root_files(fetch(package)):
        if name not in IN_COLLECTION:
            paths.append(folder / name)
            paths[-1].write_bytes(content)
    # uproot takes classes that a file does not describe from files that it has read before.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context, max_tasks_per_child=1) as processes:
        outcomes = list(processes.map(compare, paths))
    return [outcome for outcome in outcomes if outcome.trees + outcome.ntuples]


def by_root(folder: Path, outcome: Outcome) -> corpus_root.Outcome:
    """ROOT's values of columns that differ from uproot's."""
    return corpus_root.compare(folder / outcome.file, outcome.different)


def page(rows: list[tuple[Package, list[Outcome]]], judged: list[corpus_root.Outcome]) -> str:
    """The counts as a page of the documentation."""
    total: Counter[str] = Counter()
    for _, outcomes in rows:
        for outcome in outcomes:
            total.update(outcome.counts)
    kinds = [kind for kind in OUTCOMES if total[kind]]
    lines = [
        "# Files in other packages",
        "",
        "`python -m tests.packages` in `python/` fetches the packages and generates this page.",
        "It compares every column with uproot, as in [corpus.md](corpus.md):",
        "",
        *(f"* **{kind}**: {OUTCOMES[kind]}" for kind in kinds),
        "",
        "| package | content | files | " + " | ".join(kinds) + " |",
        "|---|---|" + "---:|" * (len(kinds) + 1),
    ]
    for package, outcomes in rows:
        sums = sum((outcome.counts for outcome in outcomes), Counter[str]())
        counts = " | ".join(str(sums[kind] or "") for kind in kinds)
        name = f"{package.name} {package.version}"
        lines.append(f"| {name} | {package.what} | {len(outcomes)} | {counts} |")
    lines.append("")
    if total["unsupported"]:
        lines += [REFUSED, ""]
    verdicts = sum((each.counts for each in judged), Counter[str]())
    if judged:
        lines.append(
            f"Of the {sum(verdicts.values())} columns that differ from uproot's, ROOT reads "
            f"{verdicts['equal']} as farroot does.\nMost are of trees without entries, for which "
            "uproot does not name the class."
        )
        lines += [f"* {fault}" for each in judged for fault in each.faults]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    rows: list[tuple[Package, list[Outcome]]] = []
    judged: list[corpus_root.Outcome] = []
    with tempfile.TemporaryDirectory() as temporary:
        for package in PACKAGES:
            folder = Path(temporary) / package.name
            folder.mkdir()
            outcomes = compare_package(package, folder)
            rows.append((package, outcomes))
            if has_root():
                judged += [by_root(folder, each) for each in outcomes if each.different]
    text = page(rows, judged)
    PAGE.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
