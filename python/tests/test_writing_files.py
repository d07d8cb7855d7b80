"""Files that are written: when they are there, and their content so far."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import hist
import numpy as np
import pytest
import uproot

import farroot
from farroot import _unfinished
from farroot.writing import identify


def written(path: Any, **options: Any) -> Any:
    """A file with a tree of three entries."""
    with farroot.recreate(path, **options) as file:
        file.mktree("t", {"x": np.arange(3)})
    return path


def entries(path: object) -> list[int]:
    found: list[int] = farroot.open(f"{path}:t")["x"].array().tolist()
    return found


def test_a_file_is_there_when_its_block_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "some" / "f.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": np.arange(3)})
        assert not path.exists()
        assert not file.closed
        with pytest.raises(farroot.InvalidArgumentError, match="not been written to its end"):
            file.file.report  # noqa: B018
    assert entries(path) == [0, 1, 2]
    assert file.file.closed
    assert sorted(each.name for each in path.parent.iterdir()) == ["f.root"]
    report = file.file.report
    assert report["entries"] == 3
    assert report["size"] == path.stat().st_size
    assert report["tables"] == {"t": 3}
    assert "3 entries" in str(report)


def _broken(path: Any, error: type[BaseException], **options: Any) -> None:
    with farroot.recreate(path, **options) as file:
        file.mktree("t", {"x": np.arange(100)})
        raise error


class Simple:
    """A file-like object with only the methods that writing needs."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()

    def __getattr__(self, name: str) -> Any:
        if name in ("read", "write", "seek", "tell", "flush"):
            return getattr(self.buffer, name)
        raise AttributeError(name)


class Raw(io.RawIOBase):
    """One that cannot be truncated."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()
        self.write = self.buffer.write  # type: ignore[method-assign]
        self.seek = self.buffer.seek  # type: ignore[method-assign]

    def seekable(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [Simple, Raw])
def test_file_like_objects_that_cannot_be_truncated(kind: type[Any]) -> None:
    file = kind()
    written(file)
    assert uproot.open(io.BytesIO(file.buffer.getvalue()))["t"]["x"].array().tolist() == [0, 1, 2]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_what_was_there_before(
    tmp_path: Path, error: type[BaseException]
) -> None:
    new, old = tmp_path / "new.root", written(tmp_path / "old.root")
    for path in (new, old):
        with pytest.raises(error):
            _broken(path, error)
    assert entries(old) == [0, 1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["old.root"]


def test_what_there_is_can_be_kept_at_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    with pytest.raises(ZeroDivisionError):
        _broken(path, ZeroDivisionError, keep_partial=True)
    assert len(entries(path)) == 100


CRASHING = """
import os, sys
import hist
import numpy as np
import farroot

told = [0]
say = lambda state: told.append(state.bytes)
options = dict(compression=None, checkpoint="1 MB", cluster=10_000, memory="2 MB")
with farroot.recreate(sys.argv[1], progress=say, **options) as file:
    tree = file.mktree("t", {"x": "float64"})
    while told[-1] < 4_000_000:
        tree.extend({"x": tree.num_entries + np.arange(10_000.0)})
    os._exit(0)
"""


def test_a_crash_leaves_what_was_written_up_to_a_checkpoint(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", CRASHING, str(tmp_path / "f.root")], check=True)
    (left,) = tmp_path.iterdir()
    left = left.rename(tmp_path / "left.root")
    found = farroot.open(left)["t"]["x"].array(library="np")
    assert len(found) >= 100_000
    assert len(found) % 10_000 == 0
    assert np.array_equal(found, np.arange(len(found)))
    with uproot.open(left) as file:
        assert np.array_equal(file["t"]["x"].array(library="np"), found)


def test_a_file_that_nobody_closes_is_there_as_uproot_s_would_be(tmp_path: Path) -> None:
    """It was thrown away: programs written for uproot, whose files grow, lost their output."""
    path = tmp_path / "f.root"
    file = farroot.recreate(path)
    file.mktree("t", {"x": np.arange(3)})
    with pytest.warns(farroot.UnfinishedWarning, match="was never closed, and has been") as told:
        del file
    assert told[0].filename == __file__
    assert entries(path) == [0, 1, 2]


def test_a_file_without_objects_needs_no_close(tmp_path: Path) -> None:
    """``uproot.recreate(path)`` in a line of its own, of a file that updates then fill. Warnings
    were errors in the tests of who wrote it so."""
    path = tmp_path / "f.root"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        farroot.recreate(path)
        with farroot.update(path) as file:
            file["x"] = "text"
    assert farroot.open(path)["x"] == "text"


FORGETFUL = """
import sys
import farroot

