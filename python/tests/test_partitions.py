"""Reading spread over processes: planned, saved, mapped, and refused where a file has changed."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot import mapping

from .conftest import BASKET, write
from .same import same_awkward
from .test_remote import serving

NAMES = ["int32", "jag*", "float64"]


def tables(several: list[Path]) -> list[dict[Path, str]]:
    return [{path: "events"} for path in several]


@pytest.mark.parametrize("step", [{"step_size": 1}, {"step_size": "1 kB"}, {"step_size": "1 GB"}])
@pytest.mark.parametrize("measure", ["stored", "decoded"])
def test_partitions_hold_each_entry_once(
    several: list[Path], step: dict[str, Any], measure: Any
) -> None:
    parts = farroot.partitions(tables(several), NAMES, measure=measure, **step)
    assert parts.num_entries == 801
    together = ak.concatenate([part.arrays() for part in parts])
    assert same_awkward(together, farroot.concatenate(tables(several), NAMES))
    in_files = [[part for part in parts if part.url == str(path)] for path in several]
    for own, entries in zip(in_files, (300, 1, 500), strict=True):
        starts, stops = zip(*(part.entries or () for part in own), strict=True)
        assert [*starts, entries] == [0, *stops]
        assert all(start % BASKET == 0 for start in starts)
    if step["step_size"] == "1 GB":
        assert len(parts) == 3


def test_the_size_is_that_of_the_columns(made: Path) -> None:
    tree = farroot.open(f"{made}:events")
    few = farroot.partitions(f"{made}:events", "int32", step_size="3 kB")
    assert len(few) > 1
    plan = tree.plan(["int32"])
    assert few.stored_bytes == plan.stored_bytes
    for part in few:
        start, stop = part.entries or (0, 0)
        plan = tree.plan("int32", entry_start=start, entry_stop=stop)
        assert part.stored_bytes == plan.stored_bytes
        assert plan.stored_bytes <= 3000 or stop - start == BASKET
    together = farroot.partitions(f"{made}:events", "int32", step_size=2 * BASKET)
    assert [part.num_entries for part in together] == [340, 340, 320]


def test_a_cut_and_formulas_go_along(made: Path) -> None:
    parts = farroot.partitions(f"{made}:events", ["float64"], "int32 > 0")
    tree = farroot.open(f"{made}:events")
    (part,) = parts
    assert same_awkward(part.arrays(), tree.arrays(["float64"], "int32 > 0"))
    with pytest.raises(farroot.InvalidArgumentError, match="cut"):
        part.arrays(virtual=True)
    (without,) = farroot.partitions(f"{made}:events", ["float64"])
    assert same_awkward(without.arrays(virtual=True)["float64"], tree["float64"].array())


def test_partitions_are_small_and_survive_pickle_and_json(
    several: list[Path], tmp_path: Path
) -> None:
    parts = farroot.partitions(tables(several), NAMES, "int32 > 0", step_size="1 kB")
    assert all(len(pickle.dumps(part)) < 1000 for part in parts)
    assert pickle.loads(pickle.dumps(parts)) == parts
    parts.save(tmp_path / "plan.json")
    again = farroot.Partitions.load(tmp_path / "plan.json")
    assert again == parts
    assert same_awkward(again[0].arrays(), parts[0].arrays())
    for wrong in ("{}", '{"farroot_partitions": 2, "partitions": []}', "no json"):
        (tmp_path / "wrong.json").write_text(wrong)
        with pytest.raises(farroot.InvalidArgumentError, match=r"wrong\.json"):
            farroot.Partitions.load(tmp_path / "wrong.json")


def test_rntuples_are_divided_at_their_clusters(tmp_path: Path) -> None:
    path = tmp_path / "ntuple.root"
    with uproot.recreate(path) as file:
        ntuple = file.mkrntuple("ntuple", {"x": np.int64})
        for start in range(0, 1000, 100):
            ntuple.extend({"x": np.arange(start, start + 100)})
    parts = farroot.partitions({path: "ntuple"}, ["x"], step_size=250)
    assert [part.entries for part in parts] == [(n, n + 200) for n in range(0, 1000, 200)]
    assert np.concatenate([part.arrays(library="np")["x"] for part in parts]).tolist() == [
        *range(1000)
    ]


def test_blind_partitions_open_nothing_and_hold_each_entry_once(several: list[Path]) -> None:
    with farroot.reporting() as report:
        parts = farroot.partitions(tables(several), NAMES, blind=4)
    assert report["bytes_received"] == 0
    assert len(parts) == 12
    assert parts.num_entries is None
    together = ak.concatenate([part.arrays() for part in parts])
    assert same_awkward(together, farroot.concatenate(tables(several), NAMES))
    with pytest.raises(farroot.InvalidArgumentError, match="blind"):
        parts.to_coffea()
    with pytest.raises(farroot.InvalidArgumentError, match="blind"):
        farroot.partitions(tables(several), NAMES, blind=0)


def test_what_is_printed_and_saved_of_an_address_shows_no_secret(tmp_path: Path) -> None:
    url = "root://example//f.root?authz=Bearer%20secretsecret|https://example/f.root"
    (part,) = farroot.partitions({url: "events"}, blind=1)
    assert "secretsecret" not in repr(part)
    assert "https://example/f.root" in repr(part)
    farroot.Partitions([part]).save(tmp_path / "plan.json")
    assert stat.S_IMODE((tmp_path / "plan.json").stat().st_mode) == 0o600
    assert farroot.Partitions.load(tmp_path / "plan.json") == [part]


def test_a_changed_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "changing.root", seed=3, entries=200)
    (part,) = farroot.partitions({path: "events"}, ["int32"])
    before = part.arrays()
    write(path, seed=4, entries=200)
    assert same_awkward(part.arrays(), before), "the process has the file open that it was made of"
    (new,) = farroot.partitions({path: "events"}, ["int32"])
    assert not same_awkward(new.arrays(), before)
    with pytest.raises(farroot.ChangedError, match=r"uuid was .* make them anew"):
        part.arrays()
    with ProcessPoolExecutor(1) as pool, pytest.raises(farroot.ChangedError, match="uuid was"):
        farroot.map(total, [part], pool)


def total(part: farroot.Partition) -> int:
    return int(part.arrays(library="np")["int32"].astype(np.int64).sum())


@pytest.fixture(scope="module")
def sum_of_all(several: list[Path]) -> int:
    arrays = farroot.concatenate(tables(several), ["int32"], library="np")
    return int(arrays["int32"].astype(np.int64).sum())


def test_functions_are_mapped_in_processes_threads_and_here(
    several: list[Path], sum_of_all: int
) -> None:
    parts = farroot.partitions(tables(several), ["int32"], step_size=100)
    in_order = farroot.map(total, parts)
    assert sum(in_order) == sum_of_all
    with ThreadPoolExecutor(4) as threads, ProcessPoolExecutor(2) as processes:
        assert farroot.map(total, parts, threads) == in_order
        assert farroot.map(total, parts, processes) == in_order


class Flaky:
    """Fails some times for each partition."""

    def __init__(self, times: int, error: Exception) -> None:
        self.calls: dict[Any, int] = {}
        self.times, self.error = times, error

    def __call__(self, part: farroot.Partition) -> int:
        self.calls[part.entries] = self.calls.get(part.entries, 0) + 1
        if self.calls[part.entries] <= self.times:
            raise self.error
        return 1


def passing() -> farroot.Error:
    error = farroot.ConnectionFailedError("broken")
    error.retryable = True
    return error


@pytest.mark.parametrize("threads", [0, 3])
def test_what_may_pass_is_tried_again(made: Path, threads: int) -> None:
    parts = farroot.partitions(f"{made}:events", ["int32"], step_size=BASKET)

    def mapped(function: Any, **options: Any) -> Any:
        if not threads:
            return farroot.map(function, parts, **options)
        with ThreadPoolExecutor(threads) as pool:
            return farroot.map(function, parts, pool, **options)

    flaky = Flaky(2, passing())
    assert mapped(flaky) == [1] * 6
    assert set(flaky.calls.values()) == {3}
    with pytest.raises(farroot.ConnectionFailedError):
        mapped(Flaky(3, passing()))
    once = Flaky(1, ValueError("a fault of the function"))
    with pytest.raises(ValueError, match="fault"):
        mapped(once)
    assert set(once.calls.values()) == {1}
    results, failed = mapped(Flaky(9, passing()), retries=1, on_error="report")
    assert results == []
    assert [each.partition for each in failed] == list(parts)
    assert {each.tries for each in failed} == {2}
    assert failed[0].as_dict()["error"] == "ConnectionFailedError"


class Clock:
    """Time that passes only in `sleep`."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(("asked", "pause"), [(30.0, 30.0), (7200.0, 60.0)])
