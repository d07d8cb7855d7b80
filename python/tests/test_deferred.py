"""Arrays of dask-awkward and graphed: which columns of each partition farroot reads."""

from __future__ import annotations

import operator
import pickle
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot.scaleout import Partition

from .same import same_awkward, same_numpy
from .skips import need_dask, need_dask_awkward, need_graphed

NAMES = ["int32", "jag*", "float64"]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The columns of each read of a partition's entries, in order."""
    reads: list[tuple[str, ...]] = []
    arrays = Partition.arrays

    def reading(partition: Partition, **options: Any) -> Any:
        if partition.entries != (0, 0):
            reads.append(partition.expressions or ())
        return arrays(partition, **options)

    monkeypatch.setattr(Partition, "arrays", reading)
    return reads


def planned(several: list[Path], **options: Any) -> farroot.Partitions:
    return farroot.partitions([{path: "events"} for path in several], NAMES, **options)


@pytest.mark.parametrize("options", [{"step_size": 340}, {"blind": 2}])
def test_dask_awkward_reads_the_columns_that_are_used(
    several: list[Path], read: list[tuple[str, ...]], options: dict[str, Any]
) -> None:
    need_dask_awkward()
    import dask_awkward

    array = farroot.dask(planned(several, **options), awkward=True)
    assert read == []
    expected = farroot.concatenate([{path: "events"} for path in several], NAMES)
    assert array.fields == expected.fields
    few = array[array.int32 > 0].float64
    columns: Any
    (columns,) = dask_awkward.necessary_columns(few).values()
    assert columns == {"int32", "float64"}
    assert same_awkward(few.compute(scheduler="sync"), expected[expected.int32 > 0].float64)
    assert set(read) == {("int32", "float64")}
    read.clear()
    whole = array.compute(scheduler="sync")
    assert same_awkward(whole, expected)
    assert set(read) == {("int32", "jagged", "float64")}


def test_dask_awkward_counts_what_a_cut_leaves(several: list[Path]) -> None:
    need_dask_awkward()
    import dask_awkward.lib

    array = farroot.dask([{path: "events"} for path in several], NAMES, "int32 > 0", awkward=True)
    files = [{path: "events"} for path in several]
    expected = len(farroot.concatenate(files, NAMES, "int32 > 0"))
    assert dask_awkward.lib.num(array, axis=0).compute(scheduler="sync") == expected
    with pytest.raises(farroot.InvalidArgumentError, match="library"):
        farroot.dask(files, NAMES, library="np", awkward=True)
    with pytest.raises(farroot.InvalidArgumentError, match="no entries"):
        farroot.dask(farroot.Partitions(), awkward=True)


#: Calls of `uproot.dask`, as programs have them, whose result is one array or a dict.
CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "filter": {"filter_name": ["int32", "jag*"]},
    "types": {"filter_typename": "/double|float/"},
    "branches": {"filter_branch": lambda branch: branch.name == "float64"},
    "steps": {"step_size": 100},
    "parts": {"steps_per_file": 3},
    "unopened": {"open_files": False, "steps_per_file": 2},
}


def known(array: Any) -> Any:
    """Facts before anything is read: columns and, where files were opened, lengths."""
    if isinstance(array, dict):
        return {name: (str(each.shape), each.dtype) for name, each in array.items()}
    return array.known_divisions and array.divisions[-1], array.fields


@pytest.mark.parametrize("library", ["ak", "np"])
@pytest.mark.parametrize("call", CALLS)
def test_dask_is_called_as_uproot_s(several: list[Path], call: str, library: str) -> None:
    """It gave a list, so that ``events.Muon_pt`` and ``arrays["x"]`` of a changed import failed,
    and no filter was taken."""
    (need_dask_awkward if library == "ak" else need_dask)()
    files = {str(path): "events" for path in several[::2]}
    options = {"filter_name": NAMES, **CALLS[call]} if call in ("steps", "parts") else CALLS[call]
    results = []
    for package in (farroot, uproot):
        made: Any = package.dask(files, library=library, **options)
        if isinstance(made, dict):
            # uproot 5.7.7 forgets the length of arrays of arrays, and cannot compute them.
            made = {name: each for name, each in made.items() if name not in ("fixed", "matrix")}
            results.append((known(made), {name: made[name].compute() for name in made}))
        else:
            results.append((known(made), made.compute(scheduler="sync")))
    (ours, mine), (uproots, theirs) = results
    assert ours == uproots
    if library == "ak":
        assert same_awkward(mine, theirs)
    else:
        assert same_numpy(mine, theirs)


