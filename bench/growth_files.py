"""Makes the files that growth.py measures: of each kind one, or a folder, for each size.

    python bench/growth_files.py KIND SIZE

They are made once each, in processes of their own, into bench/out/data/growth. farroot writes those
that it can write; ROOT writes the others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import data
import numpy as np

FOLDER = data.DATA / "growth"
TREE = "t"
ENTRIES = 3


def path_of(kind: str, size: int) -> Path:
    """The file or folder, made if need be."""
    target = FOLDER / f"{kind}-{size}.root"
    if not target.exists():
        here = Path(__file__).resolve()
        subprocess.run([sys.executable, str(here), kind, str(size)], check=True, cwd=here.parent)
    return target


def make(kind: str, size: int) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    target = FOLDER / f"{kind}-{size}.root"
    unfinished = target.with_suffix(f".{os.getpid()}.root")
    MAKERS[kind](unfinished, size)
    if target.is_dir():
        shutil.rmtree(target)
    os.replace(unfinished, target)


def of_columns(size: int, entries: int = ENTRIES) -> dict[str, np.ndarray]:
    return {f"c{number}": np.arange(entries) for number in range(size)}


def columns(method: str) -> Callable[[Path, int], None]:
    """A table of so many columns of three entries."""

    def made(path: Path, size: int) -> None:
        import farroot

        with farroot.recreate(path) as file:
            getattr(file, method)(TREE, of_columns(size))

    return made


def clusters(method: str) -> Callable[[Path, int], None]:
    """Two columns in so many clusters of ten entries: as many baskets, or pages, of each."""

    def made(path: Path, size: int) -> None:
        import farroot

        with farroot.recreate(path, cluster=10, compression=None) as file:
            entries = np.arange(10 * size)
            getattr(file, method)(TREE, {"c0": entries, "c1": entries % 100, "c2": entries % 7})

    return made


def entries(method: str) -> Callable[[Path, int], None]:
    """So many entries of a number and of a list of numbers."""

    def made(path: Path, size: int) -> None:
        import awkward as ak
        import farroot

        numbers = np.arange(size)
        lists = ak.unflatten(np.arange(3 * size), np.full(size, 3))
        with farroot.recreate(path) as file:
            getattr(file, method)(TREE, {"c0": numbers, "c1": numbers % 100, "c2": lists})

    return made


def record(path: Path, size: int) -> None:
    """An RNTuple with one field that has so many fields."""
    import awkward as ak
    import farroot

    with farroot.recreate(path) as file:
        file.mkrntuple(TREE, {"r": ak.zip(of_columns(size))})


def keys(path: Path, size: int) -> None:
    """So many histograms in one directory."""
    import farroot

    with farroot.recreate(path) as file:
        for number in range(size):
            file[f"h{number}"] = histogram(10)


def histogram(bins: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(bins) % 7, np.arange(bins + 1)


def directories(path: Path, size: int) -> None:
    """So many directories, a histogram in each."""
    import farroot

    with farroot.recreate(path) as file:
        for number in range(size):
            file[f"d{number}/h"] = histogram(10)


def bins(path: Path, size: int) -> None:
    """A histogram of so many bins."""
    import farroot

    with farroot.recreate(path) as file:
        file["h"] = histogram(size)


def labels(path: Path, size: int) -> None:
    """A histogram with so many labels."""
    import farroot
    import hist

    filled = hist.Hist(hist.axis.StrCategory([f"label {number}" for number in range(size)]))
    filled.view()[...] = np.arange(size)
    with farroot.recreate(path) as file:
        file["h"] = filled


def tables(method: str) -> Callable[[Path, int], None]:
    """So many tables of one column in one file."""

    def made(path: Path, size: int) -> None:
        import farroot

        with farroot.recreate(path) as file:
            for number in range(size):
                getattr(file, method)(f"t{number}", {f"f{number}": np.arange(ENTRIES)})

    return made


def files(method: str) -> Callable[[Path, int], None]:
    """A folder of so many hard links to one small file."""

    def made(folder: Path, size: int) -> None:
        import farroot

        folder.mkdir()
        first = folder / "0.root"
        with farroot.recreate(first) as file:
            getattr(file, method)(TREE, of_columns(3))
            file["h"] = histogram(10)
        for number in range(1, size):
            (folder / f"{number}.root").hardlink_to(first)

    return made


def cached(folder: Path, size: int) -> None:
    """A cache with a column of each of so many files."""
    import growth_served

    growth_served.fill_cache(folder, path_of("files", size), size)


def cycles(path: Path, size: int) -> None:
    """So many cycles of one key."""
    import ROOT

    file = ROOT.TFile(str(path), "RECREATE")
    kept = ROOT.TNamed("h", "title")
    for _ in range(size):
        kept.Write()
    file.Close()


def aliases(path: Path, size: int) -> None:
    """A tree with so many aliases of one column."""
    with _tree(path, size) as tree:
        for number in range(size):
            tree.SetAlias(f"a{number}", f"c0 + {number}")


def leaves(path: Path, size: int) -> None:
    """A branch with so many leaves."""
    import ROOT

    file = ROOT.TFile(str(path), "RECREATE")
    tree = ROOT.TTree(TREE, "")
    values = np.zeros(size, np.float32)
    tree.Branch("b", values, ":".join(f"c{number}/F" for number in range(size)))
    for _ in range(ENTRIES):
        tree.Fill()
    tree.Write()
    file.Close()


def split(path: Path, size: int) -> None:
    """A branch of an object that has been split into so many others."""
    import ROOT

    members = " ".join(f"float c{number} = {number};" for number in range(size))
    ROOT.gInterpreter.Declare(f"struct Wide {{ {members} }};")
    file = ROOT.TFile(str(path), "RECREATE")
    tree = ROOT.TTree(TREE, "")
    tree.Branch("b", ROOT.Wide())
    for _ in range(ENTRIES):
        tree.Fill()
    tree.Write()
    file.Close()


def items(path: Path, size: int) -> None:
    """A list of so many texts."""
    import ROOT

    file = ROOT.TFile(str(path), "RECREATE")
    kept = ROOT.TList()
    kept.SetOwner()
    for number in range(size):
        text = ROOT.TObjString(f"text {number}")
        ROOT.SetOwnership(text, False)
        kept.Add(text)
    file.WriteObject(kept, "l")
    file.Close()


def _tree(path: Path, size: int) -> Iterator:
    """A tree of ROOT's with one column."""
    import contextlib

    import ROOT

    @contextlib.contextmanager
    def opened() -> Iterator:
        file = ROOT.TFile(str(path), "RECREATE")
        tree = ROOT.TTree(TREE, "")
        value = np.zeros(1, np.float64)
        tree.Branch("c0", value, "c0/D")
        for _ in range(ENTRIES):
            tree.Fill()
        yield tree
        tree.Write()
        file.Close()

    return opened()


MAKERS: dict[str, Callable[[Path, int], None]] = {
    "columns": columns("mktree"),
    "fields": columns("mkrntuple"),
    "baskets": clusters("mktree"),
    "clusters": clusters("mkrntuple"),
    "entries": entries("mktree"),
    "entries-ntuple": entries("mkrntuple"),
    "record": record,
    "split": split,
    "leaves": leaves,
    "keys": keys,
    "directories": directories,
    "cycles": cycles,
    "tables": tables("mktree"),
    "ntuples": tables("mkrntuple"),
    "files": files("mktree"),
    "files-ntuple": files("mkrntuple"),
    "aliases": aliases,
    "bins": bins,
    "labels": labels,
    "items": items,
    "requests": lambda path, size: keys(path, 1000),
    "clients": lambda path, size: keys(path, 1000),
    "cached": cached,
}

if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]))
