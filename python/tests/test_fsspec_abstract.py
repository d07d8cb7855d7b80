"""fsspec's own tests of filesystems, and the files that farroot's filesystem writes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.tests import abstract

import farroot
from farroot.fsspec import FileSystem

from .test_remote import running_xrootd, serving


class Places(abstract.AbstractFixtures):  # type: ignore[misc]
    """Where the tests write."""

    @pytest.fixture(scope="class", params=["disk", "farroot", "http", "xrootd"])
    @classmethod
    def kind(cls, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture(scope="class")
    @classmethod
    def top(cls, kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        folder = tmp_path_factory.mktemp("written") / "top"
        folder.mkdir()
        folder.chmod(0o777)
        if kind == "disk":
            yield str(folder)
        elif kind == "xrootd":
            run = tmp_path_factory.mktemp("run")
            with running_xrootd(folder, run) as host:
                yield f"root://{host}//store"
        else:
            scheme = "root" if kind == "farroot" else "http"
            slash = "/" if scheme == "root" else ""
            with serving(folder, "--writable") as host:
                yield f"{scheme}://{host}/{slash}store"

    @pytest.fixture
    def fs(self) -> FileSystem:
        FileSystem.clear_instance_cache()
        return FileSystem()

    @pytest.fixture
    def fs_path(self, top: str) -> str:
        return top


class OnePlace(Places):
    """Many tests take long: the other places are those of the shorter ones."""

    @pytest.fixture(scope="class", params=["farroot"])
    @classmethod
    def kind(cls, request: pytest.FixtureRequest) -> str:
        return str(request.param)


class TestCopy(abstract.AbstractCopyTests, OnePlace):  # type: ignore[misc]
    pass


class TestGet(abstract.AbstractGetTests, OnePlace):  # type: ignore[misc]
    pass


class TestPut(abstract.AbstractPutTests, OnePlace):  # type: ignore[misc]
    pass


class TestOpen(abstract.AbstractOpenTests, Places):  # type: ignore[misc]
    pass


class TestPipe(abstract.AbstractPipeTests, Places):  # type: ignore[misc]
    pass


class TestWriting(Places):
    """Behaviour that fsspec's tests do not cover."""

    def test_a_file_is_whole_or_not_there(self, fs: FileSystem, top: str) -> None:
        path = f"{top}/deep/er/f"

        def write_and_fail() -> None:
            with fs.open(path, "wb", block_size=1000) as file:
                file.write(b"x" * 5000)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert not fs.exists(path)
        with fs.open(path, "wb", block_size=1000) as file:
            for _ in range(5):
                file.write(b"x" * 999)
            assert file.tell() == 4995
        assert fs.cat(path) == b"x" * 4995
        fs.touch(path)
        assert fs.size(path) == 0
        fs.rm(f"{top}/deep", recursive=True)
        assert not fs.exists(f"{top}/deep")

    def test_a_transaction_is_all_or_nothing(self, fs: FileSystem, top: str) -> None:
        def write_two() -> None:
            for name in "ab":
                with fs.open(f"{top}/{name}", "wb") as file:
                    file.write(name.encode())
                assert not fs.exists(f"{top}/{name}")

        with fs.transaction:
            write_two()
        assert fs.cat(f"{top}/a") + fs.cat(f"{top}/b") == b"ab"
        fs.rm([f"{top}/a", f"{top}/b"])

        def write_and_fail() -> None:
            with fs.transaction:
                write_two()
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert not fs.exists(f"{top}/a")

    def test_directories(self, fs: FileSystem, top: str) -> None:
        fs.makedirs(f"{top}/one/two")
        assert fs.isdir(f"{top}/one/two")
        fs.makedirs(f"{top}/one/two", exist_ok=True)
        for call in (fs.mkdir, fs.makedirs):
            with pytest.raises(FileExistsError):
                call(f"{top}/one/two")
        with pytest.raises(FileNotFoundError):
            fs.mkdir(f"{top}/missing/two", create_parents=False)
        fs.pipe(f"{top}/one/f", b"f")
        for wrong in (
            lambda: fs.rmdir(f"{top}/one"),
            lambda: fs.rm(f"{top}/one"),
            lambda: fs.rm_file(f"{top}/none"),
            lambda: fs.open(f"{top}/one", "wb"),
        ):
            with pytest.raises(farroot.Error) as refused:
                wrong()
            assert isinstance(refused.value, OSError)
        assert sorted(fs.ls(f"{top}/one", detail=False)) == [f"{top}/one/f", f"{top}/one/two"]
        fs.mv(f"{top}/one/f", f"{top}/one/g")
        assert [fs.exists(f"{top}/one/{name}") for name in "fg"] == [False, True]
        fs.mv(f"{top}/one/g", f"{top}/one/two/")
        assert fs.cat(f"{top}/one/two/g") == b"f"
        fs.rm(f"{top}/one", recursive=True)

    def test_appending(self, fs: FileSystem, top: str) -> None:
        for path, first in ((f"{top}/grown", b"one"), (f"{top}/begun", b"")):
            if first:
                fs.pipe(path, first)
            with_append: Callable[..., Any] = fs.open
            if top.startswith("http"):
                if first:
                    file = with_append(path, "ab")
                    file.write(b"more")
                    with pytest.raises(farroot.UnsupportedError):
                        file.close()
                    file.discard()
                    file.closed = True
                continue
            with with_append(path, "ab") as file:
                file.write(b"more")
            assert fs.cat(path) == first + b"more"
        fs.rm(f"{top}/grown")


def test_names_with_meanings_are_names(tmp_path: Path) -> None:
    local = tmp_path / "a *[1] |b.meta4"
    local.write_bytes(b"local")
    folder = tmp_path / "top"
    folder.mkdir()
    with serving(folder, "--writable") as host:
        files = FileSystem()
        files.put_file(str(local), f"http://{host}/x%20y")
        assert (folder / "x y").read_bytes() == b"local"
        with fsspec.open(f"farroot://{host}//z", "wb") as file:
            file.write(b"z")
        assert (folder / "z").read_bytes() == b"z"
        assert pickle.loads(pickle.dumps(files)).cat(f"root://{host}//z") == b"z"
