"""Merges into a file that is there, and of chosen objects, as `hadd -a`, `-L` and `-Ltype`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .test_merge_ntuples import checked

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"


def written(path: Path, first: int) -> Path:
    numbers = np.arange(first, first + 3)
    with farroot.recreate(path) as file:
        file.mktree("d/t", {"x": numbers})
        file.mkrntuple("n", {"x": numbers})
        file["d/h"] = np.histogram(numbers, bins=3, range=(0, 30))
        file["h"] = np.histogram(numbers, bins=3, range=(0, 30))
        file["note"] = f"from {first}"
    return path


def test_an_output_that_is_there_comes_first(tmp_path: Path) -> None:
    first, second = (written(tmp_path / f"{n}.root", n) for n in (0, 10))
    output = tmp_path / "all.root"
    # As with hadd, a file that is not there is made.
    farroot.merge(first, output, append=True)
    merged = farroot.merge([second, first], output, append=True)
    assert (merged.num_sources, merged.tables) == (3, {"d/t": 9, "n": 9})
    with farroot.open(checked(output)) as file:
        for table in ("d/t", "n"):
            assert file[table]["x"].array().tolist() == [0, 1, 2, 10, 11, 12, 0, 1, 2]
        assert file["h"].values().tolist() == [6, 3, 0]
        assert file["note"] == "from 0"
    command = [sys.executable, "-m", "farroot", "merge", "-a", str(output), str(second)]
    subprocess.run(command, check=True, capture_output=True)
    assert farroot.open(output)["n"].num_entries == 12


def test_an_output_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    """With ``skip_bad``, the file that the others are added to would have been left out."""
    output = tmp_path / "all.root"
    good = written(tmp_path / "good.root", 0)
    bad = good.read_bytes()[:-200]
    for content in (b"no file of ROOT", bad):
        output.write_bytes(content)
        with pytest.raises(farroot.Error, match=r"all\.root"):
            farroot.merge(good, output, append=True, skip_bad=True)
        assert output.read_bytes() == content


def stays(before: bytes, after: bytes) -> bool:
    """Whether a file has grown: only its header, and fields of a few records, have other bytes."""
    changed = sum(one != other for one, other in zip(before, after, strict=False))
    return len(after) > len(before) and changed < 600


def test_the_output_grows_in_place(tmp_path: Path) -> None:
    """The whole output was copied for each append."""
    output = written(tmp_path / "all.root", 0)
    with farroot.update(output) as file:
        file["only"] = np.histogram(np.arange(3), bins=3)
        file.mktree("alone", {"z": np.arange(500)})
        file["d/note"] = "here"
    other = written(tmp_path / "other.root", 10)
    with farroot.update(other) as file:
        file["new/h"] = np.histogram(np.arange(3), bins=3)
        file.mktree("new/t", {"y": np.arange(4)})
        file["d/note"] = "there"
    keys = farroot.open(output).keys()
    inode = output.stat().st_ino
    for times in range(1, 4):
        before = output.read_bytes()
        merged = farroot.merge(other, output, append=True)
        assert output.stat().st_ino == inode
        after = checked(output).read_bytes()
        assert stays(before, after)
        expected = {"d/t": 3 + 3 * times, "n": 3 + 3 * times, "alone": 500, "new/t": 4 * times}
        assert merged.tables == expected
        assert not any("cop" in note for note in merged.notes)
        # Bytes behind the old end change nothing, until the header leads to them.
        for part in range(1, 8):
            cut = before + after[len(before) : len(before) + part * (len(after) - len(before)) // 8]
            (tmp_path / "cut.root").write_bytes(cut)
            with farroot.open(tmp_path / "cut.root") as file:
                assert file["d/t"].num_entries == file["n"].num_entries == 3 * times
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            numbers = [0, 1, 2, *3 * [10, 11, 12]]
            for table in ("d/t", "n"):
                assert file[table]["x"].array().tolist() == numbers
            assert file["new/t"]["y"].array().tolist() == 3 * [0, 1, 2, 3]
            assert file["alone"]["z"].array().tolist() == list(range(500))
            assert file["h"].values().tolist() == file["d/h"].values().tolist() == [3, 9, 0]
            assert file["new/h"].values().tolist() == [3, 3, 3]
            assert file["only"].values().tolist() == [1, 1, 1]
            assert str(file["d/note"]) == "here"
    # Each in the place of the one before, under its cycle.
    assert set(farroot.open(output).keys()) == {*keys, "new;1", "new/h;1", "new/t;1"}


@pytest.mark.parametrize("missing", ["filter", "union"])
def test_columns_that_one_of_them_lacks(tmp_path: Path, missing: Any) -> None:
    numbers = np.arange(3)
    more = {"x": numbers, "y": numbers / 2, "list": [[1], [], [2, 3]]}
    outputs = []
    for is_appended in (True, False):
        output, first, second = (tmp_path / f"{is_appended}{name}.root" for name in "abc")
        for path, columns in ((output, {"x": numbers, "z": numbers}), (first, more)):
            with farroot.recreate(path) as file:
                kept = columns if path != first or missing == "union" else {**more, "z": numbers}
                file.mktree("t", kept)
                file["n"] = kept
        if is_appended:
            farroot.merge(first, output, append=True, missing=missing)
            outputs.append(checked(output))
        else:
            farroot.merge([output, first], second, missing=missing)
            outputs.append(checked(second))
    appended, merged = (farroot.open(path) for path in outputs)
    for table in ("t", "n"):
        names = merged[table].keys()
        assert appended[table].keys() == names
        assert appended[table].arrays(names).tolist() == merged[table].arrays(names).tolist()


def test_the_output_is_copied_where_it_cannot_grow(tmp_path: Path) -> None:
    """All baskets are compressed anew, or the file is of a kind that no update takes."""
    output, other = written(tmp_path / "all.root", 0), written(tmp_path / "other.root", 10)
    inode = output.stat().st_ino
    merged = farroot.merge(other, output, append=True, recompress=farroot.LZ4(4))
    assert merged.tables == {"d/t": 6, "n": 6}
    assert output.stat().st_ino != inode
    assert farroot.open(checked(output))["h"].values().tolist() == [3, 3, 0]
    # ROOT wrote it, and never closed it.
    unclosed = tmp_path / "unclosed.root"
    shutil.copy(TESTDATA / "unclosed.root", unclosed)
    with pytest.warns(farroot.RecoveredWarning):
        before = set(farroot.open(unclosed).keys(cycle=False))
    more = tmp_path / "more.root"
    with farroot.recreate(more) as file:
        file["new"] = "new"
    merged = farroot.merge(more, unclosed, append=True)
    assert any("cannot grow in place" in note for note in merged.notes)
    assert set(farroot.open(checked(unclosed)).keys(cycle=False)) == {*before, "new"}


def test_an_append_that_fails_changes_nothing(tmp_path: Path) -> None:
    output = written(tmp_path / "all.root", 0)
    before = output.read_bytes()
    other = tmp_path / "other.root"
    with farroot.recreate(other) as file:
        file.mktree("d/t", {"x": ["texts"]})
    with pytest.raises(farroot.UnsupportedError, match=r"other\.root"):
        farroot.merge(other, output, append=True)
    assert output.read_bytes() == before
    with pytest.raises(farroot.InvalidArgumentError, match="one of the inputs"):
        farroot.merge(output, output, append=True)
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.root", "other.root"]


def test_the_output_keeps_what_is_not_chosen(tmp_path: Path) -> None:
    """`only` chose from the output as well, and all else of it was gone."""
    output, other = written(tmp_path / "all.root", 0), written(tmp_path / "other.root", 10)
    how: list[dict[str, Any]] = [{}, {"recompress": farroot.LZ4(4)}]
    for options in how:
        merged = farroot.merge(other, output, append=True, only="d", **options)
        assert merged.tables["n"] == 3
    with farroot.open(checked(output)) as file:
        assert {"h", "n", "note", "d/t", "d/h"} <= set(file.keys(cycle=False))
        assert (file["d/t"].num_entries, file["n"].num_entries) == (9, 3)
        assert file["h"].values().tolist() == [3, 0, 0]
        assert file["d/h"].values().tolist() == [3, 6, 0]
    farroot.merge(other, output, append=True, trees=False)
    assert farroot.open(output)["d/t"].num_entries == 9


def test_objects_are_chosen_by_path(tmp_path: Path) -> None:
    inputs = [written(tmp_path / f"{n}.root", n) for n in (0, 10)]
    output = tmp_path / "all.root"

    def keys(**chosen: Any) -> set[str]:
        farroot.merge(inputs, output, overwrite=True, **chosen)
        return set(farroot.open(output).keys(cycle=False))

    assert keys(only="d") == {"d", "d/t", "d/h"}
    assert keys(only=["d/t", "h"]) == {"h", "d", "d/t"}
    assert keys(only="*h") == {"h", "d", "d/h"}
    assert keys(without=["d/t", "n"]) == {"h", "note", "d", "d/h"}
    assert keys(only="d", without="d/h") == {"d", "d/t"}
    with pytest.raises(farroot.KeyInFileError, match='no input has an object "x'):
        keys(only=["d", "x*"])
    with pytest.raises(farroot.ArgumentTypeError, match="only has paths"):
        farroot.merge(inputs, output, only=[1])  # type: ignore[list-item]


def test_older_cycles_of_the_output_are_not_lost(tmp_path: Path) -> None:
    """A merge that makes all baskets anew copied the newest cycle of each name alone."""
    output = tmp_path / "all.root"
    for first in (0, 10):
        with farroot.update(output) if first else farroot.recreate(output) as file:
            file.mktree("t", {"x": np.arange(first, first + 3)})
    content = output.read_bytes()
    more = written(tmp_path / "more.root", 20)
    for options in ({"basket_size": "1 MB"}, {"recompress": farroot.ZSTD(5)}):
        with pytest.raises(farroot.UnsupportedError, match="t has several cycles") as told:
            farroot.merge(more, output, append=True, **options)
        assert "grow in place" in str(told.value)
        assert output.read_bytes() == content
    farroot.merge(more, output, append=True)
    with farroot.open(output) as file:
        assert [file[f"t;{cycle}"].num_entries for cycle in (1, 2)] == [3, 3]
