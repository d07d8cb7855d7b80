"""Forks while other threads read, the interpreter's end while they do, and subinterpreters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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


#: Daemon threads read, or wait for a silent server, while the interpreter ends slowly.
ENDING = """
import socket, sys, threading, time
import farroot

made, how = sys.argv[1:]
silent = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(4)]
reads = threading.Semaphore(0)

def read(port):
    if how == "waits":
        farroot.open(f"root://127.0.0.1:{port}//f.root:t")
    tree = farroot.open(made)
    while True:
        if how == "cuts":
            for _ in tree.iterate(["int32"], cut="int32 > 0", step_size=100):
                reads.release()
        tree["int32"].array(library="np")
        reads.release()

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

for server in silent:
    port = server.getsockname()[1]
    threading.Thread(target=read, args=(port,), daemon=True).start()
if how == "waits":
    asked = [server.accept() for server in silent]
else:
    for _ in range(40):
        reads.acquire()
slow = Slow()
sys.exit(7)
"""


@pytest.mark.parametrize("how", ["waits", "reads", "cuts"])
def test_reads_in_flight_say_nothing_when_the_interpreter_ends(made: Path, how: str) -> None:
    """Regression: such a thread panicked as there was no interpreter any more."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, f"{made}:events", how],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


SUBINTERPRETER = """
import sys
import farroot
if sys.argv[2] == "first":
    farroot.open(sys.argv[1])
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = '''
import farroot
try:
    farroot.open({made!r})
except farroot.Error as error:
    print(type(error).__name__, error)
'''.format(made=sys.argv[1])
number = interpreters.create()
(getattr(interpreters, "exec", None) or interpreters.run_string)(number, code)
interpreters.destroy(number)
print(farroot.open(sys.argv[1])["events"].num_entries)
"""


@pytest.mark.parametrize("how", ["first", "later"])
def test_subinterpreters_are_refused_in_words(made: Path, how: str) -> None:
    """Regression: the process of a subinterpreter that had loaded the engine hung at its end."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SUBINTERPRETER, str(made), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("UnsupportedError farroot works in a process's main interpreter")
    assert lines[1] == "1000"
