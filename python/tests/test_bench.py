"""The runner of the benchmarks: it goes on where it was interrupted, and marks old records."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
#: The commit of the checkout of a test.
COMMIT = "0123abcd"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module


class Made:
    """An experiment of two links and two peers, which counts its runs and can be interrupted."""

    about = "an experiment of a test"
    facts: dict[str, str] = {"figure": "time_s"}  # noqa: RUF012
    runs = 2

    def __init__(self, model: ModuleType) -> None:
        self.model = model
        self.done: list[tuple[int, str, str]] = []
        self.ends_after = 1000

    def cells(self) -> list[Any]:
        return [self.model.Cell(link, peer) for link in ("near", "far") for peer in "ab"]

    def prepare(self) -> None:
        pass

    @contextmanager
    def lab(self) -> Iterator[list[str] | None]:
        yield None

    @contextmanager
    def opened(self) -> Iterator[Callable[[int, Any], list[dict[str, Any]]]]:
        def run(number: int, cell: Any) -> list[dict[str, Any]]:
            if len(self.done) == self.ends_after:
                raise KeyboardInterrupt
            self.done.append((number, cell.link, cell.peer))
            return [{"run": number, "link": cell.link, "peer": cell.peer, "time_s": 1.0}]

        yield run

    def table(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"runs": len(rows)}]

    def text(self, lines: list[dict[str, Any]]) -> str:
        return str(lines)


@pytest.fixture
def run(module: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The runner, with folders of its own, of an idle machine and a commit that tests choose."""
    runner = module("run")
    monkeypatch.setattr(runner, "RECORD", tmp_path / "record")
    monkeypatch.setattr(runner, "JOURNALS", tmp_path / "build")
    monkeypatch.setattr(runner, "EXPERIMENTS", {"made": Made(module("model"))})
    for name in ("outdated.refresh", "tables.write"):
        monkeypatch.setattr(f"{name}", lambda: None)
    monkeypatch.setattr(runner.machine, "commit", lambda: COMMIT)
    monkeypatch.setattr(runner.machine, "changed_files", lambda folders: [])
    monkeypatch.setattr(runner.machine, "settle", lambda is_busy_allowed: None)
    monkeypatch.setattr(runner, "has_farroot", lambda: True)
    return runner


def recorded(run: Any) -> Any:
    return json.loads((run.RECORD / "made.json").read_text())


def test_a_call_goes_on_where_one_was_interrupted(run: Any) -> None:
    made = run.EXPERIMENTS["made"]
    made.ends_after = 5
    with pytest.raises(KeyboardInterrupt):
        run.campaign(["made"], run.Wanted())
    assert not run.RECORD.exists(), "a part of the runs is no record"
    first, made.done, made.ends_after = made.done, [], 1000
    # The end of a killed process.
    journal = next(run.JOURNALS.rglob("made.jsonl"))
    journal.write_text(journal.read_text() + '{"run": 1, "cell": {"li')
    assert run.campaign(["made"], run.Wanted()) == 0
    assert first + made.done == [
        (number, link, peer) for number in (0, 1) for link in ("near", "far") for peer in "ab"
    ]
    assert len(first) == 5
    assert recorded(run)["table"] == [{"runs": 8}]
    assert not journal.exists()
    assert run.campaign(["made"], run.Wanted()) == 0
    assert len(made.done) == 3, "an experiment with a record of this commit is left out"
    assert run.campaign(["made"], run.Wanted(again=True)) == 0
    assert len(made.done) == 11


