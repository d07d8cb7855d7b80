"""Forks while other threads read."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import farroot

from .test_remote import serving

#: More of them: FORKS=1000.
FORKS = int(os.environ.get("FORKS", "150"))
CHILD_SECONDS = 60


def _child_of(check: object) -> int:
    assert callable(check)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    return child


def _ended(child: int) -> int | None:
    """The status of a child; None, and it is killed, for one that hangs."""
    deadline = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.parametrize("scheme", ["local", "root", "http"])
def test_no_child_hangs_of_a_process_whose_threads_read(made: Path, scheme: str) -> None:
    """Regression: one child in a hundred waited for a lock that another thread of its parent had
    held, of a ``cached_property`` of Python 3.11 mostly."""
    with serving(made.parent) as host:
        addresses = {
            "local": f"{made}:events",
            "root": f"root://{host}//{made.name}:events",
            "http": f"http://{host}/{made.name}:events",
        }
        address = addresses[scheme]
        kept = farroot.open(address)
        assert isinstance(kept, farroot.Tree)
        expected = kept["int32"].array(library="np").sum()
        over = threading.Event()

        def read() -> None:
            while not over.is_set():
                tree = farroot.open(address)
                tree["int32"].array(library="np")
                for _ in tree.iterate(["int8", "jagged"], step_size=300):
                    pass

        def check() -> bool:
            fresh = farroot.open(address)["int32"].array(library="np").sum()
            return bool(fresh == expected == kept["int32"].array(library="np").sum())

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            ended = [_ended(_child_of(check)) for _ in range(FORKS // 3)]
        finally:
            over.set()
            for reader in readers:
                reader.join()
    assert ended == [0] * len(ended)
