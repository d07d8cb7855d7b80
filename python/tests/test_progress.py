"""Progress of reads, their log, and the cost of one call."""

from __future__ import annotations

import itertools
import logging
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import farroot
from farroot import Progress, _progress

from .test_remote import serving


@pytest.fixture(scope="module")
def far(made: Path) -> Iterator[str]:
    """The made file 250 ms away, so that reads take longer than the pause between two ticks."""
    with serving(made.parent, "--rtt", "250ms") as host:
        yield f"root://{host}//{made.name}:events"


def test_steps_tell_entries_and_bytes(made: Path) -> None:
    tree: Any = farroot.open(f"{made}:events")
    told = list[Progress]()
    steps = tree.iterate(["int32", "text"], step_size=300, progress=told.append)
    assert len(steps) == 4
    assert steps
    assert [len(step) for step in steps] == [300, 300, 300, 100]
    assert [each.entries for each in told[-4:]] == [300, 600, 900, 1000]
    last = told[-1]
    assert (last.entries_total, last.steps, last.steps_total) == (1000, 4, 4)
    planned = sum(each.stored_bytes for each in tree.plan(["int32", "text"]))
    assert last.bytes_total == planned
    # Bytes that came with the open are not received once more.
    assert last.bytes <= planned
    assert last.fraction == 1.0
    assert str(last).startswith("100 %, 1,000 of 1,000 entries, ")
    assert all(a.entries <= b.entries and a.bytes <= b.bytes for a, b in itertools.pairwise(told))


def test_reading_at_once_tells_while_bytes_arrive(far: str) -> None:
    told = list[Progress]()
    arrays = farroot.open(far).arrays(progress=told.append)
    assert len(arrays) == 1000
    # The first tells while nothing is handed out.
    assert told[0].entries == 0
    assert told[-1].entries == told[-1].entries_total == 1000
    assert told[-1].fraction == 1.0
    assert told[0].seconds < told[-1].seconds


def test_many_files_are_counted(several: list[Path]) -> None:
    files = [f"{path}:events" for path in several]
    told = list[Progress]()
    farroot.concatenate(files, "int32", progress=told.append)
    assert (told[-1].entries, told[-1].files, told[-1].files_total) == (801, 3, 3)
    assert told[-1].entries_total is None
    opened = [farroot.open(file) for file in files]
    told = list[Progress]()
    steps = farroot.iterate(opened, "int32", step_size=200, progress=told.append)
    with pytest.raises(TypeError, match="only while they are read"):
        len(steps)
    assert len(list(steps)) == 6
    assert (told[-1].entries, told[-1].entries_total, told[-1].files) == (801, 801, 3)
    chain = farroot.chain(files)
    steps = chain.iterate("int32", step_size=200, progress=told.append)
    assert len(steps) == len(list(steps)) == 6
    assert told[-1].steps_total == told[-1].steps == 6


@pytest.mark.parametrize("step_size", [7, 300, "1 kB", "20 kB", "1 GB"])
@pytest.mark.parametrize("cut", [None, "int32 > 0"])
def test_the_length_is_the_number_of_steps(made: Path, step_size: Any, cut: str | None) -> None:
    tree = farroot.open(f"{made}:events")
    for entries in ((None, None), (123, 800), (5, 5)):
        start, stop = entries
        options = {"entry_start": start, "entry_stop": stop, "step_size": step_size}
        steps = tree.iterate(["float64", "jagged"], cut, **options)
        assert len(steps) == len(list(steps))


def test_the_length_of_an_rntuple(corpus: Path) -> None:
    staff = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")["Staff"]
    for step_size in (100, "10 kB"):
        steps = staff.iterate(["Age"], step_size=step_size)
        assert len(steps) == len(list(steps)) > 1


def test_what_the_function_raises_ends_the_read(far: str) -> None:
    """Also while the engine is waited for; and then it can be read again."""

    class EnoughError(Exception):
        pass

    def enough(_: Progress) -> None:
        raise EnoughError

    tree = farroot.open(far)
    for read in (tree.arrays, lambda **options: list(tree.iterate(**options))):
        with pytest.raises(EnoughError):
            read(progress=enough)
    with pytest.raises(farroot.ArgumentTypeError, match="progress is True or a function"):
        tree.arrays(progress="yes")  # type: ignore[call-overload]
    assert len(tree.arrays("int32")) == 1000