def test_a_try_waits_until_the_server_is_asked_again(
    made: Path, monkeypatch: pytest.MonkeyPatch, threads: int, asked: float, pause: float
) -> None:
    """With a cache, a process remembers for 30 s that a server was unreachable: all tries of a
    partition were over at once, and none but the first had asked the server."""
    clock, calls = Clock(), list[tuple[int, float]]()
    monkeypatch.setattr(mapping, "time", clock)
    parts = farroot.partitions(f"{made}:events", ["int32"], step_size=BASKET)
    remembered_until = clock.now + asked

    def function(part: farroot.Partition) -> int:
        first = part.entries == parts[0].entries
        calls.append((parts.index(part), clock.now))
        if first and clock.now < min(remembered_until, 1000.0 + pause):
            error = passing()
            error.retry_after = remembered_until - clock.now
            raise error
        return parts.index(part)

    if threads:
        with ThreadPoolExecutor(threads) as pool:
            results = farroot.map(function, parts, pool, retries=1)
    else:
        results = farroot.map(function, parts, retries=1)
    assert results == list(range(6))
    others = [(number, 1000.0) for number in range(6)]
    assert calls == [*others, (0, 1000.0 + pause)], "the others do not wait for the first"
    assert clock.slept == [pause]


class Remembering(ThreadPoolExecutor):
    """Takes equal calls for one while anyone has the future, as Dask does with functions that it
    takes for pure."""

    def __init__(self) -> None:
        super().__init__(1)
        self.futures: dict[bytes, Any] = {}

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        call = pickle.dumps((function, args))
        if call not in self.futures:
            self.futures[call] = super().submit(function, *args, **kwargs)
        return self.futures[call]


