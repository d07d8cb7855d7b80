"""Directories over HTTP: by PROPFIND, and as pages of links."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import farroot
from farroot.fsspec import FileSystem

from .conftest import write
from .skips import need_nginx
from .test_odd_servers import answering
from .test_remote import _free_port, _wait_for, open_to_others, running_xrootd, serving

NAMES = ["run1/a.root", "run1/b c.root", "run2/deep/d.root", "README"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listed") / "top"
    for seed, name in enumerate(NAMES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".root"):
            write(folder / name, seed, 100)
        else:
            (folder / name).write_text("text")
    return folder


@contextmanager
def server(kind: str, folder: Path, run: Path) -> Iterator[str]:
    if kind == "farroot":
        with serving(folder) as host:
            yield f"http://{host}"
    elif kind == "xrdhttp":
        with running_xrootd(folder, run, is_http=True) as host:
            yield f"http://{host}"
    elif kind == "python":
        handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
            threading.Thread(target=served.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{served.server_address[1]}"
            served.shutdown()
    else:
        port, program = _free_port(), need_nginx()
        paths = "".join(
            f"{name}_temp_path {run}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        listing = "autoindex on;" + ("autoindex_format json;" if kind == "nginx-json" else "")
        (run / "conf").write_text(
            f"pid {run}/pid; error_log {run}/err; daemon off; events {{}}\n"
            f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{port};"
            f" root {folder}; {listing} }} }}"
        )
        run.chmod(0o777)
        open_to_others(folder)
        with subprocess.Popen([program, "-c", str(run / "conf")]) as process:
            try:
                _wait_for(port, process)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


KINDS = ["farroot", "xrdhttp", "nginx", "nginx-json", "python"]


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_and_lists_are_those_of_the_disk(kind: str, folder: Path, tmp_path: Path) -> None:
    with server(kind, folder, tmp_path) as top:
        for pattern, expected in [
            ("*/*.root", ["run1/a.root", "run1/b c.root"]),
            ("**/*.root", ["run1/a.root", "run1/b c.root", "run2/deep/d.root"]),
            ("run{1,2}/**/[a-d]*.root", ["run1/a.root", "run1/b c.root", "run2/deep/d.root"]),
            ("no*/x", []),
            ("*", ["README", "run1", "run2"]),
        ]:
            from farroot import _core

            found = _core.matching(f"{top}/{pattern}")
            assert found == [f"{top}/{name.replace(' ', '%20')}" for name in expected], pattern
        count = sum(
            len(batch) for batch in farroot.iterate(f"{top}/**/*.root:events", step_size=50)
        )
        assert count == 300
        files = FileSystem(skip_instance_cache=True)
        listed = {each["name"].rpartition("/")[2]: each for each in files.ls(f"{top}/run1/")}
        assert sorted(listed) == ["a.root", "b c.root"]
        if kind != "python":
            size = (folder / "run1/a.root").stat().st_size
            assert listed["a.root"]["size"] in (size, None)
        assert files.isdir(f"{top}/run2")
        assert not files.isdir(f"{top}/README")
        assert len(files.find(f"{top}/")) == len(NAMES)
        command = [sys.executable, "-m", "farroot", "ls", f"{top}/run1/"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "a.root" in shown
        assert "b c.root" in shown
        with pytest.raises(FileNotFoundError):
            files.ls(f"{top}/missing/")


def test_a_page_that_is_no_list_is_said_to_be_none() -> None:
    page = b"<html><title>Our data</title><a href='a.root'>the data</a></html>"

    def answers(request: Any) -> None:
        if request.command == "GET":
            request.send(200, page, Content_Type="text/html")
        else:
            request.send(405)

    with answering(answers) as top, pytest.raises(farroot.UnsupportedError, match="lists no"):
        list(farroot.iterate(f"{top}/*.root:events"))
