"""Opening files and finding things in them."""

from __future__ import annotations

import gc
import struct
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot._addresses import path_text

from .scripted_xrootd import Asked, scripted


def test_addresses_of_a_file(nested: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(nested.parent)
    for address in (nested, str(nested), f"file://{nested}", nested.name, {str(nested): None}):
        file = farroot.open(address)
        assert isinstance(file, farroot.File), address
        assert file.size == nested.stat().st_size


def test_addresses_of_a_tree(nested: Path) -> None:
    addresses: tuple[Any, ...] = (
        f"{nested}:one/two/tree",
        f"{nested}:one/two/tree;1",
        {str(nested): "one/two/tree"},
        {nested: "one/two/tree"},
    )
    for address in addresses:
        tree = farroot.open(address)
        assert isinstance(tree, farroot.Tree), address
        assert tree.num_entries == 7
        assert tree.name == "tree"


def test_keys_and_classes_are_uproots(nested: Path) -> None:
    with farroot.open(nested) as ours, uproot.open(nested) as theirs:
        assert isinstance(ours, farroot.File)
        assert ours.keys() == theirs.keys()
        assert ours.keys(cycle=False) == theirs.keys(cycle=False)
        assert ours.keys(recursive=False) == theirs.keys(recursive=False)
        assert ours.classnames() == theirs.classnames()
        assert ours.keys(filter_classname="T*") == theirs.keys(filter_classname="T*")
        assert ours.keys(filter_name="*tree") == theirs.keys(filter_name="*tree")
        assert list(ours) == theirs.keys()


def test_directories_and_cycles(nested: Path) -> None:
    file = farroot.open(nested)
    assert isinstance(file, farroot.File)
    assert "one/two/tree" in file
    assert "one/two/tree;1" in file
    assert "one/two/tree;7" not in file
    assert "nothing" not in file
    one = file["one"]
    assert isinstance(one, farroot.Directory)
    assert one.keys(cycle=False) == ["two", "two/tree", "hist"]
    assert one["two"]["tree"]["y"].array().tolist() == list(range(7))
    assert isinstance(farroot.open(f"{nested}:one/two"), farroot.Directory)
    branch = farroot.open(f"{nested}:one/two/tree/y")
    assert isinstance(branch, farroot.Branch)
    for cycle, entries in ((1, 5), (2, 6)):
        tree = file[f"top;{cycle}"]
        assert isinstance(tree, farroot.Tree)
        assert tree.num_entries == entries
    assert file["top"].num_entries == 6


@pytest.mark.parametrize(
    "path",
    ["one;1/two;1/tree;1", "one;1/two/tree", "/one/two/tree", "one//two/tree", "one/two/tree/"],
)
def test_ways_to_spell_a_path(nested: Path, path: str) -> None:
    file = farroot.open(nested)
    assert isinstance(file, farroot.File)
    for tree in (file[path], farroot.open(f"{nested}:{path}"), farroot.open({nested: path})):
        assert isinstance(tree, farroot.Tree)
        assert tree["y"].array().tolist() == list(range(7))


def test_what_is_not_there(nested: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as no_file:
        farroot.open(tmp_path / "no.root")
    assert isinstance(no_file.value, farroot.NotFoundError)
    assert "no.root" in str(no_file.value)
    assert no_file.value.url is not None
    assert no_file.value.url.endswith("no.root")
    assert not no_file.value.retryable
    for where in ("nothing", "one/nothing", "nothing/at/all", "top;9"):
        with pytest.raises(KeyError) as no_key:
            farroot.open({str(nested): where})
        assert isinstance(no_key.value, farroot.KeyInFileError)
        assert not isinstance(no_key.value, FileNotFoundError)


def test_arguments_that_make_no_sense() -> None:
    for wrong in (3, None, b"f.root", {}, {"a": None, "b": None}):
        with pytest.raises(farroot.InvalidArgumentError):
            farroot.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="gopher"):
        farroot.open("gopher://host/f.root")


@pytest.mark.parametrize("keep", [0, 1, 50, 200, 2000])
def test_truncated_files_are_errors(made: Path, tmp_path: Path, keep: int) -> None:
    broken = tmp_path / "broken.root"
    broken.write_bytes(made.read_bytes()[:keep])
    with pytest.raises(farroot.Error, match=r"broken\.root"):
        farroot.open(f"{broken}:events")


def test_not_a_root_file(tmp_path: Path) -> None:
    other = tmp_path / "other.root"
    other.write_bytes(b"PK\x03\x04" + bytes(5000))
    with pytest.raises(farroot.CorruptError):
        farroot.open(other)


def test_a_closed_file_says_so(nested: Path) -> None:
    with farroot.open(nested) as file:
        assert isinstance(file, farroot.File)
        tree = file["top"]
    assert file.closed
    with pytest.raises(ValueError, match="closed"):
        file.keys()
    assert isinstance(tree, farroot.Tree)
    assert tree["x"].array().tolist() == list(range(6))


def test_errors_survive_pickling(tmp_path: Path) -> None:
    import pickle

    with pytest.raises(farroot.NotFoundError) as raised:
        farroot.open(tmp_path / "no.root")
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is farroot.NotFoundError
    assert str(again) == str(raised.value)
    assert again.url == raised.value.url


def test_a_corrupt_directory_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "directories.root"
    with uproot.recreate(path) as file:
        file.mktree("good/events", {"x": "i4"}).extend({"x": [1, 2]})
        file.mktree("bad/events", {"x": "i4"}).extend({"x": [3]})
    with uproot.open(path) as file:
        bad = file["bad"]
        place, key_list = bad.fSeekDir, struct.pack(">i", bad.fSeekKeys)
    data = bytearray(path.read_bytes())
    at = data.index(key_list, place)
    data[at : at + 4] = b"\x7f\xff\xff\xff"
    path.write_bytes(data)
    file = farroot.open(path)
    assert isinstance(file, farroot.File)
    with pytest.warns(farroot.UnreadableWarning, match="bad is not listed") as caught:
        keys = file.keys(cycle=False)
    assert caught[0].filename == __file__
    assert sorted(keys) == ["bad", "good", "good/events"]
    assert farroot.open(f"{path}:good/events").arrays().x.tolist() == [1, 2]


def test_a_file_that_was_never_closed_has_what_was_saved() -> None:
    path = Path(__file__).parents[2] / "crates/rootfile/testdata/unclosed.root"
    with pytest.warns(farroot.RecoveredWarning, match="never closed") as caught:
        tree = farroot.open(f"{path}:events")
    assert caught[0].filename == __file__
    assert tree.num_entries == 100
    assert tree["number"].array().tolist() == list(range(100))
    assert any("never closed" in note for note in tree.report()["notes"])


def test_a_path_stays_a_path(nested: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came back as file:///..., where uproot gives the path as it was given."""
    monkeypatch.chdir(nested.parent)
    for address in (str(nested), nested.name, f"./{nested.name}", f"file://{nested}"):
        file = farroot.open(address)
        assert isinstance(file, farroot.File)
        assert file.file_path == address
        assert [url for url, *_ in farroot.num_entries({address: "one/two/tree"})] == [address]
        steps = farroot.iterate({address: "one/two/tree"}, ["y"], report=True)
        assert {report.file_path for _, report in steps} == {address}
        with pytest.raises(farroot.KeyInFileError, match=address.replace(".", r"\.")) as caught:
            file["none"]
        assert address.startswith("file://") or "file://" not in str(caught.value)


class FsspecPath:
    """Like a path of universal_pathlib: no ``os.PathLike``, and with options for fsspec."""

    def __init__(self, text: str, **options: Any) -> None:
        self.text = text
        self.storage_options = options

    def __str__(self) -> str:
        return self.text


def test_a_path_of_fsspec_is_its_text_without_options(nested: Path) -> None:
    path: Any = FsspecPath(f"file://{nested}")
    assert farroot.open(path).keys() == farroot.open(nested).keys()
    assert farroot.open({path: "one/two/tree"}).num_entries == 7
    # For a local file the options are ignored.
    local: Any = FsspecPath(str(nested), headers={"Authorization": "Bearer secret"}, anon=True)
    assert farroot.open(local).keys() == farroot.open(nested).keys()
    with pytest.raises(farroot.InvalidArgumentError, match="anon"):
        farroot.open(FsspecPath("s3://bucket/key.root", anon=True))  # type: ignore[call-overload]
    for headers in ({"Authorization": "Basic secret"}, {"Authorization": "Bearer s", "X": "y"}, 5):
        wrong: Any = FsspecPath("https://a.example/f.root", headers=headers)
        with pytest.raises(farroot.InvalidArgumentError, match="headers") as told:
            farroot.open(wrong)
        assert "secret" not in str(told.value)


def test_a_path_of_fsspec_names_credentials() -> None:
    url = "https://a.example/f.root"
    path = FsspecPath(url, headers={"Authorization": "Bearer secret"}, profile="mine")
    expected = farroot.with_credentials(url, token="secret", s3_profile="mine")
    assert path_text(path) == expected != url
    assert "secret" not in expected


@pytest.mark.parametrize("key", ["t", "t/x", "n", "n/x", "d", "h"])
def test_a_file_that_nobody_refers_to_is_let_go_at_once(tmp_path: Path, key: str) -> None:
    """Files and tables referred to themselves: servers had them open until Python's collector of
    cycles ran, and XRootD's gave them to no writer."""
    with farroot.recreate(tmp_path / "f.root") as made:
        made.mktree("t", {"x": np.arange(3)})
        made.mkrntuple("n", {"x": np.arange(3)})
        made.mkdir("d")
        made["h"] = np.histogram([1, 2])
    gc.disable()
    try:
        file = farroot.open(tmp_path / "f.root")
        there = file[key] if key != "n/x" else file["n"]["x"]
        if hasattr(there, "array"):
            assert there.array().tolist() == [0, 1, 2]
        if key in ("t", "n"):
            there.add_friend(f"{tmp_path}/f.root:t", "near")
            assert there.arrays(["near.x"])["near.x"].tolist() == [0, 1, 2]
            assert list(there.friends) == ["near"]
        gone = [weakref.ref(file)]
        if key != "h":
            gone.append(weakref.ref(there))
        del file, there
        assert [each() for each in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_the_server_hears_that_a_file_is_closed(tmp_path: Path) -> None:
    with farroot.recreate(tmp_path / "f.root") as made:
        made.mktree("t", {"x": np.arange(3)})
    closed = threading.Event()

    def hears(asked: Asked) -> None:
        if asked.name == "close":
            closed.set()

    gc.disable()
    try:
        with scripted((tmp_path / "f.root").read_bytes(), hears) as server:
            with farroot.open(f"root://127.0.0.1:{server.port}//f.root") as file:
                assert file["t"].num_entries == 3
            assert closed.wait(30)
    finally:
        gc.enable()
