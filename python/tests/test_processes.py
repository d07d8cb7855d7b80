"""Forks, spawned processes, threads, pickles and Ctrl-C."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import farroot
from farroot import _core

from .conftest import ENTRIES


def _total(tree: farroot.Tree) -> int:
    return int(tree["int32"].array(library="np").sum(dtype="int64"))


def _tree(path: Path) -> farroot.Tree:
    tree = farroot.open(f"{path}:events")
    assert isinstance(tree, farroot.Tree)
    return tree


def _in_child(check: object) -> None:
    """Runs a check in a forked child; a hang counts as a failure."""
    assert callable(check)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked child hangs")


def test_a_forked_child_reads_with_the_parents_handles(made: Path) -> None:
    file, tree = farroot.open(made), _tree(made)
    assert isinstance(file, farroot.File)
    expected = _total(tree)
    running = tree.iterate("int32", step_size=10)
    next(running)

    def check() -> bool:
        fresh = _total(_tree(made)) == expected
        kept = _total(tree) == expected
        other = file["events"]
        assert isinstance(other, farroot.Tree)
        return fresh and kept and _total(other) == expected

    for _ in range(3):
        _in_child(check)
    assert _total(tree) == expected
    assert len(next(running)) == 10


def test_an_iteration_does_not_cross_a_fork(made: Path) -> None:
    running = _tree(made).iterate("int32", step_size=10)
    next(running)

    def check() -> bool:
        try:
            next(running)
        except farroot.InvalidArgumentError as error:
            return "fork" in str(error)
        return False

    _in_child(check)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_pools_of_processes(made: Path, method: str) -> None:
    tree = _tree(made)
    expected = _total(tree)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_total, [tree, tree]) == [expected, expected]


def test_files_and_trees_pickle_by_address(made: Path) -> None:
    file = farroot.open(made)
    tree = _tree(made)
    for thing in (file, tree, tree["int32"]):
        again = pickle.loads(pickle.dumps(thing))
        assert type(again) is type(thing)
        assert repr(again) == repr(thing)
    assert _total(pickle.loads(pickle.dumps(tree))) == _total(tree)


def test_threads_share_a_tree(made: Path) -> None:
    tree = _tree(made)
    expected = _total(tree)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(_total, [tree] * 40)) == {expected}


def test_threads_take_turns_in_one_iteration(made: Path) -> None:
    asked = _core.Request([_core.ColumnRequest("int8")])
    batches = _tree(made)._live().batches(asked, 0, ENTRIES, _core.StepSize(20))
    seen: list[int] = []

    def take(_: int) -> None:
        while True:
            try:
                batch = batches.next()
            except farroot.InvalidArgumentError:
                continue
            if batch is None:
                return
            seen.append(batch.start)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert sorted(seen) == list(range(0, ENTRIES, 20))


# Shells start background jobs with SIGINT ignored, which children inherit.
SILENT = """
import signal, sys, farroot
signal.signal(signal.SIGINT, signal.default_int_handler)
print("asking", flush=True)
try:
    farroot.open("{scheme}://127.0.0.1:{port}//f.root:events")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    farroot.open({made!r} + ":events")["int32"].array()
    sys.exit(42)