def test_dask_takes_a_fileset_with_steps(several: list[Path]) -> None:
    need_dask()
    for steps in ([[0, 100], [150, 300]], [0, 100, 300]):
        files = {str(several[0]): {"object_path": "events", "steps": steps}}
        results = [
            package.dask(files, library="np", filter_name="int32")["int32"].compute()
            for package in (farroot, uproot)
        ]
        np.testing.assert_array_equal(*results)


def test_dask_of_partitions_is_a_list(several: list[Path]) -> None:
    need_dask()
    import dask

    parts = planned(several, step_size=340)
    for made in (farroot.dask(parts), farroot.dask(parts, library="np")):
        arrays = dask.compute(*made, scheduler="sync")
        assert [len(each["int32"]) for each in arrays] == [part.num_entries for part in parts]
    assert len(farroot.dask(f"{several[0]}:events", awkward=False)) == 1
    with pytest.raises(farroot.InvalidArgumentError, match="have their columns"):
        farroot.dask(parts, "int32")
    with pytest.raises(farroot.InvalidArgumentError, match="step_size= goes without"):
        farroot.dask(several[0], library="np", step_size=10, steps_per_file=2)
    with pytest.raises(farroot.InvalidArgumentError, match="no column of"):
        farroot.dask(f"{several[0]}:events", library="np", filter_name="Jet_*")
    missing = [{several[0]: "events"}, {several[0].with_name("none.root"): "events"}]
    with pytest.raises(farroot.NotFoundError):
        farroot.dask(missing, library="np")
    made = farroot.dask(missing, library="np", allow_missing=True, filter_name=["int32", "matrix"])
    assert (made["int32"].shape, made["matrix"].compute().shape) == ((300,), (300, 2, 3))


def total(values: list[Any]) -> float:
    return float(ak.nansum(values[0]))


@pytest.mark.parametrize("options", [{"step_size": 340}, {"blind": 2}])
def test_plans_of_graphed_read_the_columns_that_are_used(
    several: list[Path], read: list[tuple[str, ...]], options: dict[str, Any]
) -> None:
    need_graphed()
    import graphed
    from graphed.core.execution import SequentialRunner
    from graphed.write import PartitionedSource

    parts = planned(several, **options)
    array = farroot.graphed(parts)
    source: Any
    (source,) = array.session.sources().values()
    assert isinstance(source, PartitionedSource)
    assert len(source.partitions()) == len(parts)
    with pytest.raises(farroot.InvalidArgumentError, match="step_size"):
        source.partitions(steps_per_file=2)
    chosen = array.float64[array.int32 > 0]
    plan = graphed.aggregate_plan(chosen, reduce=total, combine=operator.add, empty=float)
    plan = pickle.loads(pickle.dumps(plan))
    files = [{path: "events"} for path in several]
    expected = farroot.concatenate(files, ["float64"], "int32 > 0").float64
    assert read == []
    assert SequentialRunner().run(plan).value == pytest.approx(float(ak.nansum(expected)))
    assert [set(columns) for columns in read] == [{"float64", "int32"}] * len(parts)


def test_graphed_reads_a_file_twice_that_is_listed_twice(several: list[Path]) -> None:
    """Its partitions are equal, and were taken for one: half of the entries were lost."""
    need_graphed()
    import graphed
    from graphed.core.execution import SequentialRunner

    files = [{several[0]: "events"}, {several[0]: "events"}]
    array = farroot.graphed(farroot.partitions(files, ["float64"]))
    expected = farroot.concatenate(files, ["float64"])
    source: Any
    (source,) = array.session.sources().values()
    assert len(source.partitions()) == 2
    assert same_awkward(source(), expected)
    plan = graphed.aggregate_plan(array.float64, reduce=total, combine=operator.add, empty=float)
    value = SequentialRunner().run(plan).value
    assert value == pytest.approx(float(ak.nansum(expected.float64)))