def test_runs_of_another_commit_do_not_count(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run.EXPERIMENTS["made"]
    made.ends_after = 3
    with pytest.raises(KeyboardInterrupt):
        run.campaign(["made"], run.Wanted())
    made.ends_after = 1000
    made.done.clear()
    monkeypatch.setattr(run.machine, "commit", lambda: "later")
    assert run.campaign(["made"], run.Wanted()) == 0
    assert len(made.done) == 8
    assert recorded(run)["machine"]["commit"] == "later"


def test_a_commit_in_between_ends_a_call(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = iter([COMMIT, COMMIT, COMMIT, "later"])
    monkeypatch.setattr(run.machine, "commit", lambda: next(commits))
    with pytest.raises(SystemExit, match="another commit"):
        run.campaign(["made", "made"], run.Wanted(again=True))
    assert recorded(run)["machine"]["commit"] == COMMIT


def test_uncommitted_code_is_not_measured(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = ["python/tests/test_bench.py", "crates/remote/src/lib.rs"]
    monkeypatch.setattr(run.machine, "changed_files", lambda folders: changed)
    with pytest.raises(SystemExit, match=r": crates/remote/src/lib\.rs$"):
        run.campaign(["made"], run.Wanted())
    assert run.EXPERIMENTS["made"].done == []


def test_an_experiment_that_fails_does_not_end_the_others(
    run: Any, module: Callable[[str], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    class Broken(Made):
        def prepare(self) -> None:
            raise self.model.CannotRunError("no such server")

    run.EXPERIMENTS["broken"] = Broken(module("model"))
    assert run.campaign(["broken", "made"], run.Wanted()) == 1
    assert recorded(run)["table"] == [{"runs": 8}]
    assert "not measured: broken: no such server" in capfd.readouterr().err


def test_a_part_has_no_record_and_is_added_on_demand(run: Any) -> None:
    made = run.EXPERIMENTS["made"]
    part = run.Wanted(runs=1, links="far", peers="a")
    assert run.campaign(["made"], part) == 0
    assert made.done == [(0, "far", "a")]
    assert not run.RECORD.exists()
    assert run.campaign(["made"], run.Wanted()) == 0
    assert run.campaign(["made"], run.Wanted(runs=1, links="far", peers="a", add=True)) == 0
    rows = (run.RECORD / "made.csv").read_text().splitlines()
    assert recorded(run)["table"] == [{"runs": 9}]
    assert rows[-1].startswith("2,far,a")


def test_a_busy_machine_is_waited_for(
    module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = module("machine")
    cores = len(machine.os.sched_getaffinity(0))
    now, loads = [0.0], iter([1.0 * cores, 0.6 * cores, 0.4 * cores])
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (next(loads), 0.0, 0.0))
    monkeypatch.setattr(machine.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(machine.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
    assert machine.settle(is_busy_allowed=False) is None
    assert now == [2 * machine.LOOK_S]
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (7.0 * cores, 0.0, 0.0))
    with pytest.raises(module("model").CannotRunError, match="busy"):
        machine.settle(is_busy_allowed=False)
    assert f"load {7.0 * cores:.1f}" in machine.settle(is_busy_allowed=True)


def test_each_experiment_can_be_run(module: Callable[[str], Any]) -> None:
    run, reads = module("run"), module("reads")
    for name, bench in run.EXPERIMENTS.items():
        cells = bench.cells()
        assert cells, name
        assert len(set(cells)) == len(cells), name
        if isinstance(bench, reads.Reads):
            assert not bench.experiment.file or bench.experiment.file in module("data").FILES
            for peer in bench.peers.values():
                assert (BENCH / "peers" / f"{peer.script}.py").exists(), (name, peer.name)
    for path in (BENCH / "record").glob("*.json"):
        # The run of soak.py compares answers, and has no peers.
        assert path.stem.removesuffix("-bbr") in {*run.EXPERIMENTS, "soak"}, path.name


def test_peers_that_wait_for_each_basket_run_near_and_seldom(module: Callable[[str], Any]) -> None:
    bench, cell = module("run").EXPERIMENTS["seed-cmssw"], module("model").Cell
    near, far = (
        {one.peer for one in bench.cells() if one.link.startswith(at)} for at in ("0", "1")
    )
    sample = "ROOT, default cache (50 events)"
    assert "ROOT, default cache" in near - far
    assert sample in far - near
    assert "farroot, event by event" in near & far
    assert bench.run(1, cell("", sample)) == [], "it runs once, whatever the others do"


def line(link: str, peer: str, median: float, **more: Any) -> dict[str, Any]:
    return {"link": link, "peer": peer, "median": median, "min": median, "max": median, **more}


def test_slowdowns_are_those_beside_the_near_loop_with_all_rules(
    module: Callable[[str], Any],
) -> None:
    tables, papers = module("seed_tables"), module("papers")
    (near, far), peers = papers.CMSSW, papers.FARROOT_RULES
    lines = [line(near, peers[0], 2.0), line(far, peers[0], 3.0), line(far, peers[1], 30.0)]
    found = {row[0]: row[1:] for row in tables.cmssw(lines)}
    assert found["**farroot**, 0.3 ms, 20 MB/s"][:2] == ["1.00", "not run"]
    assert found["**farroot**, 137 ms, 20 MB/s"] == ["1.50", "15.00", *["not run"] * 3]
    assert found["CMSSW, 137 ms, 18.7 MB/s"][:2] == ["2.38", "23.16"]
    assert ">15<" in tables.cmssw_chart(lines)


def test_rates_of_chunks_are_compared_with_one_by_one(module: Callable[[str], Any]) -> None:
    tables = module("seed_tables")
    size = {"payload_bytes": 100_000_000}
    lines = [
        line(link, peer, median, **size)
        for link in ("23 ms rate=10MB/s", "160 ms rate=10MB/s")
        for peer, median in (
            ("XRootD's client, one by one", 1000.0),
            ("farroot, 2 connections", 20.0),
        )
    ]
    found = {row[0]: row[1:] for row in tables.streams(lines)}
    assert found["**farroot, 2 connections**"] == ["5.00", "50.0", "5.00", "50.0"]
    assert found["XrdClient at best"] == ["", "24, heading for 28", "", "44, heading for 150"]


def test_the_axis_of_bars_encloses_all_values(module: Callable[[str], Any]) -> None:
    chart = module("chart")
    ticks = chart.log_ticks(0.91, 23.2)
    assert ticks == pytest.approx([0.5, 1, 2, 5, 10, 20, 50])
    assert [tick for tick in ticks if chart.is_power(tick)] == pytest.approx([1, 10])
    assert chart.log_ticks(1.0, 1.0) == [1.0]


# --- records that are older than the code


class History:
    """A repository whose commits have days that tests choose."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, day: str = "2026-11-01") -> str:
        who = {f"GIT_{one}_{key}": "x@y" for one in ("AUTHOR", "COMMITTER") for key in ("EMAIL",)}
        who |= {f"GIT_{one}_NAME": "x" for one in ("AUTHOR", "COMMITTER")}
        who |= {f"GIT_{one}_DATE": f"{day}T12:00:00Z" for one in ("AUTHOR", "COMMITTER")}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=who, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def change(self, name: str, day: str) -> str:
        """Commits a change of one file; the short name of the commit."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as text:
            text.write("more\n")
        self.git("add", name)
        self.git("commit", "-q", "-m", "x", day=day)
        return self.git("rev-parse", "--short", "HEAD")


def record_of(folder: Path, name: str, commit: str, day: str, **line: Any) -> None:
    machine = {"commit": commit, "date": day}
    text = json.dumps({"machine": machine, "table": [{"peer": "farroot", **line}]})
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(text)


def test_records_older_than_their_code_are_found(
    module: Callable[[str], Any], tmp_path: Path
) -> None:
    outdated = module("outdated")
    history, records, marks = History(tmp_path / "a"), tmp_path / "record", tmp_path / "marks.json"
    old = history.change("crates/remote/src/lib.rs", "2026-11-02")
    history.change("crates/rootfile/src/lib.rs", "2026-11-03")
    last = history.change("crates/remote/src/tests.rs", "2026-11-04")
    history.change("crates/remote/tests/x.rs", "2026-11-05")
    history.change("docs/x.md", "2026-11-05")
    # The code of writing has not changed at all, that of reads by `old` and the second commit.
    record_of(records, "h42", old, "2026-11-02", connections=1)
    record_of(records, "loss", last, "2026-11-04", connections=1)
    record_of(records, "write", old, "2026-11-02")
    # Commits that are not of this history: their days decide.
    record_of(records, "slowflows", "deadbeef", "2026-11-02", connections=1)
    record_of(records, "overlap", "deadbeef", "2026-11-03", connections=1)
    assert outdated.refresh(history.path, records, marks)
    assert outdated.read(marks) == {"h42": old, "slowflows": "deadbeef"}
    # A record that is made again has no mark before the next look.
    again = {"machine": {"commit": last}}
    assert not outdated.is_outdated("h42", again, outdated.read(marks))


def test_without_the_whole_history_marks_stay(module: Callable[[str], Any], tmp_path: Path) -> None:
    outdated = module("outdated")
    history, records, marks = History(tmp_path / "a"), tmp_path / "record", tmp_path / "marks.json"
    old = history.change("crates/remote/src/lib.rs", "2026-11-02")
    history.change("crates/remote/src/lib.rs", "2026-11-03")
    record_of(records, "h42", old, "2026-11-02", connections=1)
    marks.write_text('{"h42": "x"}')
    shallow = tmp_path / "shallow"
    history.git("clone", "-q", "--depth=1", f"file://{history.path}", str(shallow))
    assert not outdated.refresh(shallow, records, marks)
    assert outdated.read(marks) == {"h42": "x"}
    (tmp_path / "no repository").mkdir()
    assert not outdated.refresh(tmp_path / "no repository", records, marks)


def test_old_records_are_marked_in_tables(
    module: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = module("tables")
    copy = shutil.copytree(tables.RECORD, tmp_path / "record")
    monkeypatch.setattr(tables, "RECORD", copy)
    monkeypatch.setattr(tables, "MARKS", tmp_path / "marks.json")
    assert all(tables.OUTDATED not in text for text in marked(tables).values())
    commit = tables.record("h42")["machine"]["commit"]
    tables.MARKS.write_text(json.dumps({"h42": commit, "local": "of another record"}))
    assert set(marked(tables)) >= {"README.md", "performance.md", "remote.md", "overhead.md"}
    assert f"commit {commit} ({tables.OUTDATED})" in marked(tables)["remote.md"]
    assert "h42.json) (older" in marked(tables)["README.md"]
    assert "local.md" not in marked(tables)


def marked(tables: Any) -> dict[str, str]:
    """The pages with a mark. Words about marks, in pages that are not made as a whole, are none."""
    found = {path.name: text for path, text in tables.made().items()}
    return {name: text for name, text in found.items() if f"({tables.OUTDATED})" in text}
