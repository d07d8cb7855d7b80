"""uproot's own tests of reading, with farroot in uproot's place.

    python -m tests.uproots_reading FOLDER [--uproot] [pytest's own arguments]

FOLDER is a copy of uproot's repository, of which nothing is kept here. ``--uproot`` runs them with
uproot itself, to know which tests can pass at all. Counted are the tests that read, and neither
write nor use Dask. Tests that look for an absent file on a remote server get a local server with an
empty folder instead: without a network, uproot treats the remote one as a server without files.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import farroot

from .test_remote import serving
from .uproots_writing import reason, run

READS = ("open", "iterate", "concatenate", "num_entries")
OTHERS = ("create", "recreate", "update", "dask", "dask_write", "graphed")
#: The remote server and its folder in which tests look for an absent file.
FAR, FOLDER = "root://eospublic.cern.ch//", "eos/root-eos/cms_opendata_2012_nanoaod"
#: The calls in a file of tests that reads.
FILES = re.compile(r"\buproot\.(open|iterate|concatenate|num_entries)\b")


class Suite:
    """A plugin that replaces uproot, and notes which tests read."""

    def __init__(self, is_replaced: bool) -> None:
        self.is_replaced = is_replaced
        self.outcomes: dict[str, tuple[str, str]] = {}
        self._uses: set[str] = set()
        self._servers = ExitStack()
        folder = Path(self._servers.enter_context(tempfile.TemporaryDirectory()))
        (folder / FOLDER).mkdir(parents=True)
        self._near = f"root://{self._servers.enter_context(serving(folder))}//"

    def pytest_unconfigure(self) -> None:
        self._servers.close()

    def _nearer(self, one: Any) -> Any:
        """An argument with the local server in place of the remote one."""
        if isinstance(one, str):
            return one.replace(FAR, self._near)
        if isinstance(one, dict):
            return {self._nearer(path): within for path, within in one.items()}
        return [self._nearer(each) for each in one] if type(one) is list else one

    def pytest_configure(self) -> None:
        import uproot

        uproots: Any = farroot if self.is_replaced else uproot
        for name in (*READS, *OTHERS):
            if (function := getattr(uproots, name, None)) is not None:
                setattr(uproots, name, self._noted(name, function))
        if not self.is_replaced:
            return
        modules = pkgutil.walk_packages(uproot.__path__, "uproot.", onerror=lambda _: None)
        for name in [module.name for module in modules]:
            try:
                sys.modules[name] = importlib.import_module("farroot" + name[len("uproot") :])
            except ImportError:
                # A name that only uproot has inside stays uproot's.
                continue
        sys.modules["uproot"] = farroot
        # Tests are made for each handler, which changes nothing here.
        farroot.source = uproot.source  # type: ignore[attr-defined]

    def _noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._uses.add(name)
            return function(*map(self._nearer, args), **kwargs)

        # As uproot.open.defaults.
        call.__dict__.update(getattr(function, "__dict__", {}))
        return call

    def pytest_runtest_setup(self) -> None:
        self._uses = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        if self._uses & {*OTHERS}:
            return
        if self._uses & {*READS} or report.outcome == "failed":
            self.outcomes[report.nodeid] = (report.outcome, reason(report))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, (outcome, why) in sorted(self.outcomes.items()):
            terminalreporter.write_line(f"{outcome} {name}: {why}")
        outcomes = [outcome for outcome, _ in self.outcomes.values()]
        counts = {each: outcomes.count(each) for each in ("passed", "failed", "skipped")}
        terminalreporter.write_line(f"tests that read: {counts}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], FILES, Suite))
