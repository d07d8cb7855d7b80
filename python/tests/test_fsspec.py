"""farroot as a filesystem of fsspec, and under all that reads through fsspec."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import uproot

import farroot
from farroot.fsspec import FileSystem

from .same import same_awkward
from .test_remote import serving

CONTENT = bytes(range(256)) * 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filesystem")
    (folder / "a.bin").write_bytes(CONTENT)
    (folder / "b.bin").write_bytes(CONTENT[::-1])
    (folder / "below").mkdir()
    (folder / "below" / "c.bin").write_bytes(b"c")
    return folder


@pytest.fixture(scope="module")
def top(folder: Path) -> Iterator[str]:
    """The folder's address for XRootD."""
    with serving(folder) as host:
        yield f"root://{host}/"


@pytest.fixture
def files() -> FileSystem:
    FileSystem.clear_instance_cache()
    return FileSystem()


def test_its_own_protocol_is_known_to_fsspec(top: str) -> None:
    assert fsspec.get_filesystem_class("farroot") is FileSystem
    address = f"farroot://{top.removeprefix('root://')}/a.bin"
    with fsspec.open(address, "rb") as file:
        assert file.read(300) == CONTENT[:300]
    files, path = fsspec.url_to_fs(address)
    assert path == f"{top}/a.bin"
    assert files.size(path) == len(CONTENT)


def test_ranges_are_pythons_slices(files: FileSystem, top: str, folder: Path) -> None:
    for path in (f"{top}/a.bin", str(folder / "a.bin")):
        for start, end in [(None, None), (5, 9), (-7, None), (None, -5), (5, 10**9), (9, 5)]:
            assert files.cat_file(path, start, end) == CONTENT[start:end]
    assert files.cat(f"{top}/a.bin") == CONTENT
    assert files.head(f"{top}/a.bin", 10) == CONTENT[:10]


