"""One file that several workers write."""

from __future__ import annotations

import os
import pickle
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import farroot

from .test_merge_ntuples import checked

PARTS = 6


def write(output: farroot.SharedOutput, number: int) -> int:
    numbers = np.arange(100 * number, 100 * number + 10 + number)
    with output.part(number) as file:
        file.mktree("t", {"x": numbers})
        file["n"] = {"x": numbers}
        file["h"] = np.histogram(numbers, bins=6, range=(0, 600))
    return number


def killed(output: farroot.SharedOutput) -> None:
    """A worker that dies in the middle of part 3."""
    file = output.part(3)
    file["n"] = {"x": np.arange(5)}
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_write_parts_of_one_file(tmp_path: Path) -> None:
    """Part 1 is written twice, and a worker is killed while it writes part 3."""
    output = farroot.SharedOutput(tmp_path / "all.root", compression=101)
    context = get_context("spawn")
    process = context.Process(target=killed, args=(output,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        numbers = [5, 1, 0, 4, 1, 2, 3]
        assert list(executor.map(write, [output] * len(numbers), numbers)) == numbers
    merged = output.commit(PARTS)
    expected = [x for n in range(PARTS) for x in range(100 * n, 100 * n + 10 + n)]
    assert merged.tables == {"t": len(expected), "n": len(expected)}
    with farroot.open(checked(tmp_path / "all.root")) as file:
        for table in ("t", "n"):
            assert file[table]["x"].array().tolist() == expected
        assert file["h"].values().tolist() == [10 + n for n in range(PARTS)]
    # The next writer of part 3 has removed the one that was not finished.
    assert os.listdir(tmp_path) == ["all.root"]


def test_a_part_is_written_twice_at_the_same_time(tmp_path: Path) -> None:
    """As where a scheduler starts a slow task again: each writer ends, and the part counts once.

    Regression: the second one failed, as another writer had the part.
    """
    output = farroot.SharedOutput(tmp_path / "all.root")
    first = output.part(0)
    write(output, 0)
    with first as file:
        file["n"] = {"x": np.arange(3)}
        write(output, 0)
    assert output.commit(1).tables == {"n": 3}, "of the writer that ended last"
    assert os.listdir(tmp_path) == ["all.root"]


def test_a_part_that_is_not_counted_is_left(tmp_path: Path) -> None:
    output = farroot.SharedOutput(tmp_path / "all.root")
    write(output, 0)
    write(output, 1)
    with pytest.warns(farroot.UnfinishedWarning, match=r"parts-.* is left"):
        output.commit(1)
    assert [path.name for path in tmp_path.glob("*.parts-*/*")] == ["000001.root"]


def test_a_part_that_lacks_keeps_the_others(tmp_path: Path) -> None:
    output = pickle.loads(pickle.dumps(farroot.SharedOutput(tmp_path / "all.root")))
    assert repr(output) == f"<SharedOutput {output.path!r}>"
    write(output, 0)
    write(output, 2)
    with pytest.raises(farroot.NotFoundError, match="000001"):
        output.commit(3)
    assert not os.path.exists(output.path)
    write(output, 1)
    assert output.commit(3).tables == {"t": 33, "n": 33}
    assert os.listdir(tmp_path) == ["all.root"]


def test_an_output_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "all.root"
    path.write_text("precious")
    output = farroot.SharedOutput(path)
    write(output, 0)
    with pytest.raises(farroot.InvalidArgumentError, match="overwrite=True"):
        output.commit(1)
    output.abandon(5)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["all.root"]
    with pytest.raises(farroot.ArgumentTypeError, match="no overwite"):
        farroot.SharedOutput(path, overwite=True)
    with pytest.raises(farroot.InvalidArgumentError, match="no parts"):
        output.commit(0)


def test_workers_may_have_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker wrote the parts of a relative path into its own working directory."""
    (tmp_path / "worker").mkdir()
    monkeypatch.chdir(tmp_path)
    output = farroot.SharedOutput("all.root")
    monkeypatch.chdir(tmp_path / "worker")
    write(pickle.loads(pickle.dumps(output)), 0)
    output.commit(1)
    assert sorted(os.listdir(tmp_path)) == ["all.root", "worker"]
    assert os.listdir(tmp_path / "worker") == []
    assert output.path == str(tmp_path / "all.root")


def test_a_title_is_refused(tmp_path: Path) -> None:
    """It was in the parts alone, which are removed."""
    with pytest.raises(farroot.InvalidArgumentError, match="title"):
        farroot.SharedOutput(tmp_path / "all.root", title="of nothing")


def test_parts_are_written_by_map(tmp_path: Path) -> None:
    """One part a partition, with farroot's own retries."""
    source = tmp_path / "source.root"
    with farroot.recreate(source, cluster=10) as file:
        file.mktree("t", {"x": np.arange(35)})
    partitions = farroot.partitions(f"{source}:t", "x", step_size=10)
    output = farroot.SharedOutput(tmp_path / "half.root")
    numbered = {partition: number for number, partition in enumerate(partitions)}

    def skim(partition: farroot.Partition) -> None:
        events = partition.arrays()
        with output.part(numbered[partition]) as file:
            file["t"] = events[events.x % 2 == 0]

    farroot.map(skim, partitions)
    output.commit(len(partitions))
    assert farroot.open(f"{output.path}:t")["x"].array().tolist() == list(range(0, 35, 2))
