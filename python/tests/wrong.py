"""Wrong values for arguments, and calls of every public function with them.

``python -m tests.wrong`` prints each error that is not farroot's.
"""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import signal
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import boost_histogram as bh
import numpy as np

import farroot
from farroot._uproot import HELPERS

__all__ = ["WRONG", "Call", "Subjects", "calls", "foreign", "subjects"]


class Odd:
    """Pretends to be an array, and is none."""

    dtype = "odd"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")


class Histogram:
    """Pretends to be a histogram."""

    axes = ()
    kind = "COUNT"

    def values(self) -> Any:
        raise RuntimeError("no values")

    variances = values


def closed() -> Any:
    file = io.BytesIO()
    file.close()
    return file


def itself() -> list[Any]:
    """A list that contains itself."""
    made: list[Any] = []
    made.append(made)
    return made


#: Makes anew whatever an argument may wrongly be.
WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "zero": lambda: 0,
    "negative": lambda: -1,
    "huge": lambda: 1 << 70,
    "very negative": lambda: -(1 << 70),
    "real": lambda: 2.5,
    "nan": lambda: float("nan"),
    "empty": lambda: "",
    "text": lambda: "flaot32",
    "surrogate": lambda: "\ud800",
    "zero byte": lambda: "a\0b",
    "slashes": lambda: "//",
    "bytes": lambda: b"abc",
    "no list": lambda: [],
    "mixed": lambda: [1, "a", None, {}],
    "dict": lambda: {"a": object()},
    "no dict": dict,
    "numbered": lambda: {1: [1, 2]},
    "object": object,
    "class": lambda: dict,
    "function": lambda: len,
    "closed file": closed,
    "numpy": lambda: np.float64(3),
    "flat": lambda: np.array(3),
    "complex": lambda: np.array([1j]),
    "objects": lambda: np.array([object()], dtype=object),
    "set": lambda: {1, 2},
    "tuple": lambda: (np.zeros(2), np.zeros(9)),
    "axes": lambda: np.histogramdd(np.zeros((1, 4)), bins=1),
    "no axis": lambda: bh.Histogram(),
    "odd": Odd,
    "histogram": Histogram,
    "record": lambda: ak.Record({"x": 1}),
    "itself": itself,
}

#: Further texts, for arguments that are formulas, patterns, addresses or numbers with a unit.
TEXTS = {
    "open bracket": "x[",
    "open parenthesis": "(x",
    "star": "*",
    "regular": "/[/",
    "root without host": "root://",
    "no port": "http://127.0.0.1:99999/f.root",
    "space": " ",
    "unit": "1 XB",
    "minus": "-1 MB",
    "power": "9**9**9**9",
    "of a text": "s > 1",
    "colon": ":",
}
for _name, _text in TEXTS.items():
    WRONG[_name] = lambda _text=_text: _text  # type: ignore[misc]


class Subjects(NamedTuple):
    """A file to read, and objects of it by name."""

    path: Path
    objects: dict[str, Any]


class Call(NamedTuple):
    """A public function with one argument left open; None for a call without it."""

    name: str
    function: Callable[[Any], Any]


def write_file(path: Path) -> None:
    with farroot.recreate(path) as file:
        columns = {
            "x": np.arange(4.0),
            "n": np.arange(4),
            "l": ak.Array([[1], [], [2, 3], [4]]),
            "s": ["a", "b", "", "d"],
        }
        file.mktree("t", columns)
        file.mkrntuple("u", columns)
        file["d/h"] = np.histogram(np.arange(4.0), bins=2)
        file["h2"] = np.histogram2d(np.arange(4.0), np.arange(4.0), bins=2)
        file["g"] = farroot.as_TGraph({"x": [1.0, 2.0], "y": [1.0, 3.0]})
        file["o"] = "text"


def subjects(folder: Path) -> Subjects:
    """Objects of every public class that is read."""
    path = folder / "subject.root"
    write_file(path)
    file = farroot.open(path)
    tree, ntuple = file["t"], file["u"]
    parts = farroot.partitions(f"{path}:t", ["x"])
    found = {
        "File": file,
        "Directory": file["d"],
        "Key": file.key("t"),
        "Tree": tree,
        "Branch": tree["x"],
        "RNTuple": ntuple,
        "Field": ntuple["l"],
        "TH1": file["d/h"],
        "TH2": file["h2"],
        "TGraph": file["g"],
        "Axis": file["d/h"].axis(),
        "chain": farroot.chain([f"{path}:t", f"{path}:t"]),
        "chain of RNTuples": farroot.chain([f"{path}:u", f"{path}:u"]),
        "Plan": tree.plan(["x"]),
        "Basket": tree["x"].basket(0),
        "Friends": tree.friends,
        "Partitions": parts,
        "Partition": next(iter(parts)),
        "Reporting": farroot.reporting(),
        "IoReport": file.report(),
        "Timeline": file.timeline(),
        "Streamer": file.streamer_named("TH1D"),
        "ByteFile": farroot.open_bytes(path),
        "interpretation": tree["x"].interpretation,
        "attribute sets": ntuple.attribute_sets if hasattr(ntuple, "attribute_sets") else None,
    }
    return Subjects(path, {name: one for name, one in found.items() if one is not None})