file = farroot.recreate(sys.argv[1])
file["x"] = "text"
if len(sys.argv) > 2:
    file["y"] = 1 / 0
"""


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_program_that_ends_without_close(tmp_path: Path, has_failed: bool) -> None:
    """Its file is kept; an exception leaves nothing half written, as in `with`."""
    path = tmp_path / "f.root"
    command = [sys.executable, "-c", FORGETFUL, str(path), *["fails"] * has_failed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == has_failed
    assert "<string>:5: UnfinishedWarning" in done.stderr
    if has_failed:
        assert "is discarded" in done.stderr
        assert list(tmp_path.iterdir()) == []
    else:
        assert "has been now, with what it had" in done.stderr
        assert farroot.open(path)["x"] == "text"


def test_a_cell_that_is_run_again_begins_its_file_again(tmp_path: Path) -> None:
    """A notebook kept the first object, so that the cell said that another writer has the file."""
    path = tmp_path / "f.root"

    def cell(number: int) -> farroot.WritableDirectory:
        file = farroot.recreate(path)
        file.mktree("t", {"x": [number]})
        return file

    first = cell(1)
    with pytest.warns(farroot.UnfinishedWarning, match=r"begun again, and .* discarded \(t;1\)"):
        second = cell(2)
    with pytest.raises(farroot.InvalidArgumentError, match="has been closed"):
        first["more"] = "text"
    with (
        pytest.warns(farroot.UnfinishedWarning, match="is not there yet: close"),
        pytest.raises(farroot.NotFoundError),
    ):
        farroot.open(path)
    second.close()
    assert entries(path) == [2]


def test_what_was_never_closed_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    first = farroot.recreate(path)
    first["a"] = "one"
    with pytest.warns(farroot.UnfinishedWarning, match="has been now"):
        second = farroot.update(path)
    second["b"] = "two"
    with pytest.warns(farroot.UnfinishedWarning, match="this is the file from before"):
        assert farroot.open(path).keys() == ["a;1"]
    second.close()
    assert first.closed
    assert farroot.open(path).keys() == ["a;1", "b;1"]


def test_a_child_leaves_the_file_of_its_parent_alone(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    file = farroot.recreate(path)
    file["x"] = "text"
    child = os.fork()
    if child == 0:
        os._exit(0 if _unfinished_of(path) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    file.close()
    assert farroot.open(path)["x"] == "text"


def _unfinished_of(path: Path) -> bool:
    """Whether the end of this process would leave the file alone, and it can write it itself."""
    _unfinished._end_all()
    return not path.exists() and _unfinished._forgotten(str(path)) is None


def test_a_histogram_has_its_methods_before_the_file_is_closed(tmp_path: Path) -> None:
    """``file["h"]`` was the description to be written, without ``to_hist``."""
    filled = hist.Hist.new.Reg(4, 0, 1, name="x", label="x in cm").Weight().fill(x=[0.1, 0.6])
    with farroot.recreate(tmp_path / "f.root") as file:
        file["h"] = filled
        read = file["h"]
        assert read.to_hist().values().tolist() == [1, 0, 1, 0]
        assert (read.classname, read.name, read.axis().member("fTitle")) == ("TH1D", "h", "x in cm")
        tree = file.mktree("t", {"x": [1]})
        with pytest.raises(farroot.NoAttributeError, match="when the file is closed"):
            _ = tree.num_baskets  # type: ignore[attr-defined]
        with pytest.raises(farroot.NoAttributeError, match=r"farroot\.open\(path\)\.uuid"):
            _ = file.uuid  # type: ignore[attr-defined]
    assert farroot.open(tmp_path / "f.root")["h"].to_hist() == read.to_hist()


def test_create_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    with farroot.create(path, compression=None) as file:
        file.mktree("t", {"x": np.arange(3)})
    with pytest.raises(FileExistsError, match=r"farroot\.recreate"):
        farroot.create(path)
    assert entries(path) == [0, 1, 2]


def test_file_like_objects_and_what_fsspec_opens(tmp_path: Path) -> None:
    memory = io.BytesIO(b"something longer than nothing")
    written(memory)
    path = tmp_path / "copy.root"
    path.write_bytes(memory.getvalue())
    assert entries(path) == [0, 1, 2]
    with open(tmp_path / "opened.root", "wb") as opened:
        written(opened)
    assert entries(tmp_path / "opened.root") == [0, 1, 2]
    written("memory://farroot/f.root")
    with uproot.open("memory://farroot/f.root") as file:
        assert file["t"]["x"].array().tolist() == [0, 1, 2]


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize("name", ["my%20file.root", "my file.root", "50%.root"])
def test_a_path_is_taken_as_it_is(tmp_path: Path, scheme: str, name: str) -> None:
    """``file://`` once meant another file than for uproot, which then did not find it."""
    path = f"{scheme}{tmp_path}/{name}"
    with farroot.create(path) as file:
        file.mktree("t", {"x": np.arange(3)})
    assert [each.name for each in tmp_path.iterdir()] == [name]
    with uproot.open(path) as file:
        assert file["t"]["x"].array().tolist() == [0, 1, 2]
    if scheme != "file:" and name != "50%.root":
        assert entries(path) == [0, 1, 2]
    with pytest.raises(FileExistsError):
        farroot.create(path)


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Any] = []
    with farroot.recreate(tmp_path / "f.root", progress=told.append) as file:
        tree = file.mktree("t", {"x": "int64"})
        for _ in range(3):
            tree.extend({"x": np.arange(10_000)})
    assert told[-1].entries == 30_000
    assert told[-1].bytes >= (tmp_path / "f.root").stat().st_size
    assert [each.entries for each in told] == sorted(each.entries for each in told)
    with pytest.raises(farroot.ArgumentTypeError, match="progress is"):
        farroot.recreate(tmp_path / "f.root", progress="yes")  # type: ignore[arg-type]


