"""Pickles of open objects: without secrets, and without connections when they are loaded."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uproot

import farroot
import farroot.fsspec
from farroot._credentials import Access
from farroot._held import HELD

from .conftest import ENTRIES
from .leaks import MARKER
from .test_remote import serving

SECRETS = {
    "authz": f"authz=Bearer%20{MARKER}:a/b",
    "presigned": f"X-Amz-Date=1&X-Amz-Signature={MARKER}",
    "sig": f"sv=1&sig={MARKER}",
}
KINDS: dict[str, Callable[[str], Any]] = {
    "file": farroot.open,
    "tree": lambda url: farroot.open({url: "events"}),
    "branch": lambda url: farroot.open({url: "events/int32"}),
    "chain": lambda url: farroot.chain([{url: "events"}, {url: "events"}]),
    "bytes": farroot.open_bytes,
    "source": farroot.Source,
    "of fsspec": lambda url: farroot.fsspec.FileSystem().open(url),
    "partitions": lambda url: farroot.partitions({url: "events"}),
}


def used(kind: str, thing: Any) -> Any:
    """A use of it for which its file is needed."""
    uses: dict[str, Callable[[], Any]] = {
        "file": lambda: thing["events"].num_entries,
        "tree": lambda: thing["int32"].array()[5],
        "branch": lambda: thing.array()[5],
        "chain": lambda: thing.num_entries,
        "bytes": lambda: bytes(thing.read([(0, 4)])[0]),
        "source": lambda: bytes(thing.chunk(0, 4).raw_data),
        "of fsspec": lambda: thing.read(4),
        "partitions": lambda: [len(part.arrays()) for part in thing],
    }
    return uses[kind]()


@pytest.fixture
def impatient() -> Iterator[None]:
    """A server that has answered before is waited for, here for a second only."""
    before = farroot.config()["retry_timeout"]
    farroot.config(retry_timeout=1)
    yield
    farroot.config(retry_timeout=before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_has_no_secret_and_is_opened_when_used(made: Path, kind: str) -> None:
    """Regression: the pickle of a file had the token of its address, and connected when loaded."""
    with serving(made.parent) as host:
        for secret in SECRETS.values():
            thing = KINDS[kind](f"http://{host}/{made.name}?{secret}")
            content = pickle.dumps(thing)
            assert MARKER.encode() not in content
            assert MARKER not in repr(thing)
            expected = used(kind, thing)
            assert used(kind, pickle.loads(content)) == expected
            assert used(kind, copy.copy(pickle.loads(content))) == expected
    # Its server is gone: nothing connects before it is used. Files may be held open for others.
    HELD.forget_all()
    later = pickle.loads(content)
    if kind == "source":
        # Of one process, all that read a file in this way share it.
        return
    with pytest.raises(farroot.Error):
        used(kind, later)


@contextmanager
def guarded(path: Path) -> Iterator[str]:
    """A server that wants the marker in the address."""
    content = path.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            # One of several ranges, which a server may do.
            wanted = self.headers.get("Range", "bytes=0-").split(",")[0]
            begin, _, end = wanted.removeprefix("bytes=").partition("-")
            first = int(begin) if begin else max(0, len(content) - int(end))
            last = int(end) if begin and end else len(content) - 1
            is_known = MARKER in self.path
            body = content[first : last + 1] if is_known else b"who are you?"
            self.send_response(206 if is_known else 401)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


ELSEWHERE = """
import pickle, sys
import farroot
tree = pickle.loads(sys.stdin.buffer.read())
print("loaded")
try:
    print(tree.num_entries)
except farroot.Error as error:
    print(error)
"""


def test_another_process_says_what_was_left_out(made: Path) -> None:
    with guarded(made) as host:
        tree = farroot.open({f"http://{host}/f.root?authz={MARKER}": "events"})
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            input=pickle.dumps(tree),
            capture_output=True,
            check=True,
        )
        loaded, said = done.stdout.decode().splitlines()
        assert (loaded, tree.num_entries) == ("loaded", ENTRIES)
        assert "who asks" not in said
        assert "comes from another process, where it had a secret (authz)" in said
        assert "give a token, a proxy or the whole address in this process" in said


def test_addresses_that_are_handed_out_have_no_secret(made: Path, tmp_path: Path) -> None:
    with serving(made.parent) as host:
        url = f"root://{host}//{made.name}?authz={MARKER}"
        chain = farroot.chain([{url: "events"}])
        named = farroot.with_credentials(url, token=MARKER)
        matching = farroot.partitions({f"root://{host}//ma*.root?authz={MARKER}": "events"})
        matching.save(tmp_path / "parts.json")
        written = json.loads((tmp_path / "parts.json").read_text())
        for text in (chain.links, named, matching[0].url, matching, written):
            assert MARKER not in repr(text)
        for again in (chain.links[0].file_path, named, matching[0].url):
            assert farroot.open({again: "events"}).num_entries == ENTRIES
        assert farroot.Partitions.load(tmp_path / "parts.json")[0].num_entries == ENTRIES


def test_credentials_of_a_call_stay_in_their_process(made: Path) -> None:
    access = Access(token=MARKER, insecure=True)
    again = pickle.loads(pickle.dumps(access))
    assert again == access
    files = farroot.fsspec.FileSystem(token=MARKER)
    assert pickle.loads(pickle.dumps(files))._access == files._access
    script = (
        "import pickle, sys\n"
        "files, access = pickle.loads(sys.stdin.buffer.read())\n"
        "print(files._access.insecure, access.added_to('https://h/f'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps((files, access)),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().split() == ["False", "https://h/f?farroot.left_out=token"]
    with uproot.open(f"{made}:events", handler=farroot.Source) as tree:
        assert pickle.loads(pickle.dumps(tree))["int32"].array().tolist()