def test_ranges_of_many_files_come_in_their_order(files: FileSystem, top: str) -> None:
    names = ["a.bin", "b.bin", "a.bin", "below/c.bin", "missing"]
    paths = [f"{top}/{name}" for name in names]
    found = files.cat_ranges(paths, [0, 0, 10, 0, 0], [3, 3, 20, None, 1])
    assert found[:4] == [CONTENT[:3], CONTENT[::-1][:3], CONTENT[10:20], b"c"]
    assert isinstance(found[4], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        files.cat_ranges(paths, 0, 1, on_error="raise")
    assert files.cat_ranges(paths[:2], 0, 1) == [CONTENT[:1], CONTENT[-1:]]
    with pytest.raises(ValueError, match="as many"):
        files.cat_ranges(paths, [0], [1])


def test_directories_are_listed(files: FileSystem, top: str) -> None:
    top = top.rstrip("/")
    names = [f"{top}//a.bin", f"{top}//b.bin", f"{top}//below"]
    assert sorted(files.ls(f"{top}//", detail=False)) == names
    listed = {entry["name"]: entry for entry in files.ls(f"{top}//")}
    assert listed[names[0]]["size"] == len(CONTENT)
    assert [listed[name]["type"] for name in names] == ["file", "file", "directory"]
    assert files.ls(names[0], detail=False) == names[:1]
    assert files.find(f"{top}//") == [*names[:2], f"{top}//below/c.bin"]
    assert files.glob(f"{top}//*.bin") == names[:2]
    assert [*files.glob(f"{top}//a*", detail=True)] == names[:1]
    assert files.glob(f"{top}//no*") == []
    with pytest.raises(FileNotFoundError):
        files.ls(f"{top}//missing")


def test_what_a_path_is(files: FileSystem, top: str) -> None:
    info = files.info(f"{top}/a.bin")
    assert (info["name"], info["size"], info["type"]) == (f"{top}/a.bin", len(CONTENT), "file")
    assert files.info(f"{top}/below")["type"] == "directory"
    assert files.isdir(f"{top}/below")
    assert files.isfile(f"{top}/a.bin")
    assert files.exists(f"{top}/below/c.bin")
    assert not files.exists(f"{top}/missing")
    assert files.modified(f"{top}/a.bin").year > 2000
    assert files.ukey(f"{top}/a.bin") == files.ukey(f"{top}/a.bin")
    with pytest.raises(FileNotFoundError):
        files.info(f"{top}/missing")
    with pytest.raises(PermissionError), files.open(f"{top}/new", "wb") as file:
        file.write(b"the server is read-only")


def test_file_objects_read_seek_and_are_pickled(files: FileSystem, top: str) -> None:
    with files.open(f"{top}/a.bin", block_size=1000) as file:
        assert file.read(5) == CONTENT[:5]
        assert file.seek(-10, 2) == len(CONTENT) - 10
        assert file.read() == CONTENT[-10:]
        again = pickle.loads(pickle.dumps(file))
        assert again.read(3) == b""
        again.seek(1)
        assert again.read(3) == CONTENT[1:4]
    assert pickle.loads(pickle.dumps(files)).cat_file(f"{top}/a.bin", 0, 2) == CONTENT[:2]


@pytest.fixture
def as_before() -> Iterator[dict[str, Any]]:
    """fsspec's own classes, which have to be there again afterwards."""
    names = ("root", "http", "https", "file")
    for name in names:
        # fsspec imports the class when it is first needed.
        fsspec.get_filesystem_class(name)
    before = {name: fsspec.registry.get(name) for name in names}
    yield before
    assert {name: fsspec.registry.get(name) for name in names} == before


def test_installing_is_undone(as_before: dict[str, Any]) -> None:
    installed = farroot.install()
    assert farroot.install().protocols == installed.protocols
    assert fsspec.get_filesystem_class("root") is FileSystem
    assert fsspec.get_filesystem_class("file") is not FileSystem
    assert fsspec.get_filesystem_class("http") is not FileSystem
    with farroot.install(http=True):
        assert fsspec.get_filesystem_class("https") is FileSystem
    installed.undo()
    installed.undo()
    assert fsspec.get_filesystem_class("root") is not FileSystem


def test_uproot_reads_through_what_is_installed(
    made: Path, as_before: dict[str, Any], tmp_path: Path
) -> None:
    with farroot.install(), serving(made.parent) as host, uproot.open(made) as local:
        with uproot.open(f"root://{host}//{made.name}") as far:
            assert isinstance(far.file.source._fs, FileSystem)
            assert same_awkward(far["events"].arrays(), local["events"].arrays())
        assert not isinstance(local.file.source._fs, FileSystem)
        with made.open("rb") as stream, uproot.open(stream) as file:
            assert file["events"].num_entries == 1000


def test_workers_install_by_name() -> None:
    code = (
        "import importlib, fsspec, sys\n"
        "module = importlib.import_module('farroot.preload')\n"
        "assert fsspec.get_filesystem_class('root').__module__ == 'farroot.fsspec'\n"
        "assert 'uproot' not in sys.modules\n"
        "module.dask_setup(None)\n"
        "module.dask_teardown(None)\n"
        "assert fsspec.registry.get('root') is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_listing_is_asked_again(tmp_path: Path) -> None:
    """Neither ``refresh`` nor ``invalidate_cache`` had an effect: new files were never seen."""
    (tmp_path / "one").write_text("1")
    with serving(tmp_path) as host:
        files, top = FileSystem(skip_instance_cache=True), f"root://{host}//"
        assert files.ls(top, detail=False) == [f"{top}one"]
        (tmp_path / "two").write_text("2")
        assert len(files.ls(top, refresh=True)) == 2
        (tmp_path / "three").write_text("3")
        files.invalidate_cache(f"{top}three")
        assert len(files.ls(top)) == 3
        assert files.cat(f"{top}two") == b"2"
        (tmp_path / "two").unlink()
        files.invalidate_cache()
        assert not files.exists(f"{top}two")
        assert files.find(top) == [f"{top}one", f"{top}three"]


def test_listing_nothing_is_an_error(tmp_path: Path) -> None:
    """``ls(path, detail=False)`` was ``[path]``, whatever had gone wrong."""
    files = FileSystem()
    with pytest.raises(FileNotFoundError):
        files.ls(str(tmp_path / "missing"), detail=False)
    with pytest.raises(ConnectionError):
        files.ls("root://127.0.0.1:9//x/", detail=False)


def test_hostid_is_the_server_of_paths_without_a_protocol(top: str, folder: Path) -> None:
    """It was ignored: the local file of that path was read."""
    host = top.removeprefix("root://").rstrip("/")
    files = FileSystem(hostid=host, skip_instance_cache=True)
    assert files.cat("/a.bin") == (folder / "a.bin").read_bytes()
    assert files.glob("/*.bin") == ["/a.bin", "/b.bin"]
    assert sorted(files.ls("/", detail=False)) == ["/a.bin", "/b.bin", "/below"]
    with pytest.raises(ConnectionError):
        FileSystem(hostid="127.0.0.1:9", skip_instance_cache=True).cat(str(folder / "a.bin"))
    with pytest.warns(farroot.IgnoredArgumentWarning, match="timeoot"):
        FileSystem(timeoot=5, skip_instance_cache=True)


@pytest.mark.parametrize("options", [{"listings_expiry_time": 0}, {"use_listings_cache": False}])
def test_directories_are_listed_without_a_cache_of_listings(
    top: str, options: dict[str, Any]
) -> None:
    """`ls`, `walk`, `find` and `du` ended with a KeyError where nothing was to be kept."""
    files = FileSystem(skip_instance_cache=True, **options)
    (info,) = [each for each in files.ls(f"{top}/") if each["name"].endswith("/a.bin")]
    assert info == files.info(info["name"])
    assert info["name"] in files.find(f"{top}/")
    assert files.du(f"{top}/below") == 1
    assert list(files.walk(f"{top}/"))


def test_what_fsspec_leaves_open_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / "f"
    files = FileSystem()
    files.touch(str(path), truncate=False)
    with pytest.raises(farroot.UnsupportedError, match="time of a file"):
        files.touch(str(path), truncate=False)
    with pytest.raises(farroot.InvalidArgumentError, match="names a server"):
        FileSystem._get_kwargs_from_urls("root://")
