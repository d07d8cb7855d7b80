"""Wrong arguments of whatever is public: each error is farroot's, or the caller's own.

``Partitions.save(0)`` once closed the descriptor 0 of the process, or that of a connection.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import farroot

from .wrong import calls, foreign, subjects

#: Each wrong argument is tried by one call of so many; ``python -m tests.wrong`` tries all.
SHARES = 5


@pytest.mark.filterwarnings("ignore")
def test_errors_of_wrong_arguments_are_farroot_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, before = [], farroot.config()
    try:
        for call in calls(subjects(tmp_path), tmp_path):
            found += [f"{call.name}: {one}" for one in foreign(call, (0, SHARES))]
    finally:
        farroot.config(**{name: value for name, value in before.items() if value != ""})
    assert found == []


def test_every_public_function_translates_errors() -> None:
    functions = {name: getattr(farroot, name) for name in dir(farroot)}
    functions = {name: one for name, one in functions.items() if inspect.isfunction(one)}
    assert functions
    assert [name for name, one in functions.items() if not hasattr(one, "__wrapped__")] == []


def test_arguments_that_change_places_are_named(made: Path, tmp_path: Path) -> None:
    with pytest.raises(farroot.InvalidArgumentError):
        farroot.merge(tmp_path / "merged.root", [made])  # type: ignore[arg-type]


def test_a_caller_s_function_raises_its_own_errors(made: Path, tmp_path: Path) -> None:
    class OwnError(Exception):
        pass

    def fails(*_: object) -> bool:
        raise OwnError

    path = tmp_path / "own.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": [1.0, 2.0]})
    tree = farroot.open(f"{made}:events")
    with pytest.raises(OwnError):
        tree.keys(filter_name=fails)
    with pytest.raises(OwnError):
        tree.arrays(filter_branch=fails)
    with pytest.raises(OwnError):
        list(farroot.iterate(f"{made}:events", filter_name=fails))
    with pytest.raises(OwnError):
        tree.arrays(progress=fails)
    with pytest.raises(OwnError):
        farroot.skim(f"{path}:t", tmp_path / "never.root", define={"new": lambda x: fails(x)})
    with pytest.raises(OwnError):
        farroot.map(fails, farroot.partitions(f"{path}:t"))
    with pytest.raises(OwnError):
        farroot.open_bytes(path).read([(0, 4)], on_arrival=fails)
