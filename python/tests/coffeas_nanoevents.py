"""Runs coffea's own tests of NanoEvents with ``farroot.coffea`` as the reader.

    python -m tests.coffeas_nanoevents FOLDER [--coffea] [pytest's own arguments]

FOLDER is a clone of coffea's repository; `make coffea` installs the imports of its tests.
``--coffea`` runs the tests with coffea itself, to know which can pass at all. Only tests that make
NanoEvents from ROOT files in eager or virtual mode, or a Runner, count. For each file that farroot
opens, the forms of all columns in coffea's form are compared.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoEventsFactory
from coffea.nanoevents.mapping import UprootSourceMapping

import farroot.coffea
from farroot.coffea._mapping import SourceMapping
from farroot.errors import UnreadableWarning

from .uproots_writing import reason

#: Names in test files that make NanoEvents from ROOT files.
FILES = re.compile(r"\bfrom_root\b|\bRunner\b")


class Suite:
    """A pytest plugin that replaces ``from_root`` and Runner, and records which tests use them."""

    def __init__(self, is_replaced: bool) -> None:
        self.is_replaced = is_replaced
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.forms = {"equal": 0, "more": 0, "different": 0}
        self.different: set[str] = set()
        self._uses = False
        self._compared: set[tuple[str, str]] = set()
        self._coffeas = NanoEventsFactory.from_root

    def pytest_configure(self) -> None:
        suite = self

        def from_root(cls: Any, /, file: Any, **options: Any) -> Any:
            mode = options.get("mode", "virtual")
            if not suite.is_replaced or mode not in ("virtual", "eager"):
                suite._uses |= mode != "dask"
                return suite._coffeas(file, **options)
            suite._uses = True
            made = farroot.coffea.from_root(file, **options)
            suite._compare(made, options)
            return made

        NanoEventsFactory.from_root = classmethod(from_root)
        if self.is_replaced:
            processor.Runner = farroot.coffea.Runner
        make = processor.Runner.__init__

        def made(runner: Any, *arguments: Any, **options: Any) -> None:
            suite._uses = True
            make(runner, *arguments, **options)

        processor.Runner.__init__ = made

    def _compare(self, made: Any, options: dict[str, Any]) -> None:
        """Counts, once for each file, whether coffea's columns have the same forms here."""
        table = made._mapping.table
        filters = options.get("iteritems_options", {})
        if (table.address, str(filters)) in self._compared:
            return
        self._compared.add((table.address, str(filters)))
        with uproot.open(table.url) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = file[table.object_path]
            theirs = _by_name(UprootSourceMapping._extract_base_form(tree, filters))
        ours = _by_name(SourceMapping._extract_base_form(table, filters))
        outcome = "different"
        if all(ours.get(name) == form for name, form in theirs.items()):
            outcome = "equal" if list(ours) == list(theirs) else "more"
        self.forms[outcome] += 1
        if outcome == "different":
            self.different.add(f"{table.address} {options.get('schemaclass')}")

    def pytest_runtest_setup(self) -> None:
        warnings.simplefilter("ignore", UnreadableWarning)
        self._uses = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        if self._uses and "parquet" not in report.nodeid:
            self.outcomes[report.nodeid] = (report.outcome, reason(report))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, (outcome, why) in sorted(self.outcomes.items()):
            terminalreporter.write_line(f"{outcome} {name}: {why}")
        for each in sorted(self.different):
            terminalreporter.write_line(f"another form: {each}")
        outcomes = [outcome for outcome, _ in self.outcomes.values()]
        counts = {each: outcomes.count(each) for each in ("passed", "failed", "skipped")}
        terminalreporter.write_line(f"tests of NanoEvents: {counts}; forms: {self.forms}")


def _by_name(base_form: dict[str, Any]) -> dict[str, Any]:
    contents = map(_plain, base_form["contents"])
    return dict(zip(base_form["fields"], contents, strict=True))


def _plain(form: Any) -> Any:
    """The form without the form keys of records: these have no buffers."""
    if isinstance(form, list):
        return [_plain(each) for each in form]
    if not isinstance(form, dict):
        return form
    is_record = form.get("class") == "RecordArray"
    return {
        name: _plain(each) for name, each in form.items() if not (is_record and name == "form_key")
    }


def main(arguments: list[str]) -> int:
    folder, *rest = arguments
    is_replaced = "--coffea" not in rest
    os.chdir(folder)
    chosen = [argument for argument in rest if argument != "--coffea"]
    own = [argument for argument in chosen if argument.endswith(".py")]
    files = [str(each) for each in sorted(Path("tests").glob("test_*.py")) if _makes_events(each)]
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", "--continue-on-collection-errors"]
    options += chosen
    return pytest.main(options + ([] if own else files), plugins=[Suite(is_replaced)])


def _makes_events(file: Path) -> bool:
    return FILES.search(file.read_text()) is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
