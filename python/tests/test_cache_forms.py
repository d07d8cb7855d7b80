"""Baskets and pages of LZMA, which the cache on this machine's disk has with a fast codec."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .test_remote import serving

#: Reads in the way that its arguments say, waits a moment, and prints a hash of all values.
READ = """
import hashlib, json, sys, time, farroot
address, way = sys.argv[1:]
tree = farroot.open(address)
if way == "all":
    arrays = [tree.arrays()]
elif way == "cut":
    arrays = [tree.arrays(cut="x > 1.5")]
elif way == "range":
    arrays = [tree.arrays(["x", "lists"], entry_start=7777, entry_stop=14321)]
elif way == "steps":
    arrays = list(tree.iterate(step_size=9000))
else:
    arrays = [tree[name].array() for name in tree.keys()]
values = repr([array.tolist() for array in arrays])
time.sleep(0.3)
report = farroot.report()
names = ("bytes_received", "bytes_cached", "bytes_slowly_decompressed", "requests")
hashed = hashlib.sha256(values.encode()).hexdigest()
print(json.dumps({"values": hashed, **{name: report[name] for name in names}}))
"""

WAYS = ("all", "cut", "range", "steps", "columns")
CODECS = {
    "lzma": farroot.LZMA(3),
    "zlib": farroot.ZLIB(1),
    "lz4": farroot.LZ4(1),
    "zstd": farroot.ZSTD(1),
    "none": None,
}


ENTRIES = 40_000
#: Decompressed bytes of columns that come with the metadata, at most.
WITH_METADATA = 200_000


def environment(folder: Path, **settings: str) -> dict[str, str]:
    cache = {
        "FARROOT_CACHE": "1 GB",
        "FARROOT_CACHE_FOLDER": str(folder),
        "FARROOT_STORE": "0",
    }
    return {**os.environ, **cache, **settings}


def read(address: str, way: str, folder: Path, **settings: str) -> dict[str, Any]:
    """The output of a process of its own that has a cache in a folder."""
    command = [sys.executable, "-W", "error", "-c", READ, address, way]
    done = subprocess.run(
        command, env=environment(folder, **settings), capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def shell(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "farroot", *arguments]
    done = subprocess.run(
        command, env=environment(folder), capture_output=True, text=True, check=True
    )
    return done.stdout


def write(path: Path, codec: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.poisson(3, ENTRIES)
    inner = random.poisson(2, int(counts.sum()))
    numbers = random.integers(0, 100, int(inner.sum())).astype(np.float32)
    nested = ak.unflatten(ak.unflatten(numbers, inner), counts)
    columns = {
        "x": np.round(random.exponential(2, ENTRIES), 2),
        "flag": random.random(ENTRIES) < 0.1,
        "lists": ak.unflatten(random.poisson(5, int(counts.sum())).astype(np.int32), counts),
        "text": ak.Array([f"event {n % 97}" for n in range(ENTRIES)]),
    }
    with farroot.recreate(path, compression=CODECS[codec], cluster=2000) as file:
        file.mktree("t", columns)
        file.mkrntuple("n", {**columns, "nested": nested})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    for codec in CODECS:
        write(folder / f"{codec}.root", codec, seed=5)
    return folder


@pytest.fixture(scope="module")
def host(files: Path) -> Iterator[str]:
    with serving(files) as host:
        yield host


def until_fast(address: str, way: str, folder: Path, **settings: str) -> dict[str, Any]:
    """The first read that decompresses slowly only what comes with the metadata, in the first and
    the last bytes of the file. Packing waits for a processor: on a loaded machine one read is not
    enough."""
    for _ in range(20):
        again = read(address, way, folder, **settings)
        if again["bytes_slowly_decompressed"] <= WITH_METADATA:
            return again
    raise AssertionError(f"still {again}")


@pytest.mark.parametrize("table", ["t", "n"])
def test_no_read_gives_other_values(host: str, tmp_path: Path, table: str) -> None:
    address = f"root://{host}//lzma.root:{table}"
    off = {way: read(address, way, tmp_path / "off", FARROOT_CACHE="0") for way in WAYS}
    folder = tmp_path / "cache"
    for way in WAYS:
        first = read(address, way, folder)
        assert first["values"] == off[way]["values"]
    for way in WAYS:
        fast = until_fast(address, way, folder)
        assert fast["values"] == off[way]["values"]
        least = 0 if way == "range" else 4 * WITH_METADATA
        assert off[way]["bytes_slowly_decompressed"] > least
        # The open alone, and with it the first bytes.
        assert fast["requests"] <= 2
        # In the middle of the file nothing comes with the metadata.
        assert way != "range" or fast["bytes_slowly_decompressed"] == 0
    trusted = read(address, "all", folder, FARROOT_CACHE_CHECK="immutable")
    assert (trusted["requests"], trusted["values"]) == (0, off["all"]["values"])
    assert "are what was written" in shell(folder, "cache", "verify")
    (listed,) = map(json.loads, shell(folder, "cache", "ls", "--json").splitlines())
    assert 0 < listed["recompressed_disk_bytes"] < listed["disk_bytes"]
    assert "recompressed" in shell(folder, "cache", "ls")
    assert "with another codec" in shell(folder, "cache", "explain", address.rsplit(":", 1)[0])


@pytest.mark.parametrize("codec", ["zlib", "lz4", "zstd", "none"])
def test_what_is_fast_stays_as_it_is(host: str, tmp_path: Path, codec: str) -> None:
    for table in ("t", "n"):
        address = f"root://{host}//{codec}.root:{table}"
        first = read(address, "all", tmp_path)
        second = read(address, "all", tmp_path)
        assert first["values"] == second["values"]
        assert second["requests"] <= 2
        assert first["bytes_slowly_decompressed"] == 0
    (listed,) = map(json.loads, shell(tmp_path, "cache", "ls", "--json").splitlines())
    assert listed["recompressed_disk_bytes"] == 0


def test_copies_and_checksums_are_of_the_original(files: Path, host: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    address = f"root://{host}//lzma.root"
    read(f"{address}:t", "all", folder)
    fast = until_fast(f"{address}:t", "all", folder)
    shell(folder, "cp", address, str(tmp_path / "copy.root"))
    original = (files / "lzma.root").read_bytes()
    assert (tmp_path / "copy.root").read_bytes() == original
    # The copy has brought the original's bytes, and the next read gives the same values.
    assert until_fast(f"{address}:t", "all", folder)["values"] == fast["values"]


def test_originals_stay_where_both_are_wanted(host: str, tmp_path: Path) -> None:
    address = f"root://{host}//lzma.root:t"
    held = {}
    for form in ("original", "recompressed", "both"):
        folder = tmp_path / form
        settings = {"FARROOT_CACHE_FORM": form}
        first = read(address, "all", folder, **settings)
        if form == "original":
            second = read(address, "all", folder, **settings)
            assert second["bytes_slowly_decompressed"] == first["bytes_slowly_decompressed"]
        else:
            second = until_fast(address, "all", folder, **settings)
        assert second["values"] == first["values"]
        (listed,) = map(json.loads, shell(folder, "cache", "ls", "--json").splitlines())
        held[form] = listed
    assert held["both"]["held_bytes"] == held["original"]["held_bytes"]
    assert held["recompressed"]["held_bytes"] < held["original"]["held_bytes"] / 2
    assert held["original"]["recompressed_disk_bytes"] == 0
    assert held["recompressed"]["disk_bytes"] < held["both"]["disk_bytes"]


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    folder = tmp_path / "cache"
    write(served / "f.root", "lzma", seed=1)
    with serving(served) as host:
        address = f"root://{host}//f.root:n"
        read(address, "all", folder)
        old = until_fast(address, "all", folder)
        write(tmp_path / "new.root", "lzma", seed=2)
        os.utime(tmp_path / "new.root", (1, 1))
        (tmp_path / "new.root").replace(served / "f.root")
        off = read(address, "all", folder, FARROOT_CACHE="0")
        new = read(address, "all", folder)
        assert new["values"] == off["values"] != old["values"]
        assert until_fast(address, "all", folder)["values"] == off["values"]


def test_several_processes_at_the_same_time(host: str, tmp_path: Path) -> None:
    address = f"root://{host}//lzma.root:n"
    command = [sys.executable, "-W", "error", "-c", READ, address]
    started = [
        subprocess.Popen(
            [*command, way], env=environment(tmp_path / "cache"), stdout=subprocess.PIPE
        )
        for way in (*WAYS, *WAYS)
    ]
    results = [json.loads(process.communicate()[0]) for process in started]
    for way, result in zip((*WAYS, *WAYS), results, strict=True):
        off = read(address, way, tmp_path / "off", FARROOT_CACHE="0")
        assert result["values"] == off["values"]


def test_every_bit_that_flips_on_the_disk_is_a_miss(host: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    address = f"root://{host}//lzma.root:t"
    read(address, "all", folder)
    right = until_fast(address, "all", folder)["values"]
    random = np.random.default_rng(7)
    for segment in sorted(folder.rglob("*.far")):
        whole = bytearray(segment.read_bytes())
        for at in random.integers(56, len(whole), len(whole) // 500):
            whole[at] ^= 1 << int(random.integers(8))
        segment.write_bytes(whole)
    damaged = read(address, "all", folder)
    assert damaged["values"] == right
    assert damaged["bytes_received"] > 4096