def test_what_is_in_a_file_so_far(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        assert file.keys() == []
        file["one/two/text"] = "hello"
        file["text"] = "first"
        file["text"] = "second"
        tree = file.mktree("one/t", {"x": np.int8})
        file.mkdir("empty/below")
        expected = {
            "one;1": "TDirectory",
            "one/two;1": "TDirectory",
            "one/two/text;1": "TObjString",
            "one/t;1": "TTree",
            "text;1": "TObjString",
            "text;2": "TObjString",
            "empty;1": "TDirectory",
            "empty/below;1": "TDirectory",
        }
        assert file.classnames() == expected
        assert file.keys(recursive=False, cycle=False) == ["one", "text", "text", "empty"]
        assert file.keys(filter_classname="TTree") == ["one/t;1"]
        assert len(file) == 8
        assert "one/t" in file
        assert "one/u" not in file
        assert file["one/t"] == tree
        assert file["one"]["t"] == tree
        assert file["text"] == "second"
        assert file["text;1"] == "first"
        assert file["one"].keys() == ["two;1", "two/text;1", "t;1"]
        assert file["one/two"].object_path == "/one/two/"
        assert file.classname_of("one/two/text") == "TObjString"
        with pytest.raises(farroot.KeyInFileError, match="'u'"):
            file["u"]
    with farroot.open(tmp_path / "f.root") as read, uproot.open(tmp_path / "f.root") as theirs:
        assert read.classnames() == theirs.classnames()
        assert set(read.classnames()) == set(expected)
        assert read["text"] == "second"


def test_a_closed_file_takes_nothing(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        tree = file.mktree("t", {"x": np.int8})
    for late in (
        lambda: tree.extend({"x": [1]}),
        lambda: file.mkdir("late"),
        lambda: file.update({"late": "text"}),
        lambda: file.mktree("late", {"x": np.int8}),
        lambda: file["t"],
    ):
        with pytest.raises(farroot.InvalidArgumentError, match="has been closed"):
            late()
    file.close()


def test_options_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    for options in ({"jagged": "round"}, {"compression": 901}, {"compression": "best"}):
        with pytest.raises(farroot.Error):
            farroot.recreate(path, **options)
    with pytest.raises(farroot.ArgumentTypeError, match="no sort"):
        farroot.create(path, sort=True)
    with pytest.raises(farroot.InvalidArgumentError, match="levels go from 0 to 9"):
        farroot.ZLIB(10)
    assert list(tmp_path.iterdir()) == []


def test_the_same_calls_give_the_same_bytes(tmp_path: Path) -> None:
    once = Path(str(written(tmp_path / "1" / "f.root", reproducible=True))).read_bytes()
    again = Path(str(written(tmp_path / "2" / "f.root", reproducible=True))).read_bytes()
    assert once == again


def test_a_file_is_added_to(tmp_path: Path) -> None:
    path = written(tmp_path / "f.root")
    with uproot.update(path) as theirs:
        theirs["sub/text"] = "by uproot"
    before = farroot.open(path).classnames()
    with farroot.update(path) as file:
        assert file.classnames() == before
        assert file["sub/text"] == "by uproot"
        file["sub/text"] = "by farroot"
        file["new/one"] = np.histogram(np.arange(5))
        file.mktree("more", {"x": np.arange(5)})
        assert file["sub/text"] == "by farroot"
        assert file["t"].num_entries == 3
        assert entries(path) == [0, 1, 2]
        assert farroot.open(path).classnames() == before
    for opened in (farroot.open(path), uproot.open(path)):
        found = {key: opened.classname_of(key) for key in opened}
        assert set(found) == {*before, "sub/text;2", "new;1", "new/one;1", "more;1"}
        assert str(opened["sub/text"]) == "by farroot"
        assert str(opened["sub/text;1"]) == "by uproot"
        assert opened["more"]["x"].array().tolist() == [0, 1, 2, 3, 4]
    assert entries(path) == [0, 1, 2]


def test_classes_are_described_as_in_another_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.root", tmp_path / "second.root"
    with farroot.recreate(first) as file:
        file["h"] = np.histogram(np.arange(4), bins=2)
        file["text"] = "hello"
    with farroot.recreate(second) as file:
        file.file.update_streamers([uproot.open(first).file.streamers["TObjString"][1]])
        with pytest.raises(farroot.ArgumentTypeError, match="has opened"):
            file.file.update_streamers(farroot.open(first).streamers["TObjString"][1])
    assert list(uproot.open(second).file.streamers) == ["TObjString"]
    with farroot.update(second) as file:
        with pytest.raises(farroot.UnsupportedError, match="no objects"):
            file.file.update_streamers(farroot.open(first))
        file["text"] = "another"
    with farroot.update(second) as file:
        file.file.update_streamers(farroot.open(first))
    assert uproot.open(second).file.streamers.keys() == uproot.open(first).file.streamers.keys()
    with farroot.update(second) as file:
        file.file.update_streamers([])
    assert "TH1D" in farroot.open(second).streamers


def test_objects_are_copied_from_another_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.root", tmp_path / "second.root"
    with farroot.recreate(first) as file:
        file["below/h"] = np.histogram(np.arange(4), bins=2)
        file["text"] = "hello"
        file["texts"] = identify.to_TList([identify.to_TObjString("a")])
        file.mktree("t", {"x": np.arange(3)})
    for opened in (farroot.open(first), uproot.open(first)):
        with farroot.recreate(second) as file:
            file.copy_from(opened, filter_name=["below/h", "text*"])
            with pytest.raises(farroot.UnsupportedError, match="TTree"):
                file.copy_from(opened, filter_name="t")
            with pytest.raises(farroot.InvalidArgumentError, match="nothing"):
                file.copy_from(opened, filter_name="none")
            if opened.__class__.__module__.startswith("farroot"):
                file.copy_from(opened["below"], rename={"h": "renamed"})
                assert file["renamed"].values().tolist() == [2, 2]
        found = uproot.open(second)
        assert found["below/h"].values().tolist() == [2, 2]
        assert (str(found["text"]), [str(each) for each in found["texts"]]) == ("hello", ["a"])


def test_what_a_file_had_is_taken_out(tmp_path: Path) -> None:
    path = written(tmp_path / "f.root")
    with uproot.update(path) as theirs:
        theirs["sub/text"] = "first"
        theirs["sub/text"] = "second"
    with farroot.update(path) as file:
        del file["sub/text"], file["t"]
        file["new"] = "new"
        assert file.keys() == ["sub;1", "sub/text;1", "new;1"]
        for there in ("new", "sub"):
            with pytest.raises(farroot.UnsupportedError, match="no object of the file as it was"):
                del file[there]
        with pytest.raises(farroot.KeyInFileError):
            del file["t"]
    for opened in (farroot.open(path), uproot.open(path)):
        assert set(opened.keys()) == {"sub;1", "sub/text;1", "new;1"}
        assert str(opened["sub/text"]) == "first"


def test_an_exception_while_a_file_is_added_to_leaves_it(tmp_path: Path) -> None:
    path = Path(str(written(tmp_path / "f.root")))
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        _broken_update(path)
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        farroot.update(tmp_path / "g.root")


def _broken_update(path: Path) -> None:
    with farroot.update(path) as file:
        file.mktree("more", {"x": np.arange(100)})
        raise ZeroDivisionError
