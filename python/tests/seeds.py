"""Common parts of seeded classes of trees and seeded types of RNTuples."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from .root import written_by


def written(
    script: str, source: Callable[[list[int]], str], folder: Path, first: int, seeds: int
) -> list[Path]:
    """The files that a script writes of the code for some seeds."""
    (folder / "generated.h").write_text(source(list(range(first, first + seeds))), encoding="utf-8")
    return sorted(written_by(script, folder, first, seeds).glob("*.root"))


def main(
    write: Callable[[Path, int, int], list[Path]], compare: Callable[[Path], Iterable[str]]
) -> int:
    """Prints the differences in the files of the seeds FIRST and so many from it."""
    first, seeds = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        faults = [fault for path in write(Path(folder), first, seeds) for fault in compare(path)]
    print("\n".join(faults))
    return 1 if faults else 0
