"""The tables of the documents are those that bench/tables.py makes of the records."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module("tables")


def stale(tables: ModuleType) -> set[str]:
    return {path.name for path, text in tables.made().items() if not tables.holds(path, text)}


def test_pages_are_what_the_records_say(tables: ModuleType) -> None:
    assert stale(tables) == set(), "run `make tables`"


def test_a_record_that_changes_makes_its_pages_stale(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(tables.RECORD, tmp_path / "record")
    monkeypatch.setattr(tables, "RECORD", copy)
    changed = json.loads((copy / "local.json").read_text())
    for line in changed["table"]:
        line["median"] *= 2
    (copy / "local.json").write_text(json.dumps(changed))
    assert stale(tables) == {"README.md", "performance.md", "local.md"}


def test_numbers_have_three_digits_that_count(tables: ModuleType) -> None:
    assert [tables.seconds(value) for value in (0.0248, 1.0505, 15.194, 1387.2)] == [
        "0.025",
        "1.05",
        "15.2",
        "1,387",
    ]


def test_links_are_named_in_words(tables: ModuleType) -> None:
    assert tables.link_name("137 ms rate=20MB/s") == "137 ms, 20 MB/s"
    assert tables.link_name("100 ms flow-rate=1MB/s") == "100 ms, 1 MB/s a connection"
    assert tables.link_name("100 ms loss=0.1%") == "100 ms, 0.1 % lost"