"""


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_ctrl_c_ends_a_wait_for_a_silent_server(made: Path, scheme: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        script = SILENT.format(scheme=scheme, port=silent.getsockname()[1], made=str(made))
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "asking\n"
            silent.settimeout(20)
            asked, _ = silent.accept()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            waited = time.monotonic() - sent
            assert process.wait(20) == 42
            asked.close()
    # Signals are looked for ten times a second; the rest is for a machine that is busy.
    assert waited < 2, f"Ctrl-C took {waited:.2f} s"


def test_a_refused_port_is_an_error_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        for scheme in ("root", "http"):
            with pytest.raises(ConnectionError) as refused:
                farroot.open(f"{scheme}://127.0.0.1:{port}//f.root")
            assert isinstance(refused.value, farroot.ConnectionFailedError)
            assert str(port) in str(refused.value)
            assert refused.value.retryable


@pytest.mark.parametrize("scheme", ["root", "http"])
def test_a_silent_server_is_left_in_bounded_time(scheme: str) -> None:
    script = (
        "import sys, farroot\n"
        "try:\n"
        "    farroot.open(sys.argv[1])\n"
        "except TimeoutError as error:\n"
        "    assert isinstance(error, farroot.TimedOutError) and error.retryable\n"
        "    sys.exit(42)\n"
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}//f.root"
        environment = {**os.environ, "FARROOT_READ_TIMEOUT": "0.3"}
        done = subprocess.run(
            [sys.executable, "-c", script, url], env=environment, check=False, timeout=50
        )
    assert done.returncode == 42


def test_a_small_budget_reads_the_same(made: Path) -> None:
    script = (
        "import sys, farroot\n"
        "tree = farroot.open(sys.argv[1])\n"
        "print(sum(len(step) for step in tree.iterate(step_size=300)), len(tree.arrays()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, f"{made}:events"],
        env={**os.environ, "FARROOT_MEMORY": "10 kB"},
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    assert done.stdout.split() == [str(ENTRIES), str(ENTRIES)]


def test_settings_can_be_changed_while_reading(made: Path) -> None:
    script = (
        "import farroot, sys\n"
        "assert farroot.config(memory='2 GB', decode_threads=1)['memory'] == 2_000_000_000\n"
        "assert farroot.config(checksums='always')['checksums'] == 'always'\n"
        "try:\n"
        "    farroot.config(checksums='sometimes')\n"
        "except farroot.InvalidArgumentError as error:\n"
        "    assert 'auto, always or never' in str(error)\n"
        "tree = farroot.open(sys.argv[1])\n"
        "first = tree['int32'].array()\n"
        "now = farroot.config(memory='3 MB', read_timeout=7, discovery=False)\n"
        "assert now['memory'] == 3_000_000 and now['read_timeout'] == 7.0\n"
        "assert now['discovery'] is False and now['checksums'] == 'always'\n"
        "assert farroot.open(sys.argv[1])['int32'].array().tolist() == first.tolist()\n"
        "try:\n"
        "    farroot.config(memory='4 MB', decode_threads=2)\n"
        "except farroot.InvalidArgumentError as error:\n"
        "    assert 'decode_threads cannot be changed' in str(error), error\n"
        "    assert farroot.config()['memory'] == 3_000_000\n"
        "    sys.exit(42)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, f"{made}:events"], check=False)
    assert done.returncode == 42


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"memory": "3 parsec"}, "bytes, as 500 MB"),
        ({"memory": 0}, "memory=0"),
        ({"memory": 2.5}, "memory=2.5"),
        ({"connections": 1000}, "1 to 256"),
        ({"read_timeout": "soon"}, "seconds"),
        ({"store_folder": ""}, "absolute path"),
        ({"store_folder": "cache"}, "absolute path"),
        ({"checksums": 3}, "auto, always or never"),
    ],
)
def test_what_a_setting_does_not_take_is_refused(settings: dict[str, Any], said: str) -> None:
    before = farroot.config()
    with pytest.raises(farroot.InvalidArgumentError, match=said):
        farroot.config(**settings)
    assert farroot.config() == before


def test_the_settings_are_those_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `FARROOT_(\w+)` \|", page, re.MULTILINE)
    assert rows == [(name, name.upper()) for name in farroot.config()]
    keywords = inspect.signature(farroot.config).parameters
    assert set(keywords) == set(farroot.config())
    for name in keywords:
        assert f"        {name}: " in (farroot.config.__doc__ or ""), name


def test_misspelt_variables_are_named_once(made: Path) -> None:
    script = "import farroot, sys; [farroot.open(sys.argv[1]) for _ in range(3)]"
    done = subprocess.run(
        [sys.executable, "-c", script, f"{made}:events"],
        env={**os.environ, "FARROOT_MEMROY": "1 GB"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("FARROOT_MEMROY") == 1, done.stderr
    assert "SettingWarning" in done.stderr
    assert "did you mean FARROOT_MEMORY?" in done.stderr


def test_the_environment_is_read(made: Path) -> None:
    script = "import farroot; print(farroot.config()['memory'])"
    environment = {**os.environ, "FARROOT_MEMORY": "3 GB"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3000000000"
    environment["FARROOT_MEMORY"] = "much"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert "FARROOT_MEMORY" in done.stderr


def test_importing_is_light() -> None:
    script = (
        "import sys; import farroot\n"
        "heavy = {'awkward', 'pandas', 'numpy', 'asyncio', 'fsspec'} & set(sys.modules)\n"
        "sys.exit(f'imported with farroot: {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