#: Methods that end objects that others use, or wait.
_LEFT = frozenset(("close", "live_timeline", "install", "fill", "abandon", "map"))
_SPECIAL = ("__getitem__", "__contains__", "__call__")
#: Functions that install something, or need packages that are not always there.
_NOT_CALLED = frozenset(("install", "to_pyroot", "from_pyroot", "graphed"))


def valid(path: Path, folder: Path) -> dict[str, Any]:
    """An argument that is right, by its name."""
    return {
        "files": f"{path}:t",
        "paths": f"{path}:t",
        "path": path,
        "sources": f"{path}:t",
        "target": folder / "target.root",
        "where": "x",
        "name": "x",
        "key": "x",
        "classname": "TH1D",
        "typename": "Mine",
        "decode": np.dtype("i4"),
        "ranges": [(0, 10)],
        "start": 0,
        "stop": 2,
        "major": 0,
        "basket_num": 0,
        "memory_size": 1000,
        "df": {"x": [1.0], "y": [1.0]},
        "function": lambda part: part.arrays(),
        "partitions": farroot.partitions(f"{path}:t", ["x"]),
        "address": str(path),
        "other": farroot.open(f"{path}:u"),
        "interpretation": None,
        "expressions": ["x", "l"],
        "num": 0,
    }


def calls(subjects: Subjects, folder: Path) -> Iterator[Call]:
    """Every public function, one argument at a time."""
    right = valid(subjects.path, folder)
    for name in sorted(dir(farroot)):
        function = getattr(farroot, name)
        if inspect.isfunction(function) and name not in _NOT_CALLED:
            # A merge is of files, without the name of a tree.
            own = {"sources": [subjects.path]} if name == "merge" else {}
            yield from _calls_of(name, function, {**right, **own})
    for kind, one in subjects.objects.items():
        names = [name for name in dir(type(one)) if not name.startswith("_")]
        names += [name for name in _SPECIAL if name in dir(type(one))]
        for name in names:
            if name in _LEFT | HELPERS or not inspect.isroutine(getattr(type(one), name, None)):
                continue
            method = getattr(type(one), name)
            is_own = str(getattr(method, "__module__", "")).startswith("farroot")
            if not is_own or not callable(method):  # Python's own, and properties.
                continue
            yield from _calls_of(f"{kind}.{name}", getattr(one, name), right)


def _calls_of(name: str, function: Any, right: dict[str, Any]) -> Iterator[Call]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return
    required, keywords = [], []
    for each in parameters:
        if each.kind is each.VAR_KEYWORD:
            keywords += _names_of(function, each)
        elif each.kind is not each.VAR_POSITIONAL:
            keywords.append(each.name)
            if each.default is each.empty:
                required.append(each.name)
    base = {each: right.get(each) for each in required}
    positional = [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY]

    def call(wrong: Any, place: str) -> Any:
        given = {**base, place: wrong}
        first = [given.pop(each) for each in positional if each in given]
        return function(*first, **given)

    for place in keywords:
        yield Call(f"{name}({place}=)", functools.partial(call, place=place))
    yield Call(f"{name}(...)", lambda wrong: function(*[wrong] * 30))
    yield Call(f"{name}(no_such=)", lambda wrong: call(wrong, "no_such"))


def _names_of(function: Any, parameter: inspect.Parameter) -> list[str]:
    """The keywords that ``**name: Unpack[SomeTypedDict]`` takes."""
    text = str(parameter.annotation)
    if "Credentials" in text:
        from farroot._types import CREDENTIALS

        return sorted(CREDENTIALS)
    if "Filters" in text or text == "Any":
        from farroot._types import Filters

        return sorted({*Filters.__annotations__, "filter_classname", "entry_start", "library"})
    return []


#: A call that has not ended after as many seconds has hung.
SECONDS = 60


class HungError(BaseException):
    """A call has not ended."""


def _hung(*_: object) -> None:
    raise HungError("the call does not end")


def foreign(call: Call, share: tuple[int, int] = (0, 1)) -> list[str]:
    """Errors of the call that are not farroot's; of the share ``(number, of)`` of wrong arguments,
    which are others for each call."""
    found = []
    signal.signal(signal.SIGALRM, _hung)
    number, of = share
    for what, wrong in WRONG.items():
        if zlib.crc32(f"{call.name} {what}".encode()) % of != number:
            continue
        signal.alarm(SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = call.function(wrong())
                if inspect.isgenerator(result):
                    list(itertools.islice(result, 2))
                _end(result)
        except farroot.Error as error:
            if not str(error).strip():
                found.append(f"{what}: an error without words")
        except BaseException as error:
            # The argument itself was called, and could be.
            if hasattr(error, "_farroot_by_caller") and "is not callable" not in str(error):
                continue
            found.append(f"{what}: {type(error).__name__}: {str(error)[:160]}")
        finally:
            signal.alarm(0)
    return found


def _end(result: Any) -> None:
    if isinstance(result, farroot.WritableDirectory):
        result.file.abandon()


def main() -> None:
    import os
    import sys

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        wanted = sys.argv[1:]
        total = count = 0
        for call in calls(subjects(folder), folder):
            if wanted and not any(each in call.name for each in wanted):
                continue
            count += len(WRONG)
            print("?", call.name, file=sys.stderr, flush=True)
            for one in foreign(call):
                total += 1
                print(f"{call.name}: {one}", flush=True)
        print(f"{total} foreign errors of {count} calls")


if __name__ == "__main__":
    main()
