"""Trees that are written to servers, and files that are copied there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import farroot

from .skips import need_xrootd
from .test_remote import running_xrootd


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a server lets others write to."""
    folder = tmp_path / "served"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture(params=["root", "http"])
def far(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Where files of that folder are."""
    need_xrootd()
    is_http = request.param == "http"
    with running_xrootd(folder, tmp_path_factory.mktemp("run"), is_http) as host:
        yield f"{request.param}://{host}" if is_http else f"root://{host}/"


def test_a_tree_is_written_to_a_server(far: str, folder: Path) -> None:
    x = np.arange(100_000, dtype=np.float32)
    with farroot.recreate(f"{far}/new/f.root", reproducible=True) as file:
        tree = file.mktree("t", {"x": np.float32, "y": "var * int32"})
        for part in np.split(x, 4):
            tree.extend({"x": part, "y": [[1, 2], []] * (len(part) // 2)})
        file["h"] = np.histogram(x)
        assert not (folder / "new/f.root").exists()
    with farroot.open(f"{far}/new/f.root") as file:
        assert file["t"]["x"].array(library="np").tolist() == x.tolist()
        assert file["t"]["y"].array()[:2].tolist() == [[1, 2], []]
        assert file["h"].values().sum() == len(x)
    assert [path.name for path in (folder / "new").iterdir()] == ["f.root"]


def test_an_exception_leaves_nothing_on_a_server(far: str, folder: Path) -> None:
    def broken() -> None:
        with farroot.recreate(f"{far}/f.root") as file:
            file.mktree("t", {"x": np.arange(100)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert list(folder.iterdir()) == []


def test_files_are_copied_to_a_server(far: str, folder: Path, several: list[Path]) -> None:
    copied = farroot.copy(several, f"{far}/new/")
    assert [each.target for each in copied] == [f"{far}/new/{path.name}" for path in several]
    for path in several:
        assert (folder / "new" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(farroot.InvalidArgumentError, match="there already"):
        farroot.copy(several[0], f"{far}/new/{several[0].name}")


def test_an_update_where_the_server_locks_files(far: str, tmp_path: Path) -> None:
    """A server of XRootD gives no file to a reader that a writer has open: the update failed."""
    if not far.startswith("root"):
        pytest.skip("files grow in place over XRootD only")
    url, other = f"{far}/grows.root", tmp_path / "other.root"
    for path in (url, other):
        with farroot.recreate(path) as file:
            file.mktree("t", {"x": np.arange(3)})
    assert farroot.open(url)["t"].num_entries == 3
    with farroot.update(url) as file:
        file["t"].extend({"x": [3]})
    farroot.merge(other, url, append=True)
    assert farroot.open(url)["t"]["x"].array().tolist() == [0, 1, 2, 3, 0, 1, 2]


class _PutsOnly(SimpleHTTPRequestHandler):
    """Takes files, and renames none."""

    def do_PUT(self) -> None:
        path = Path(self.translate_path(self.path))
        path.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def test_warnings_of_uploads_are_warnings(folder: Path, several: list[Path]) -> None:
    """The shell printed them; Python said nothing."""
    handler = partial(_PutsOnly, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        top = f"http://127.0.0.1:{served.server_address[1]}"

        def written() -> None:
            with farroot.recreate(f"{top}/written.root") as file:
                file.mktree("t", {"x": np.arange(3)})

        for upload in (
            written,
            lambda: farroot.copy(several[0], f"{top}/copied.root"),
            lambda: farroot.merge(several, f"{top}/merged.root"),
            lambda: farroot.skim(f"{several[0]}:events", f"{top}/skimmed.root"),
        ):
            with pytest.warns(farroot.UploadWarning, match="renames no files") as told:
                upload()
            assert len(told) == 1
            assert told[0].filename == __file__
        served.shutdown()
    names = ["copied.root", "merged.root", "skimmed.root", "written.root"]
    assert sorted(path.name for path in folder.iterdir()) == names
