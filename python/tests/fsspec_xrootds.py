"""fsspec-xrootd's own tests, with farroot's filesystem in the place of its class.

    python -m tests.fsspec_xrootds FOLDER [pytest's own arguments]

FOLDER is a copy of fsspec-xrootd's repository, of which nothing is kept here. The exit status is 1
where a test fails that is not in :data:`OTHERWISE`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import farroot

from .skips import need_xrootd
from .test_remote import running_xrootd
from .uproots_writing import reason

#: Tests that ask for what is otherwise here, and why; `docs/under-uproot.md` has the same table.
OTHERWISE = {
    "test_async_impl": "it is not asynchronous",
    "test_close_while_reading": "it is not asynchronous",
    "test_path_parsing": "paths are whole addresses",
    "test_invalid_parameters": "hostid is optional",
    "test_mk_and_rm_dir_fsspec": "ls(detail=False) gives whole paths, as fsspec specifies",
    "test_touch_modified": "touch(truncate=False) of a file that is there is an error",
    "test_write_rpb_fsspec": "r+b is no mode of fsspec's: files are written forward",
    "test_chmod": "permissions are not changed",
    "test_checksum": "checksum() has no algorithm, as fsspec specifies; `cp --verify` compares",
    "test_info_dict_fields": "info() has no owner, group and mode",
}


class Suite:
    """A plugin that gives ``root://`` to farroot, and a server to the tests."""

    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, str]] = {}

    def pytest_configure(self) -> None:
        farroot.install()
        if os.geteuid() == 0:
            # The server does not run as root, and writes where the tests do.
            os.umask(0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Its own server wants a port of its own, and does not run as root."""
        if fixturedef.argname != "localserver":
            return None
        need_xrootd()
        top = request.getfixturevalue("tmp_path_factory").mktemp("served")
        (top / "Folder").mkdir()
        (run := top / "run").mkdir()
        served = running_xrootd(top, run)
        host = served.__enter__()
        fixturedef.addfinalizer(lambda: served.__exit__(None, None, None))
        found = f"root://{host}//Folder", str(top / "Folder")
        fixturedef.cached_result = (found, fixturedef.cache_key(request), None)
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            name = report.nodeid.partition(".py::")[2]
            self.outcomes[name] = (report.outcome, reason(report))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        failed = [name for name, (outcome, _) in self.outcomes.items() if outcome == "failed"]
        session.exitstatus = int(any(name.partition("[")[0] not in OTHERWISE for name in failed))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name, (outcome, why) in sorted(self.outcomes.items()):
            known = OTHERWISE.get(name.partition("[")[0])
            terminalreporter.write_line(f"{outcome} {name}: {known or why}")
        outcomes = [outcome for outcome, _ in self.outcomes.values()]
        counts = {each: outcomes.count(each) for each in ("passed", "failed", "skipped")}
        terminalreporter.write_line(f"tests: {counts}")


def main(words: list[str]) -> int:
    """Runs the tests."""
    folder, *others = words
    tests = str(Path(folder) / "tests" / "test_basicio.py")
    options = [tests, "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    return int(
        pytest.main([*options, f"--rootdir={folder}", "-c", "/dev/null", *others], [Suite()])
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
