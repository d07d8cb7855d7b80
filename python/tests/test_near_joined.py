"""Trees with friends, and chains: the same whether a server selects entries, they are read here
from it, or from this disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from . import differential_tables
from .root import by_root
from .test_chains import FILES, TESTDATA
from .test_near import notes, same
from .test_remote import serving

SEEDS = range(3)
CUTS = (None, "i > 2", "(x > 0.5) & ok", "j % 7 == 1", "i > 50")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees and RNTuples of several files, and files of the same entries beside them."""
    folder = tmp_path_factory.mktemp("joined")
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        for part, entries in enumerate(random.integers(1, 400, 3).tolist()):
            for number, name in enumerate(("main", "beside")):
                columns = differential_tables.common(seed * 100 + part * 10 + number, entries)
                if name == "beside":
                    columns = {"weight": random.random(entries), **columns}
                for is_ntuple in (False, True):
                    path = folder / f"{name}-{seed}-{kind(is_ntuple)}-{part}.root"
                    differential_tables._write(path, name, columns, seed, is_ntuple)
    for name in FILES:
        shutil.copy(TESTDATA / f"{name}.root", folder)
    return folder


def kind(is_ntuple: bool) -> str:
    return "ntuple" if is_ntuple else "tree"


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[str]:
    with serving(folder, "--select") as host:
        yield host


