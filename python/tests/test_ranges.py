"""Files of any kind, read as ranges of bytes."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import farroot

from .test_processes import _in_child
from .test_remote import serving

SIZE = 3_000_000


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "bytes of:any kind"
    path.write_bytes(random.Random(1).randbytes(SIZE))
    return path


@pytest.fixture(scope="module")
def served(plain: Path) -> Iterator[str]:
    # A name that every protocol can spell.
    (plain.parent / "plain").write_bytes(plain.read_bytes())
    with serving(plain.parent) as host:
        yield host


def addresses(host: str) -> list[str]:
    return [f"root://{host}//plain", f"http://{host}/plain"]


RANGES = [(5, 17), (2_000_000, 2_900_000), (0, 1), (7, 7), (SIZE - 1, SIZE), (10, 30)]


def test_ranges_are_the_bytes_of_the_file(plain: Path, served: str) -> None:
    content = plain.read_bytes()
    for address in [str(plain), *addresses(served)]:
        with farroot.open_bytes(address) as file:
            assert (file.size, len(file), file.closed) == (SIZE, SIZE, False)
            assert file.read(RANGES) == [content[start:stop] for start, stop in RANGES]
            assert file.read([]) == []
        assert file.closed


def test_buffers_are_views_that_outlive_their_file(plain: Path) -> None:
    with farroot.open_bytes(plain) as file:
        (buffer,) = file.read([(100, 200)])
    assert buffer.readonly
    array = np.frombuffer(buffer, np.uint8)
    assert not array.flags.owndata
    assert array.tobytes() == plain.read_bytes()[100:200]


def test_each_range_is_told_as_it_comes(plain: Path) -> None:
    content = plain.read_bytes()
    come: dict[int, bytes] = {}

    def arrived(position: int, buffer: memoryview) -> None:
        assert position not in come
        come[position] = bytes(buffer)

    farroot.open_bytes(plain).read(RANGES, arrived)
    assert come == {at: content[start:stop] for at, (start, stop) in enumerate(RANGES)}


def test_what_a_callback_raises_ends_the_read(plain: Path) -> None:
    def arrived(position: int, buffer: memoryview) -> None:
        raise RuntimeError("enough")

    file = farroot.open_bytes(plain)
    with pytest.raises(RuntimeError, match="enough"):
        file.read(RANGES, arrived)
    assert file.read([(0, 3)]) == [plain.read_bytes()[:3]]


def test_the_first_ranges_leave_with_the_open(plain: Path, served: str) -> None:
    """That it costs no round trip more is tested in virtual time."""
    expected = [plain.read_bytes()[start:stop] for start, stop in RANGES]
    for address in [str(plain), *addresses(served)]:
        file = farroot.open_bytes(address, RANGES)
        assert file.read(RANGES) == expected
        assert file.read(RANGES) == expected, "asked for again"
        other = farroot.open_bytes(address, RANGES)
        assert other.read(RANGES[:2]) == expected[:2], "not what the open was given"


def test_errors_say_what_and_where(plain: Path, served: str) -> None:
    missing = str(plain.parent / "missing")
    for address in (missing, f"root://{served}//missing", f"http://{served}/missing"):
        with pytest.raises(FileNotFoundError, match="missing"):
            farroot.open_bytes(address, [(0, 10)])
    for address in [str(plain), *addresses(served)]:
        with pytest.raises(farroot.InvalidArgumentError, match=f"beyond the end.*{SIZE} bytes"):
            farroot.open_bytes(address, [(0, SIZE + 1)])
    file = farroot.open_bytes(plain)
    with pytest.raises(farroot.InvalidArgumentError, match="beyond the end"):
        file.read([(SIZE, SIZE + 1)])
    with pytest.raises(farroot.InvalidArgumentError, match="no range"):
        file.read([(3, 2)])
    with pytest.raises(farroot.InvalidArgumentError, match="no range"):
        file.read([(-3, 2)])
    with pytest.raises(farroot.ArgumentTypeError, match="pair"):
        file.read([5])  # type: ignore[list-item]
    file.close()
    with pytest.raises(farroot.InvalidArgumentError, match="closed"):
        file.read([(0, 1)])


def test_files_go_to_other_processes(plain: Path) -> None:
    file = farroot.open_bytes(plain)
    again = pickle.loads(pickle.dumps(file))
    assert again.read([(3, 9)]) == file.read([(3, 9)])
    _in_child(lambda: file.read([(3, 9)]) == again.read([(3, 9)]))
