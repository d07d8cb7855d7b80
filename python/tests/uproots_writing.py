"""uproot's own tests of writing, with farroot in uproot's place where it writes.

    python -m tests.uproots_writing FOLDER [--uproot] [pytest's own arguments]

FOLDER is a copy of uproot's repository, of which nothing is kept here; its source distribution has
the tests, too (``pip download --no-binary uproot --no-deps uproot``, with hatchling and
hatch-vcs). All tests run where ROOT, hist, pandas, ``dask-awkward``,
``dask[array,distributed]<2025.4``, ``awkward-pandas``, rangehttpserver, deflate and isal are
installed, and the corpus is there; ``--timeout 60`` ends those that wait for servers. For two of
them, XRootD's server must start, which it refuses to the user root. farroot writes the files of a
test, and uproot and ROOT read them, as in the test; ``--uproot`` lets uproot write, to know which
tests can pass at all. Only the tests that write count.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import farroot
import farroot.writing.identify
from farroot import _by_root

from .skips import corpus_folder

#: The calls in a file of tests that writes.
WRITES = re.compile(r"\b(recreate|create|update|mktree|mkrntuple|uproot\.writing)\b")
FUNCTIONS = ("create", "recreate", "update")
CLASSES = (
    *("WritableBranch", "WritableDirectory", "WritableFile", "WritableNTuple", "WritableTree"),
)


class Suite:
    """A plugin that replaces the functions that write, and notes which tests call them."""

    def __init__(self, is_replaced: bool) -> None:
        self.is_replaced = is_replaced
        self.outcomes: dict[str, tuple[str, str]] = {}
        self._writes = False
        #: What is replaced in uproot's modules: module, name, uproot's own and the replacement.
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def pytest_configure(self) -> None:
        import uproot
        import uproot.writing

        # Files with tests of compression compare with uproot's own objects.
        farroot_or_uproot: Any = farroot if self.is_replaced else uproot
        for name in FUNCTIONS:
            function = self._noted(getattr(farroot_or_uproot, name))
            for module in (uproot, uproot.writing, uproot.writing.writable):
                self._replace(module, name, function)
        if not self.is_replaced:
            return
        for name in CLASSES:
            for module in (uproot, uproot.writing, uproot.writing.writable):
                self._replace(module, name, getattr(farroot.writing, name))
        for name in farroot.writing.identify.__all__:
            self._replace(uproot.writing.identify, name, getattr(farroot.writing.identify, name))
        self._replace(uproot, "as_TGraph", farroot.as_TGraph)
        self._replace(uproot, "dask_write", self._noted(farroot.dask_write))
        # farroot writes objects of uproot with uproot itself.
        by_uproot = _by_root.written_by_uproot

        @contextmanager
        def written_by_uproot(obj: Any) -> Iterator[Any]:
            with self._uproots_own(), by_uproot(obj) as file:
                yield file

        farroot.writing.identify.written_by_uproot = written_by_uproot  # type: ignore[attr-defined]

    def _replace(self, module: Any, name: str, new: Any) -> None:
        self._replaced.append((module, name, getattr(module, name, None), new))
        setattr(module, name, new)

    @contextmanager
    def _uproots_own(self) -> Iterator[None]:
        """A block in which nothing of uproot is replaced."""
        for module, name, own, _ in self._replaced:
            setattr(module, name, own)
        try:
            yield
        finally:
            for module, name, _, new in self._replaced:
                setattr(module, name, new)

    def _noted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._writes = True
            return function(*args, **kwargs)

        return call

    def pytest_runtest_setup(self) -> None:
        self._writes = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        is_end = report.when == "call" or report.outcome != "passed"
        if is_end and (self._writes or report.outcome == "skipped"):
            text = str(report.longrepr).strip().splitlines()[-1] if report.longrepr else ""
            why = text if report.outcome == "skipped" else reason(report)
            if self._writes:
                self.outcomes[report.nodeid] = (report.outcome, why)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, (outcome, why) in self.outcomes.items():
            if outcome != "passed":
                terminalreporter.write_line(f"{outcome} {name}: {why}")
        outcomes = [outcome for outcome, _ in self.outcomes.values()]
        counts = {each: outcomes.count(each) for each in ("passed", "failed", "skipped")}
        terminalreporter.write_line(f"tests that write: {counts}")


def reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message).splitlines() if crash is not None else []
    return next((line for line in lines if line), "")


def _without_data() -> None:
    """Stands for packages that only fetch files: those that are not here skip their tests."""
    data = ModuleType("skhep_testdata")
    corpus = corpus_folder()

    def data_path(name: str, *_: Any) -> str:
        found = sorted(corpus.rglob(name)) if corpus is not None else []
        if not found:
            pytest.skip(f"{name} is not here", allow_module_level=True)
        return str(found[0])

    data.data_path = data_path  # type: ignore[attr-defined]
    # uproot's tests fetch into a folder of their own first.
    cache = Path(tempfile.gettempdir())
    data.data = SimpleNamespace(cache_path=lambda: cache)  # type: ignore[attr-defined]
    sys.modules["skhep_testdata"] = data
    if importlib.util.find_spec("RangeHTTPServer") is None:
        server = ModuleType("RangeHTTPServer")
        server.RangeRequestHandler = object  # type: ignore[attr-defined]
        sys.modules["RangeHTTPServer"] = server


def run(arguments: list[str], uses: re.Pattern[str], suite: Callable[[bool], Any]) -> int:
    """Runs uproot's test files that match a pattern, with a plugin; returns pytest's exit code.

    Args:
        arguments: Of the command: the folder of uproot, ``--uproot``, arguments of pytest.
        uses: Pattern of the test files to run, searched in their text.
        suite: Makes the plugin; its argument says whether farroot is in uproot's place.
    """
    folder, *rest = arguments
    is_replaced = "--uproot" not in rest
    _without_data()
    os.chdir(folder)
    tests = sorted(Path("tests").glob("test_*.py"))
    chosen = [argument for argument in rest if argument != "--uproot"]
    if not any(argument.endswith(".py") for argument in chosen):
        chosen += [str(file) for file in tests if uses.search(file.read_text())]
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", "--import-mode=importlib"]
    # Some files import internals of uproot that farroot lacks.
    options.append("--continue-on-collection-errors")
    return pytest.main([*options, *chosen], plugins=[suite(is_replaced)])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], WRITES, Suite))