def places(folder: Path, host: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Where the files are, and the arguments with which they are opened."""
    return {
        "local": (f"{folder}/", {}),
        "here": (f"root://{host}//", {"near": False}),
        "root": (f"root://{host}//", {"near": True}),
        "http": (f"http://{host}/", {"near": True}),
        "auto": (f"http://{host}/", {"near": "auto"}),
    }


def agree(found: dict[str, Any], what: object) -> Any:
    """Compares arrays, or lists of them, with those of the local file."""
    local = found.pop("local")
    for place, other in found.items():
        assert type(other) is type(local), (what, place)
        for one, mine in zip(steps_of(local), steps_of(other), strict=True):
            assert len(one) == len(mine), (what, place)
            same(mine, one)
    return local


def steps_of(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def range_of(random: Any, entries: int) -> dict[str, int]:
    start, stop = sorted(random.integers(0, entries + 1, 2).tolist())
    return {"entry_start": start, "entry_stop": stop}


# --- Chains


@pytest.mark.parametrize("is_ntuple", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_chains(folder: Path, host: str, seed: int, is_ntuple: bool) -> None:
    files = [f"main-{seed}-{kind(is_ntuple)}-{part}.root:main" for part in range(3)]
    random = np.random.default_rng(seed)
    chains: dict[str, Any] = {
        place: farroot.chain([top + file for file in files], **options)
        for place, (top, options) in places(folder, host).items()
    }
    entries = chains["local"].num_entries
    some = random.choice(chains["local"].keys(), 3, replace=False).tolist()
    left = 0
    for cut in CUTS:
        for columns in (None, some, ["i", "x * 2"]):
            for ends in ({}, range_of(random, entries)):
                what = cut, columns, ends
                found = {
                    place: chain.arrays(columns, cut=cut, **ends) for place, chain in chains.items()
                }
                left += len(agree(found, what))
        steps = {
            place: list(chain.iterate(some, cut=cut, step_size=77))
            for place, chain in chains.items()
        }
        agree(steps, cut)
    assert left > entries
    # The report of a chain has the notes of the whole process.
    for chain in (chains["root"], chains["http"]):
        assert not [note for note in notes(chain).splitlines() if f"{host} does not" in note]


# --- Friends


@pytest.mark.parametrize("is_ntuple", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_friends_of_the_call(folder: Path, host: str, seed: int, is_ntuple: bool) -> None:
    """A friend is a tree or an RNTuple, whatever the file is."""
    random = np.random.default_rng(seed)
    other = kind(is_ntuple != bool(seed % 2))

    def found(how: Any, columns: Any, cut: str | None, **options: Any) -> dict[str, Any]:
        results = {}
        for place, (top, access) in places(folder, host).items():
            files = [f"{top}main-{seed}-{kind(is_ntuple)}-{part}.root:main" for part in range(3)]
            friends = {"f": [f"{top}beside-{seed}-{other}-{part}.root:beside" for part in range(3)]}
            read = how(files, columns, cut, friends=friends, **access, **options)
            results[place] = read if isinstance(read, ak.Array) else list(read)
        return results

    cuts = (*CUTS, "f.weight > 0.7", "(f.i > 0) & (i > 0)", "f.weight < 0")
    for cut in cuts:
        columns = [*random.choice(["i", "pt", "s", "pair", "hits"], 2, replace=False), "f.weight"]
        mine = agree(found(farroot.concatenate, [*columns, "f.hits", "x + f.x"], cut), cut)
        assert set(mine.fields) == {*columns, "f.hits", "x + f.x"}
        agree(found(farroot.iterate, [*columns, "f.s"], cut, step_size=61), cut)
    agree(found(farroot.concatenate, ["i", "pt"], "f.weight > 0.7"), "only in the cut")


@pytest.mark.parametrize("friend", ["chain.root:weights", "chain_weights.root:weights"])
def test_friends_that_are_added(folder: Path, host: str, friend: str) -> None:
    """To a chain and to one of its trees; the friend is shorter than the chain."""
    for name in ("chain.root:series", "chain_1.root:events"):
        tables: dict[str, Any] = {}
        for place, (top, options) in places(folder, host).items():
            tables[place] = farroot.open(top + name, **options)
            tables[place].add_friend(top + friend, "more")
        for cut in (None, "x > 20", "more.w >= 35", "x % 9 == 2"):
            for columns in (["x", "more.w"], ["xs", "more.ws", "x + more.w"], ["x"]):
                found = {place: each.arrays(columns, cut) for place, each in tables.items()}
                assert len(agree(found, (name, cut, columns))) > 0


def test_friends_that_the_file_has(folder: Path, host: str) -> None:
    """A file of ROOT's: a chain with a friend, which lacks the last ten entries, and an alias."""
    tables: dict[str, Any] = {
        place: farroot.open(f"{top}chain.root:series", **options)
        for place, (top, options) in places(folder, host).items()
    }
    for cut in (None, "x > 83", "w > 85", "(w > 85) | (x > 97)", "twice < 9"):
        for columns in (None, ["x", "weights.w"], ["ws", "twice"], ["xs"]):
            found = {place: each.arrays(columns, cut) for place, each in tables.items()}
            assert len(agree(found, (cut, columns))) > 0
    assert "columns of friends are read here" in notes(tables["root"])
    with farroot.reporting() as report:
        tables["root"].arrays(["xs", "twice"], "x > 83")
    assert [source["name"] for source in report["sources"]] == [f"http://{host}"]


#: Writes trees with friends in another file, in the same one, and one that is shorter.
BY_ROOT = """
import os, sys
import numpy as np
import ROOT

os.chdir(sys.argv[1])
random = np.random.default_rng(int(sys.argv[2]))
count = int(random.integers(200, 400))

def tree(name, column, entries):
    made, value = ROOT.TTree(name, ""), np.zeros(1)
    items = ROOT.std.vector("float")()
    made.Branch(column, value, column + "/D")
    made.Branch(column + "s", items)
    for _ in range(entries):
        value[0] = random.normal()
        items.clear()
        for item in random.normal(size=random.integers(0, 4)):
            items.push_back(item)
        made.Fill()
    made.Write()
    return made

other = ROOT.TFile(f"other-{sys.argv[2]}.root", "recreate")
tree("far", "a", count), tree("short", "b", count // 2)
other.Close()
main = ROOT.TFile(f"friends-{sys.argv[2]}.root", "recreate")
tree("beside", "c", count)
events = tree("events", "x", count)
events.AddFriend("far", f"other-{sys.argv[2]}.root")
events.AddFriend("s = short", f"other-{sys.argv[2]}.root")
events.AddFriend("beside", "")
events.SetAlias("sum", "x + c")
events.Write("", ROOT.TObject.kOverwrite)
main.Close()
"""


@pytest.mark.interop
@pytest.mark.parametrize("seed", SEEDS)
def test_friends_that_root_has_written(folder: Path, host: str, seed: int) -> None:
    by_root(BY_ROOT, folder, seed)
    tables: dict[str, Any] = {
        place: farroot.open(f"{top}friends-{seed}.root:events", **options)
        for place, (top, options) in places(folder, host).items()
    }
    assert set(tables["local"].friends) == {"far", "s", "beside"}
    entries = tables["local"].num_entries
    random = np.random.default_rng(seed)
    for cut in (None, "x > 1", "far.a > 0.5", "(c > 0) & (x < 0)", "s.b > 0", "sum > 0"):
        for columns in (["x", "xs"], ["x", "far.as", "c"], ["s.b", "bs", "sum"]):
            for ends in ({}, range_of(random, entries)):
                found = {place: each.arrays(columns, cut, **ends) for place, each in tables.items()}
                agree(found, (cut, columns, ends))
    assert len(tables["root"].arrays(["x"], "far.a > 0.5")) > 0
