"""Reads that are awaited: other tasks run meanwhile, and a task that is cancelled ends its read."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .scripted_xrootd import Asked, scripted

#: Longer than any wait here takes on a busy machine.
LONG = 60


def test_what_is_awaited_equals_what_is_called(made: Path, several: list[Path]) -> None:
    async def read() -> list[Any]:
        tree = await farroot.aopen(f"{made}:events")
        files = [f"{path}:events" for path in several]
        batches = [batch async for batch in tree.iterate(["int32"], step_size=300)]
        return [
            (await tree.aarrays(["int32", "text"], entry_stop=10)).to_list(),
            (await tree["int32"].aarray(library="np")).tolist(),
            [batch.to_list() for batch in batches],
            (await farroot.aconcatenate(files, ["int32"])).to_list(),
            [batch.to_list() async for batch in farroot.iterate(files, ["int32"])],
        ]

    tree = farroot.open(f"{made}:events")
    files = [f"{path}:events" for path in several]
    assert asyncio.run(read()) == [
        tree.arrays(["int32", "text"], entry_stop=10).to_list(),
        tree["int32"].array(library="np").tolist(),
        [batch.to_list() for batch in tree.iterate(["int32"], step_size=300)],
        farroot.concatenate(files, ["int32"]).to_list(),
        [batch.to_list() for batch in farroot.iterate(files, ["int32"])],
    ]


class Held:
    """A server that answers opens when the test sets ``goes``."""

    def __init__(self) -> None:
        self.goes = threading.Event()
        self.asked = threading.Semaphore(0)

    def __call__(self, asked: Asked) -> bytes | None:
        if asked.name == "open":
            self.asked.release()
            self.goes.wait(LONG)
        return None


def test_other_tasks_run_while_a_file_is_opened(made: Path) -> None:
    held = Held()

    async def read(url: str) -> int:
        opening = asyncio.create_task(farroot.aopen(f"{url}:events"))
        while not held.asked.acquire(blocking=False):
            await asyncio.sleep(0.01)
        held.goes.set()
        tree: farroot.Tree = await opening
        return tree.num_entries

    with scripted(made.read_bytes(), held) as server:
        assert asyncio.run(read(f"root://127.0.0.1:{server.port}//f.root")) == 1000


def test_a_task_that_is_cancelled_ends_its_read(made: Path) -> None:
    held = Held()

    async def read(url: str) -> None:
        async with asyncio.timeout(0.2):
            await farroot.aopen(url)

    with scripted(made.read_bytes(), held) as server:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(read(f"root://127.0.0.1:{server.port}//f.root"))
        # The call has ended with its task: else the interpreter would wait for the thread.
        assert time.monotonic() - begun < LONG / 2
        held.goes.set()


def test_steps_of_a_cancelled_task_do_not_just_end(tmp_path: Path) -> None:
    """Those that had not been read would be missing without a word."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        # More than comes with an open.
        file.mktree("events", {"x": np.random.default_rng(1).random(500_000)})
    holds = threading.Event()
    goes = threading.Event()

    def answers(asked: Asked) -> bytes | None:
        if asked.name in ("read", "readv") and holds.is_set():
            goes.wait(LONG)
        return None

    async def read(url: str) -> None:
        tree = await farroot.aopen(f"{url}:events")
        holds.set()
        steps = tree.iterate(["x"], step_size=100)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await anext(steps)
        with pytest.raises(farroot.InvalidArgumentError, match="cancelled"):
            await anext(steps)

    with scripted(path.read_bytes(), answers) as server:
        asyncio.run(read(f"root://127.0.0.1:{server.port}//f.root"))
        goes.set()


def test_many_opens_wait_at_the_same_time(made: Path) -> None:
    held = Held()
    content = made.read_bytes()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(scripted(content, held)) for _ in range(4)]
        urls = [f"root://127.0.0.1:{server.port}//f.root:events" for server in servers]
        opens = stack.enter_context(farroot.open_many(urls))
        # All have been asked for though none has been answered.
        for server in servers:
            while not server.named("open"):
                assert held.asked.acquire(timeout=LONG)
        assert repr(opens) == "<OpenMany: 0 of 4 open>"
        held.goes.set()
        assert [tree.num_entries for tree in opens] == [1000] * 4
        assert [tree.num_entries for tree in opens[1:3]] == [1000] * 2
        assert sorted(number for number, _ in opens.as_opened()) == list(range(4))


def test_opens_that_are_no_longer_wanted_end(made: Path) -> None:
    held = Held()
    with scripted(made.read_bytes(), held) as server:
        url = f"root://127.0.0.1:{server.port}//f.root"
        with farroot.open_many([url] * 3) as opens:
            assert held.asked.acquire(timeout=LONG)
        with pytest.raises(farroot.InvalidArgumentError, match="closed"):
            opens[0]
        held.goes.set()


def test_an_error_belongs_to_its_file(made: Path, tmp_path: Path) -> None:
    opens = farroot.open_many([f"{made}:events", tmp_path / "nowhere.root"])
    assert opens[0].num_entries == 1000
    with pytest.raises(farroot.NotFoundError, match="nowhere"):
        opens[-1]
    with pytest.raises(farroot.Error):
        list(opens)