def test_the_function_may_read_itself(far: str) -> None:
    """A wait within a wait once was one runtime within another, which panics."""
    tree = farroot.open(far)
    lengths = set[int]()

    def look(_: Progress) -> None:
        lengths.add(len(tree.arrays("int8", entry_stop=10)))

    assert len(tree.arrays(["float64", "text"], progress=look)) == 1000
    assert lengths == {10}


def test_copies_tell_their_bytes(far: str, made: Path, tmp_path: Path) -> None:
    told = list[Progress]()
    farroot.copy(far.removesuffix(":events"), tmp_path / "copy.root", progress=told.append)
    size = made.stat().st_size
    assert (told[-1].bytes, told[-1].bytes_total) == (size, size)
    assert (told[-1].files, told[-1].files_total) == (1, 1)


class Bar:
    """Of tqdm's, as far as it is used."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, **options: Any) -> None:
        self.n, self.unit, self.closed = 0, "", False
        self.total: int | None = None
        Bar.made.append(self)

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self.text = text

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def test_a_bar_of_tqdm_where_it_is_installed(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    Bar.made.clear()
    list(farroot.open(f"{made}:events").iterate("int32", step_size=100, progress=True))
    (bar,) = Bar.made
    assert (bar.n, bar.total, bar.unit, bar.closed) == (1000, 1000, "entries", True)


def test_a_line_where_no_bar_is_installed(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tqdm", "tqdm.auto", "rich"):
        monkeypatch.setitem(sys.modules, name, None)
    tree = farroot.open(f"{made}:events")
    tree.arrays("int32", progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("farroot: 100 %, 1,000 of 1,000 entries, ")
    assert told.err.count("\n") == 1
    monkeypatch.setattr(_progress, "LINE_EVERY", 0)
    list(tree.iterate("int32", step_size=100, progress=True))
    assert capsys.readouterr().err.count("farroot: ") >= 10
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    list(tree.iterate("int32", step_size=100, progress=True))
    lines = capsys.readouterr().err
    assert lines.count("\r") >= 10
    assert lines.count("\n") == 1


def test_the_log_tells_of_opens_requests_and_failures(
    made: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(made.parent) as host:
        check_log(f"root://{host}//{made.name}:events", caplog)


def check_log(far: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="farroot"):
        farroot.open(far).arrays(["float64", "text", "int32"])
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    address = far.removesuffix(":events")
    assert ("INFO", f"opening {address}") in told
    assert any(level == "DEBUG" and "is usable after" in text for level, text in told)
    assert any(level == "DEBUG" and "ranges of" in text for level, text in told)
    times = [record.created for record in caplog.records]
    assert times == sorted(times)
    caplog.clear()
    with (
        caplog.at_level(logging.INFO, logger="farroot"),
        pytest.raises(farroot.NotFoundError),
    ):
        farroot.open(address + "x")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert any("a request failed" in text for _, text in told)
    assert {level for level, _ in told} == {"INFO"}
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="farroot"):
        farroot.open(far).arrays("int8")
    assert caplog.records == []


def test_a_program_without_logging_sees_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("farroot")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)


def test_a_handler_that_raises_or_reads_ends_nothing(
    far: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reads(logging.Handler):
        lengths: ClassVar[list[int]] = []

        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            self.lengths.append(farroot.open(far).num_entries)

    logger = logging.getLogger("farroot")
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    logger.addHandler(Reads())
    assert len(farroot.open(far).arrays("int32")) == 1000
    assert Reads.lengths == [1000]


def test_the_report_of_one_call(far: str) -> None:
    tree: Any = farroot.open(far)
    tree.arrays(["text", "float64"])
    with farroot.reporting() as report:
        assert report["requests"] == 0
        tree.arrays("int32")
        assert report["requests"] > 0
    assert report["bytes_baskets"] == sum(each.stored_bytes for each in tree.plan("int32"))
    assert report["serial_round_trips"] >= 1
    assert report["connections"] == 0
    assert abs(sum(report["time_s"].values()) - report["wall_s"]) < 1e-3
    before = dict(report)
    tree.arrays("int64")
    assert dict(report) == before
    assert "from the first call" in str(report)
    with pytest.raises(farroot.InvalidArgumentError, match="with farroot"):
        farroot.reporting()["requests"]
