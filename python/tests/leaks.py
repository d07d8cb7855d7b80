"""Searches all that tests bring forth for secrets: a plugin of pytest, on in every run.

A secret of a test has the marker in it, and a key in a file is known by its first line. The search
covers the output and the logs of a test, the output of the commands that it runs, farroot's errors
and warnings, pickles, and every file that is left in the temporary folders: pictures, pages,
farroot's store, servers' logs. A file that has a secret because the test has put it there is named
by :func:`holds_secrets`.
"""

from __future__ import annotations

import base64
import binascii
import pickle
import subprocess
import urllib.parse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import farroot

#: The text that every secret of a test contains. Programs in strings put it together anew.
MARKER = "marker-of-a-secret"
_KEY = b"PRIVATE KEY-----"

#: Larger files are data of tests.
_BYTES_MAX = 32 << 20

#: Where the running test has shown a secret, and where any test has.
_seen: list[str] = []
_left: list[str] = []
_exempt: set[Path] = set()


def holds_secrets(path: Path) -> Path:
    """Says that a test keeps secrets of its own in a file or below a folder."""
    _exempt.add(path.resolve())
    return path


def secret_file(path: Path, content: str) -> Path:
    """A file with a secret, closed to others."""
    path.touch(mode=0o600)
    path.write_text(content)
    return holds_secrets(path)


def _inside_base64(secret: bytes, before: int) -> bytes:
    """The letters that stand for nothing but the secret when so many bytes go before it."""
    text = base64.b64encode(bytes(before) + secret)
    begin = -(-before * 8 // 6)
    return text[begin : (before + len(secret)) * 8 // 6]


def _forms(secret: bytes) -> Iterator[bytes]:
    yield secret
    yield binascii.hexlify(secret)
    yield binascii.hexlify(secret).upper()
    for before in range(3):
        text = _inside_base64(secret, before)
        yield text
        yield text.translate(bytes.maketrans(b"+/", b"-_"))


_NEEDLES = [*dict.fromkeys(_forms(MARKER.encode())), _KEY]


def has_secret(content: bytes | str) -> bool:
    """Whether a secret is in it, also as base64, hexadecimal or percent-encoded."""
    if isinstance(content, str):
        content = content.encode(errors="surrogateescape")
    decoded = [content]
    if b"%" in content:
        decoded.append(urllib.parse.unquote_to_bytes(content))
    return any(needle in form for form in decoded for needle in _NEEDLES)


def look(where: str, content: bytes | str | None) -> None:
    """Notes a secret in the output of the running test."""
    if content is not None and has_secret(content):
        _seen.append(where)


def _watch_pickles() -> None:
    dumps = pickle.dumps

    def searched(*arguments: Any, **named: Any) -> bytes:
        content = dumps(*arguments, **named)
        look("a pickle", content)
        return content

    pickle.dumps = searched


def _watch_commands() -> None:
    communicate = subprocess.Popen.communicate

    def searched(self: Any, *arguments: Any, **named: Any) -> Any:
        outputs = communicate(self, *arguments, **named)
        for name, output in zip(("output", "error output"), outputs, strict=True):
            look(f"the {name} of a command", output)
        return outputs

    subprocess.Popen.communicate = searched  # type: ignore[method-assign]


def _watch_errors() -> None:
    begin = farroot.Error.__init__

    def searched(self: farroot.Error, *arguments: Any) -> None:
        begin(self, *arguments)
        look(f"an error ({type(self).__name__})", repr(self.args))

    farroot.Error.__init__ = searched  # type: ignore[method-assign]


def pytest_configure() -> None:
    _watch_pickles()
    _watch_commands()
    _watch_errors()


def pytest_warning_recorded(warning_message: warnings.WarningMessage, nodeid: str) -> None:
    # This comes when the test is over.
    if has_secret(str(warning_message.message)):
        _left.append(f"a warning of {nodeid}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    for name, content in report.sections:
        if name.endswith(report.when):
            look(name.lower(), content)
    if _seen:
        report.outcome = "failed"
        report.longrepr = f"a secret is in {', '.join(dict.fromkeys(_seen))}"
        _left.extend(f"{where} of {report.nodeid}" for where in dict.fromkeys(_seen))
        _seen.clear()


def _is_exempt(path: Path) -> bool:
    return any(place in _exempt for place in (path, *path.parents))


def files_with_secrets(folder: Path) -> Iterator[Path]:
    """Files below a folder with a secret in them that no test has put there."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _BYTES_MAX:
            continue
        if has_secret(path.read_bytes()) and not _is_exempt(path.resolve()):
            yield path


def _temporary_folder(config: pytest.Config) -> Path | None:
    """Where the tests of this process have written, if they have."""
    if config.getoption("numprocesses", None):
        # The tests run in workers of pytest-xdist, which search their own folders.
        return None
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None or factory._basetemp is None:
        return None
    folder: Path = factory.getbasetemp()
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # A worker that crashed has none, and the run has failed.
    _left.extend(getattr(node, "workeroutput", {}).get("secrets", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    folder = _temporary_folder(session.config)
    if folder is not None:
        _left.extend(map(str, files_with_secrets(folder)))
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["secrets"] = _left
    elif _left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workeroutput"):
        return
    # Below the line that counts the tests that have passed: above it, the reason of a failed run
    # is not seen.
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    for path in dict.fromkeys(_left):
        reporter.write_line(f"ERROR: a secret is in {path}", red=True)
