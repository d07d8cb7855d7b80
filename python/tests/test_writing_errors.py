"""Wrong arguments of whatever writes: the error is farroot's, or the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import farroot
from farroot.writing import identify
from tests.wrong import WRONG


def calls(file: Any, tree: Any, folder: Path) -> dict[str, Callable[[Any], Any]]:
    """The public functions, one argument at a time."""

    def keyword(function: Any, name: str, *args: Any) -> Callable[[Any], Any]:
        return lambda wrong: function(*args, **{name: wrong})

    types = {"x": "float32", "l": "var * int8"}
    found: dict[str, Callable[[Any], Any]] = {
        "setitem": lambda wrong: file.__setitem__("w", wrong),
        "name": lambda wrong: file.__setitem__(wrong, "text"),
        "getitem": lambda wrong: file[wrong],
        "get": file.get,
        "delitem": file.__delitem__,
        "classname_of": file.classname_of,
        "contains": lambda wrong: wrong in file,
        "mkdir": file.mkdir,
        "update": file.update,
        "mktree": lambda wrong: file.mktree("w", wrong),
        "mktree of a column": lambda wrong: file.mktree("w", {"x": wrong}),
        "mktree of columns": lambda wrong: file.mktree("w", {"x": wrong, "y": [1]}),
        "mktree of two": lambda wrong: file.mktree("w", iter([{"x": [1]}, wrong])),
        "mktree name": lambda wrong: file.mktree(wrong, types),
        "mkrntuple": lambda wrong: file.mkrntuple("w", wrong),
        "mkrntuple of a column": lambda wrong: file.mkrntuple("w", {"x": wrong}),
        "mkrntuple of items": lambda wrong: file.mkrntuple("w", {"x": [wrong, wrong]}),
        "mkrntuple name": lambda wrong: file.mkrntuple(wrong, types),
        "extend": tree.extend,
        "extend a column": lambda wrong: tree.extend({"x": wrong, "l": [[1]]}),
        "extend lists": lambda wrong: tree.extend({"x": [1], "l": wrong}),
        "extend an item": lambda wrong: tree.extend({"x": [1], "l": [[wrong]]}),
        "branch": lambda wrong: tree[wrong],
        "compression of a tree": lambda wrong: setattr(tree, "compression", wrong),
        "compression of a file": lambda wrong: setattr(file, "compression", wrong),
        "copy_from": file.copy_from,
        "update_streamers": file.file.update_streamers,
        "recreate": farroot.recreate,
        "create": farroot.create,
        "update a file": farroot.update,
        "to_writable": identify.to_writable,
        "to_TObjString": identify.to_TObjString,
        "to_TList": identify.to_TList,
        "as_TGraph": farroot.as_TGraph,
        "as_TGraph of": lambda wrong: farroot.as_TGraph({"x": wrong, "y": [1.0]}),
        "to_TAxis": lambda wrong: identify.to_TAxis("x", "", wrong, 0, 1),
        "to_TAxis low": lambda wrong: identify.to_TAxis("x", "", 1, wrong, 1),
        "to_TH1x": lambda wrong: identify.to_TH1x(None, "", wrong),
        "to_TH1x axis": lambda wrong: identify.to_TH1x(None, "", np.zeros(3), fXaxis=wrong),
    }
    for name in ("title", "titles", "cluster", "jagged", "counter_name", "field_name"):
        found[f"mktree {name}"] = keyword(file.mktree, name, "w", types)
    for name in ("description", "titles", "cluster"):
        found[f"mkrntuple {name}"] = keyword(file.mkrntuple, name, "w", types)
    options = ("compression", "title", "cluster", "jagged", "threads", "memory", "reproducible")
    for name in (*options, "keep_partial", "checkpoint", "progress", "no_such"):
        for function in (farroot.recreate, farroot.create):
            found[f"{function.__name__} {name}"] = keyword(function, name, folder / "o.root")
    for name in ("title", "xAxisLabel", "minY", "maxY"):
        found[f"as_TGraph {name}"] = keyword(farroot.as_TGraph, name, {"x": [1.0], "y": [1.0]})
    return found


NAMES = sorted(calls(MagicMock(), MagicMock(), Path()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::farroot.errors.UnfinishedWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_error_of_a_wrong_argument_is_farroot_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    foreign = []
    with farroot.recreate(tmp_path / "f.root") as file:
        tree = file.mktree("t", {"x": "float32", "l": "var * int8"})
        call = calls(file, tree, tmp_path)[name]
        for what, wrong in WRONG.items():
            try:
                result = call(wrong())
            except farroot.Error as error:
                if not str(error).strip():
                    foreign.append(f"{what}: an error without words")
            except Exception as error:
                # A function of the caller's raises errors of its own.
                if (name, what) != ("mktree counter_name", "class"):
                    foreign.append(f"{what}: {type(error).__name__}: {error}")
            else:
                if name.startswith(("recreate", "create")):
                    result.file.abandon()
    assert foreign == []


def test_a_file_that_has_been_closed(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        tree = file.mktree("t", {"x": "float32"})
    for call in (
        lambda: tree.extend({"x": [1]}),
        lambda: tree.extend(iter([])),
        lambda: file.mktree("u", {"x": "float32"}),
        lambda: file.__setitem__("x", "text"),
        lambda: file.mkdir("x"),
        lambda: file["t"],
        lambda: file.copy_from(None),
        lambda: file.file.update_streamers(None),
        lambda: setattr(tree, "compression", 101),
    ):
        with pytest.raises(farroot.InvalidArgumentError, match="closed"):
            call()


def test_the_caller_s_own_errors_stay_as_they_are(tmp_path: Path) -> None:
    class OwnError(Exception):
        pass

    def failing(*_: Any) -> Any:
        raise OwnError

    def batches() -> Iterator[Any]:
        yield {"x": [1]}
        raise OwnError

    lists = {"l": "var * int8"}
    records: dict[str, Any] = {"r": {"a": "int8"}}
    with farroot.recreate(tmp_path / "f.root") as file:
        for call in (
            lambda: file.mktree("a", batches()),
            lambda: file.mkrntuple("b", batches()),
            lambda: file.mktree("c", lists, counter_name=failing),
            lambda: file.mktree("d", records, field_name=failing),
        ):
            with pytest.raises(OwnError):
                call()
