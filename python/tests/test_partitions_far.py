"""Partitions of remote files, with metadata, servers and friends."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .test_remote import serving

#: A new worker on another machine, which has only the partitions.
WORKER = """
import json, pickle, sys
import farroot

(_, path, *numbers) = sys.argv
with open(path, "rb") as file:
    parts = pickle.load(file)
done = []
for number in numbers:
    with farroot.reporting() as report:
        try:
            total = float(parts[int(number)].arrays(library="np")["x3"].sum())
        except farroot.ChangedError as error:
            total = str(error)
    done.append([total, report["bytes_metadata"]])
print(json.dumps(done))
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose metadata are at its end, and too large to arrive with the open by chance."""
    folder = tmp_path_factory.mktemp("far")
    write(folder / "far.root", 1)
    return folder


def write(path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    with uproot.recreate(path) as file:
        tree = file.mktree("tree", {f"x{number}": "f8" for number in range(40)})
        for _ in range(4):
            tree.extend({f"x{number}": random.random(1000) for number in range(40)})


@pytest.fixture(scope="module")
def host(far: Path) -> Iterator[str]:
    with serving(far) as host:
        yield host


def in_a_worker(parts: farroot.Partitions, folder: Path, *numbers: int) -> list[Any]:
    """Reads partitions in a new process: for each, its sum or error and the bytes of metadata."""
    (folder / "parts").write_bytes(pickle.dumps(parts))
    command = [sys.executable, "-c", WORKER, str(folder / "parts"), *map(str, numbers)]
    environment = {**os.environ, "FARROOT_STORE_FOLDER": str(folder / "store"), "FARROOT_STORE": ""}
    del environment["FARROOT_STORE"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[None]:
    before = farroot.config()
    farroot.config(store_folder=tmp_path / "planner", store="10 MB")
    yield
    farroot.config(store_folder=before["store_folder"] or "", store=before["store"])


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_a_new_worker_asks_for_no_metadata(host: str, tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://{host}//far.root:tree"
    parts = farroot.partitions(url, ["x3"], step_size=1000, metadata="embed")
    assert len(parts) == 4
    assert len(pickle.dumps(parts)) < len(pickle.dumps(parts[0])) + 1000, "once for a file"
    sums = [float(part.arrays(library="np")["x3"].sum()) for part in parts]
    found = in_a_worker(parts, tmp_path, 2, 0)
    assert [total for total, _ in found] == [sums[2], sums[0]]
    # The open fetches the file's first 4096 bytes, to compare them.
    assert [metadata for _, metadata in found] == [4096, 0]
    without = in_a_worker(farroot.partitions(url, ["x3"], step_size=1000), tmp_path / "..", 2)
    assert without[0][1] > 4096


def test_metadata_are_saved_once_for_a_file(host: str, tmp_path: Path) -> None:
    url = f"root://{host}//far.root:tree"
    parts = farroot.partitions(url, ["x3"], step_size=1000, metadata="embed")
    parts.save(tmp_path / "plan.json")
    assert farroot.Partitions.load(tmp_path / "plan.json") == parts
    assert farroot.Partition.from_dict(json.loads(json.dumps(parts[1].as_dict()))) == parts[1]
    metadata = parts[0].metadata
    assert metadata is not None
    assert (tmp_path / "plan.json").stat().st_size < 2 * len(metadata.stored) + 4000
    assert str(metadata.stored) not in repr(parts[0])


def test_a_file_that_changed_is_an_error_with_metadata_too(far: Path, tmp_path: Path) -> None:
    write(tmp_path / "far.root", 2)
    with serving(tmp_path) as host:
        url = f"root://{host}//far.root:tree"
        parts = farroot.partitions(url, ["x3"], step_size=1000, metadata="embed")
        write(tmp_path / "far.root", 3)
        ((said, _),) = in_a_worker(parts, tmp_path, 1)
    assert "another file than when the partitions were made: " in said
    assert "uuid was" in said


def test_the_servers_of_a_file_are_named(host: str, far: Path) -> None:
    (part,) = farroot.partitions(f"root://{host}//far.root:tree", ["x3"])
    assert part.servers == (f"root://{host}",)
    (part,) = farroot.partitions(f"{far / 'far.root'}:tree", ["x3"])
    assert part.servers == ()
    assert part.metadata is None


def test_servers_of_files_are_located(host: str, far: Path) -> None:
    far_away, near = f"root://{host}//far.root:tree", f"{far / 'far.root'}:tree"
    with farroot.reporting() as report:
        parts = farroot.partitions([far_away, near, far_away], blind=2, locate=True)
    here, nowhere = (f"root://{host}",), ()
    assert [part.servers for part in parts] == [here] * 2 + [nowhere] * 2 + [here] * 2
    assert report["bytes_received"] == 0, "no file is opened"
    (part,) = farroot.partitions(far_away, ["x3"], locate=True)
    assert part.servers == here
    assert part.identity is not None
    with pytest.raises(farroot.NotFoundError, match=r"absent\.root"):
        farroot.partitions(f"root://{host}//absent.root:tree", blind=1, locate=True)


def test_friends_go_along(host: str, tmp_path: Path) -> None:
    for number in range(2):
        with uproot.recreate(tmp_path / f"events{number}.root") as file:
            tree = file.mktree("tree", {"x": "i4"})
            tree.extend({"x": np.arange(100, dtype=np.int32)})
            tree.extend({"x": np.arange(100, 150, dtype=np.int32)})
        with uproot.recreate(tmp_path / f"weights{number}.root") as file:
            weights = file.mktree("w", {"weight": "f8"})
            for start in range(0, 150, 30):
                weights.extend({"weight": np.arange(start, start + 30) + 1000.0 * number})
    files = [f"{tmp_path}/events{number}.root:tree" for number in range(2)]
    friends = {"w": [f"{tmp_path}/weights{number}.root:w" for number in range(2)]}
    choices: list[dict[str, Any]] = [{"step_size": 100}, {"blind": 2}]
    for options in choices:
        parts = farroot.partitions(files, ["x", "w.weight"], friends=friends, **options)
        if "blind" not in options:
            assert [part.entries for part in parts] == [(0, 100), (100, 150)] * 2
        parts = pickle.loads(pickle.dumps(parts))
        arrays = [part.arrays(library="np") for part in parts]
        weight = np.concatenate([each["w.weight"] for each in arrays])
        x = np.concatenate([each["x"] for each in arrays])
        assert np.array_equal(weight, x + 1000.0 * np.repeat([0, 1], 150))


def test_metadata_that_cannot_be_had_are_refused(host: str) -> None:
    url = f"root://{host}//far.root:tree"
    with pytest.raises(farroot.InvalidArgumentError, match="blind"):
        farroot.partitions(url, blind=2, metadata="embed")
    with pytest.raises(farroot.InvalidArgumentError, match="embed"):
        farroot.partitions(url, metadata="all")  # type: ignore[arg-type]
    farroot.config(store=0)
    with pytest.raises(farroot.InvalidArgumentError, match="store of metadata"):
        farroot.partitions(url, metadata="embed")


def test_metadata_of_another_version_are_refused(host: str) -> None:
    (part,) = farroot.partitions(f"root://{host}//far.root:tree", ["x3"], metadata="embed")
    record = json.loads(json.dumps(part.as_dict()))
    record["metadata"]["stored"] = "bm90aGluZw=="
    record["url"] = record["url"].replace("far.root", "other.root")
    with pytest.raises(farroot.InvalidArgumentError, match="make the partitions anew"):
        farroot.Partition.from_dict(record).arrays()