BROKEN = {"times": 0}


def fails_at_first(part: farroot.Partition) -> int:
    BROKEN["times"] -= 1
    if BROKEN["times"] >= 0:
        raise passing()
    return part.entries[0] if part.entries else -1


def test_a_try_is_no_earlier_one(made: Path) -> None:
    """Dask handed out the error of the first try for each that followed, and that of a failed
    ``map`` to the next one, although its cause was mended."""
    parts = farroot.partitions(f"{made}:events", ["int32"], step_size=BASKET)
    expected = [each.entries[0] for each in parts if each.entries]
    with Remembering() as executor:
        BROKEN["times"] = 2
        assert farroot.map(fails_at_first, parts, executor) == expected
        BROKEN["times"] = 99
        with pytest.raises(farroot.ConnectionFailedError):
            farroot.map(fails_at_first, parts, executor)
        BROKEN["times"] = 0
        assert farroot.map(fails_at_first, parts, executor) == expected


class Client:
    """Has an executor, as a client of Dask."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def get_executor(self) -> Any:
        return self.executor


def test_a_client_of_dask_is_taken_for_its_executor(made: Path) -> None:
    parts = farroot.partitions(f"{made}:events", ["int32"], step_size=BASKET)
    with ThreadPoolExecutor(2) as threads:
        assert farroot.map(total, parts, Client(threads)) == farroot.map(total, parts)


def killed(part: farroot.Partition) -> None:
    os._exit(1)


def test_an_executor_that_breaks_is_an_error(made: Path) -> None:
    parts = farroot.partitions(f"{made}:events", ["int32"])
    with ProcessPoolExecutor(1) as pool, pytest.raises(Exception, match="abruptly"):
        farroot.map(killed, parts, pool, on_error="report")


@pytest.fixture(scope="module")
def served(several: list[Path]) -> Iterator[str]:
    with serving(several[0].parent) as host:
        yield host


def test_globs_of_servers_are_planned_side_by_side(served: str, several: list[Path]) -> None:
    parts = farroot.partitions(f"root://{served}//part*.root:events", ["int32"])
    assert [part.num_entries for part in parts] == [300, 1, 500]
    assert len(parts[0].arrays()) == 300


def test_filesets_of_coffea_have_steps(several: list[Path]) -> None:
    parts = farroot.partitions(tables(several), ["int32"], step_size=BASKET)
    files = parts.to_coffea("mine")["mine"]["files"]
    assert [*files] == [str(path) for path in several]
    first = files[str(several[0])]
    assert first["object_path"] == "events"
    assert first["steps"] == [[0, 170], [170, 300]]
    assert first["num_entries"] == 300
    with uproot.open(several[0]) as file:
        assert first["uuid"] == file.file.uuid.hex


def test_wrong_arguments_are_refused(made: Path) -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="measure"):
        farroot.partitions(f"{made}:events", measure="guessed")  # type: ignore[arg-type]
    with pytest.raises(farroot.KeyInFileError):
        farroot.partitions(f"{made}:events", ["no_such"])
    with pytest.raises(FileNotFoundError):
        farroot.partitions(f"{made}.missing:events")
    with pytest.raises(farroot.InvalidArgumentError, match="retries"):
        farroot.map(total, [], retries=-1)
