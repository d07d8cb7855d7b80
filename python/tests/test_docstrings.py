"""Examples in docstrings: every public name has one, and all run."""

from __future__ import annotations

import doctest
import inspect
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .skips import need_dask, need_graphed, need_root

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
#: Names that are neither classes nor functions, and one that needs a notebook.
WITHOUT = {"Files", "__version__", "LiveTimeline"}
#: Checks for the packages that only some examples need.
NEEDS: dict[str, Callable[[], None]] = {
    "dask": need_dask,
    "dask_write": need_dask,
    "graphed": need_graphed,
    "Parameter": need_root,
    "from_pyroot": need_root,
    "to_pyroot": need_root,
}


def write_examples(folder: Path) -> None:
    """The files that examples read, small enough to see every number."""
    muons = ak.Array([[30.0, 12.0], [], [45.0], [5.0]])
    jets = ak.Array([[50.0], [80.0, 40.0], [], [25.0]])
    events: dict[str, Any] = {
        "run": np.full(4, 1, dtype=np.int32),
        "event": np.arange(4, dtype=np.int64),
        "MET_pt": np.array([10.0, 55.0, 20.0, 80.0]),
        "Muon": ak.zip({"pt": muons, "charge": ak.values_astype(muons > 20, "int32")}),
        "Jet_pt": jets,
    }
    with farroot.recreate(folder / "events.root", reproducible=True) as file:
        file.mktree("Events", events, "muons and jets")
        file["pt"] = np.histogram(ak.to_numpy(ak.flatten(muons)), bins=4, range=(0, 60))
        file["points"] = farroot.as_TGraph({"x": [1.0, 2.0], "y": [1.0, 4.0]}, title="squares")
        file["about/selection"] = "all events"
    more = {name: column[:2] for name, column in events.items()}
    with farroot.recreate(folder / "more.root", reproducible=True) as file:
        file.mktree("Events", more, "muons and jets")
    with farroot.recreate(folder / "weights.root", reproducible=True) as file:
        file.mktree("w", {"nominal": np.array([1.0, 0.5, 2.0, 1.5])})
    staff: dict[str, Any] = {"name": ["Ada", "Bo", "Cy"], "age": [36, 41, 29]}
    with farroot.recreate(folder / "staff.root", reproducible=True) as file:
        file.mkrntuple("Staff", staff, "who works here")
    damaged = bytearray((folder / "more.root").read_bytes())
    damaged[390:470] = bytes(80)
    (folder / "damaged.root").write_bytes(damaged)
    for name in ("friends", "friends_other", "members", "unclosed"):
        (folder / f"{name}.root").write_bytes((TESTDATA / f"{name}.root").read_bytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    write_examples(made)
    return made


def examples() -> dict[str, doctest.DocTest]:
    """Examples by the name that has them in its docstring: public names, their methods, and names
    in public modules."""
    finder, known = doctest.DocTestFinder(), {"farroot": farroot, "np": np, "ak": ak}
    found = finder.find(farroot, "farroot", globs=known)
    for name in farroot.__all__:
        found += finder.find(getattr(farroot, name), name, globs=known)
    # Names in a module have been found before.
    distinct = {test.docstring: test for test in reversed(found) if test.examples}
    return {test.name: test for test in reversed(distinct.values())}


EXAMPLES = examples()


def test_every_public_name_has_an_example() -> None:
    without = []
    for name in farroot.__all__:
        one = getattr(farroot, name)
        has_one = ">>>" in (inspect.getdoc(one) or "") or inspect.ismodule(one)
        without += [] if has_one or name in WITHOUT else [name]
    assert without == []
    assert len(EXAMPLES) > 100
    skipped = [
        name
        for name, test in EXAMPLES.items()
        if any(doctest.SKIP in example.options for example in test.examples)
    ]
    assert {name.rpartition(".")[2] for name in skipped} <= {*WITHOUT, "coffea"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NEEDS.get(name.rpartition(".")[2], lambda: None)()
    monkeypatch.chdir(folder)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner.run(EXAMPLES[name], out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    assert os.getcwd() == str(folder)
