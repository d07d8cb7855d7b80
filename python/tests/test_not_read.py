"""The rows of docs/not-read.md: reading an unsupported object is an error, and its workaround
works."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .root import written_by

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `unread.py`."""
    return written_by("unread", tmp_path_factory.mktemp("unread"))


@pytest.fixture(scope="module")
def file(written: Path) -> Any:
    return farroot.open(written / "unread.root")


def test_classes_that_the_file_does_not_describe(file: Any) -> None:
    for name, told in (("alone", "class Custom"), ("image", "class TASImage")):
        with pytest.raises(farroot.UnsupportedError, match=f"streamer info.* {told}|{told}"):
            file[name]


def test_such_objects_in_others(file: Any) -> None:
    owner = file["owner"]
    assert (owner["before"], owner["after"]) == (1, 2)
    assert repr(owner["custom"]) == "<Custom (unread)>"
    assert owner["custom"].name == owner["custom"].title == ""
    with pytest.raises(farroot.UnsupportedError, match="class Custom"):
        owner["custom"]["number"]


@pytest.fixture
def registered() -> Iterator[Callable[..., None]]:
    """`farroot.register`, undone at the end."""
    names = []

    def register(typename: str, decode: Any, **options: Any) -> None:
        farroot.register(typename, decode, **options)
        names.append(typename)

    yield register
    for name in names:
        farroot.unregister(name)


def test_such_objects_read_by_who_knows_them(file: Any, registered: Callable[..., None]) -> None:
    registered("Custom", lambda entries: [entry[6] for entry in entries])
    assert file["alone"] == 5
    owner = file["owner"]
    assert (owner["before"], owner["custom"], owner["after"]) == (1, 6, 2)
    assert owner["customs"] == [7, 8]
    registered("Item", [("number", ">i4")], skip=6, single=True)
    assert [getattr(one, "number", one) for one in file["list"]] == [9, "text"]
    assert file["vector<Custom>"] == [10, 11]
    # A base class is no object of its own.
    with pytest.raises(farroot.UnsupportedError, match="class Custom"):
        owner["derived"]["number"]
    registered("Custom", [("number", "u1")], skip=6, single=True)
    assert file["alone"].number == 5
    values = dict(file.items(filter_name=["alone", "owner"], cycle=False))
    assert (values["alone"].number, values["owner"]["custom"].number) == (5, 6)
    registered("std::vector<Custom>", lambda entries: [len(entry) for entry in entries])
    assert file["vector<Custom>"] == 18


def test_what_is_registered_goes_before_what_is_known(
    file: Any, registered: Callable[..., None]
) -> None:
    registered("Derived", lambda entries: [len(entry) for entry in entries])
    owner = file["owner"]
    assert isinstance(owner["derived"], int)
    registered("Owner", lambda entries: [entry[:4].hex() for entry in entries])
    assert file["owner"].startswith("4000")
    registered("Owner", lambda entries: [])
    with pytest.raises(farroot.InvalidArgumentError, match="0 elements for one object"):
        file["owner"]
    farroot.unregister("Owner")
    assert file["owner"]["before"] == 1


@pytest.mark.filterwarnings("ignore::farroot.RecoveredWarning")
def test_files_that_were_never_closed(written: Path) -> None:
    unclosed = farroot.open(written / "unclosed.root")
    assert list(unclosed.keys(cycle=False)) == [
        "alone",
        "owner",
        "list",
        "vector<Custom>",
        "image",
        "function",
        "polygons",
    ]
    with pytest.raises(farroot.UnsupportedError, match="streamer info for version"):
        unclosed["function"]["fNpar"]
    assert farroot.open(written / "copied.root")["function"]["fNpar"] == 1


def test_functions_are_not_evaluated(file: Any) -> None:
    assert not hasattr(file["function"], "Eval")
    assert file["function"]["fFormula"]["fFormula"] == "[p0]*x"


def test_polygons(file: Any) -> None:
    pytest.importorskip("boost_histogram")
    with pytest.raises(farroot.UnsupportedError, match="polygons"):
        file["polygons"].to_boost()
    assert (len(file["polygons"].polygons), len(file["polygons"].values())) == (1, 1)


def test_objects_that_are_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.root"
    with uproot.recreate(path) as made:
        made["hist"] = np.histogram(np.arange(10))
    content = bytearray(path.read_bytes())
    # In the object's record and in the list of keys: 20 bytes before the names.
    for found in re.finditer(rb"\x04TH1D\x04hist", bytes(content)):
        at = found.start() - 20
        content[at : at + 4] = (1 << 30).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(farroot.LimitReachedError, match="an object of 1073741824 bytes"):
        farroot.open(path)["hist"]


def test_files_from_before_root_3(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.root"
    path.write_bytes(b"root" + (22300).to_bytes(4, "big") + made.read_bytes()[8:])
    with pytest.raises(farroot.UnsupportedError, match=r"ROOT version 22300, before 3\.00"):
        farroot.open(path)


def test_servers_that_want_to_know_who_asks() -> None:
    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(farroot.UnauthenticatedError, match="401"):
                farroot.open(f"http://127.0.0.1:{server.server_port}/f.root")
        finally:
            server.shutdown()
            thread.join()
