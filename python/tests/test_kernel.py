"""Interrupts, bars and timelines in the kernel of a notebook."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import farroot

from .test_remote import serving


class Kernel:
    """A notebook's kernel that runs cells and returns their messages."""

    def __init__(self, running: Any, client: Any) -> None:
        self._running, self._client = running, client

    def run(self, code: str, meanwhile: Callable[[], object] = lambda: None) -> list[Any]:
        """Runs a cell and returns its messages.

        Args:
            meanwhile: Called when the cell has been sent.
        """
        sent = self._client.execute(code)
        meanwhile()
        given: list[Any] = []
        while True:
            message = self._client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return given
            given.append({"kind": kind, **content})

    def interrupt(self) -> None:
        """Interrupts the running cell, as the stop button does."""
        self._running.interrupt_kernel()


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    why = "IPYKERNEL IS NOT INSTALLED: no notebook is tested (make docs installs it)"
    pytest.importorskip("ipykernel", reason=why)
    manager = pytest.importorskip("jupyter_client.manager", reason=why)
    running, client = manager.start_new_kernel(kernel_name="python3")
    try:
        yield Kernel(running, client)
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


def test_an_interrupted_read_ends_and_the_kernel_goes_on(kernel: Kernel, made: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        silent.settimeout(60)
        asked = []

        def interrupt() -> None:
            asked.append(silent.accept())
            kernel.interrupt()

        host = f"127.0.0.1:{silent.getsockname()[1]}"
        code = f"import farroot; farroot.open('root://{host}//f.root:events')"
        given = kernel.run(code, interrupt)
        for connection, _ in asked:
            connection.close()
    assert [each["ename"] for each in given if each["kind"] == "error"] == ["KeyboardInterrupt"]
    given = kernel.run(f"print(len(farroot.open({f'{made}:events'!r}).arrays('int32')))")
    assert [each["text"] for each in given if each["kind"] == "stream"] == ["1000\n"]


def test_a_timeline_grows_while_a_read_lasts(kernel: Kernel, made: Path) -> None:
    with serving(made.parent, "--rtt", "250ms") as host:
        given = kernel.run(
            f"import farroot; tree = farroot.open('root://{host}//{made.name}:events')\n"
            "_ = tree.arrays(progress=tree.live_timeline(every=0))"
        )
    (first,) = [each for each in given if each["kind"] == "display_data"]
    later = [each for each in given if each["kind"] == "update_display_data"]
    assert later
    assert {each["transient"]["display_id"] for each in [first, *later]} == {
        first["transient"]["display_id"]
    }
    assert all(
        each["data"]["text/html"].startswith('<div class="farroot">') for each in [first, *later]
    )
    assert first["data"] != later[-1]["data"]


def test_a_bar_of_our_own_where_none_is_installed(kernel: Kernel, made: Path) -> None:
    """Nothing is written to standard error, which a notebook shows as an error."""
    given = kernel.run(
        "import sys, farroot\nsys.modules |= dict.fromkeys(['tqdm', 'tqdm.auto', 'rich'])\n"
        f"_ = farroot.open({f'{made}:events'!r}).arrays('int32', progress=True)"
    )
    (*_, last) = [each for each in given if each["kind"] == "update_display_data"]
    assert '<progress value="1.000">' in last["data"]["text/html"]
    assert "1,000 of 1,000 entries" in last["data"]["text/html"]
    assert [each for each in given if each["kind"] == "stream"] == []


def test_a_timeline_grows_in_notebooks_only(made: Path) -> None:
    with pytest.raises(farroot.UnsupportedError, match="in a notebook only"):
        farroot.open(f"{made}:events").live_timeline()
