"""RNTuples that ROOT itself writes: every kind of field and column, each compared with the filled
values."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
import xxhash

import farroot

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(ntuples_of_root: Path) -> Path:
    """A folder with the files of `ntuples.py`."""
    return ntuples_of_root


def spot(x: float, number: int) -> dict[str, Any]:
    return {"x": x, "id": number}


def bits(number: int, width: int) -> list[bool]:
    return [bool(number >> bit & 1) for bit in range(width)]


def whole(i: int) -> dict[str, Any]:
    """The values of `whole`, bases first."""
    return {
        "one": i,
        "reduced": i / 4,
        "spots": [spot(i + 0.5, i)] * (i % 3),
        "letter": ord("a") + i % 26,
        "numbers": [0, i, 2 * i],
        "grid": [[i, i + 0.25], [i + 0.5, i + 0.75]],
        "text": "w" * (i % 6),
        "small": 200 if i % 2 else 1,
        "box": {"value": ["b" * (i % 4)] * (i % 3)},
        "by_number": [(k - i, spot(k, i)) for k in range(i % 3)],
    }


def either(i: int) -> Any:
    return [spot(i, -i), ["e" * (i % 2)] * (i % 4), 5_000_000_000 * i][i % 3]


def kinds(i: int) -> dict[str, Any]:
    """The values of `kinds`."""
    several = range(i % 4)
    deep = [[[i] * (i % 3)] * k for k in several]
    return {
        "multiset": sorted([i // (k + 1) for k in several] * 2),
        "unordered_set": [i] if i % 3 else [],
        "multimap": [(k // 2, "m" * k) for k in several],
        "unordered_map": [("u" * (i % 5), i)] if i % 3 else [],
        "maps": [(k, [(i, k + 0.5)]) for k in several],
        "small": 200 if i % 2 else 1,
        "large": [5_000_000_000 if (i + k) % 2 else -5_000_000_000 for k in several],
        # As uproot has it: a list of at most one.
        "owned": [spot(i, i)] if i % 3 else [],
        "maybe_list": [i] * (i % 3) if i % 4 else None,
        "maybe_text": ["o" * (i % 3) if k % 2 else None for k in several],
        "either": either(i),
        "eithers": [[0.5 * i, i, None][min(k, 2)] for k in several],
        "two_either": [i, "v" * (i % 5) if i % 2 else -i],
        "two_maybe": [i, -i if i % 2 else None],
        "spots": [spot(i + k / 2, k) for k in range(3)],
        "words": ["x" * (i % 3), "y" * (i % 4)],
        "pair": ("p" * (i % 3), [(k, 0.25 * i) for k in several]),
        "tuple": (spot(-i, i), [(k, "t" * k) for k in several]),
        "few_bits": bits(i, 3),
        "bit_lists": [bits(i + k, 9) for k in several],
        "atomic": i / 8,
        "deep": deep,
        "all": whole(i),
        "alls": [whole(i + k) for k in range(i % 3)],
        "record": spot(0.5 * i, 2 * i),
        "collection": [spot(k, i) for k in range(i % 3)],
        "n_alls": i % 3,
        "letters": [ord("a") + (i + k) % 26 for k in range(i % 3)],
        "the_text": "w" * (i % 6),
        "the_lists": deep,
    }


def check(ntuple: Any, expected: Any) -> None:
    for name in expected(0):
        got = ntuple[name].array().to_list()
        assert len(got) == ntuple.num_entries
        for i, value in enumerate(got):
            assert value == expected(i)[name], (name, i)


@pytest.mark.parametrize("compression", [0, 505])
def test_kinds_of_fields(written: Path, compression: int) -> None:
    ntuple = farroot.open(f"{written}/kinds_{compression}.root:events")
    assert ntuple.num_entries == 120
    check(ntuple, kinds)
    identified = ntuple["identified"].array()
    assert identified["number"].to_list() == [3 * i for i in range(120)]
    assert identified["fUniqueID"].to_list() == list(range(120))
    for name in ntuple.keys(recursive=False):
        part = ntuple[name].array(entry_start=33, entry_stop=91).to_list()
        assert part == ntuple[name].array().to_list()[33:91], name


def streamed(i: int) -> dict[str, Any]:
    """The values of `Streamed::fill`."""
    return {
        "base": -i,
        "number": i,
        "text": "s" * (i % 4),
        "name": "t" * (i % 3),
        "lists": [[0.5 * i] * (i % 2)] * (i % 3),
        "by_text": [("m" * (k + 1), i + k) for k in range(i % 3)],
        "spots": [spot(i, -i)] * (i % 4),
        "named": {"fName": "n" * (i % 5), "fTitle": "title"},
        "pointed": spot(2 * i, i) if i % 2 else None,
        "n": i % 4,
        "counted": [i + 0.25 * k for k in range(i % 4)],
    }


@pytest.mark.parametrize("how", ["append", "recreate"])
def test_objects_in_the_streamer_form(written: Path, how: str) -> None:
    ntuple = farroot.open(f"{written}/streamed_{how}.root:events")

    def expected(i: int) -> dict[str, Any]:
        return {
            "number": i,
            "one": streamed(i),
            "several": [streamed(i + k) for k in range(i % 3)],
            "pair": [streamed(i), streamed(i + 1)],
            "maybe": [streamed(i)] if i % 2 else [],
            "holder": {"before": i, "streamed": streamed(2 * i), "after": -i},
        }

    check(ntuple, expected)
    part = ntuple.arrays(["several", "holder"], "number % 7 == 3")
    assert part["several"].to_list() == [expected(i)["several"] for i in range(3, 60, 7)]
    assert part["holder"].to_list() == [expected(i)["holder"] for i in range(3, 60, 7)]
    # Only their data name the classes of the objects of a container.
    assert ntuple["unruly"].array().to_list() == [{"objects": []}] * 60


def test_reals_of_every_width(written: Path) -> None:
    arrays = farroot.open(f"{written}/widths.root:events").arrays(library="np")
    values = np.array([-3 + 20.0 * i / 119 for i in range(120)])
    for width in range(1, 33):
        off = 20 / (2**width - 1) / 2 + 4e-6
        for kind in ("quantised", "wide"):
            assert np.abs(arrays[f"{kind}{width}"] - values).max() <= off, (kind, width)
        if 10 <= width <= 31:
            mask = np.uint32(0xFFFFFFFF << (32 - width) & 0xFFFFFFFF)
            exact = ((values * 1e3).astype(np.float32).view(np.uint32) & mask).view(np.float32)
            assert np.array_equal(arrays[f"truncated{width}"], exact), width
    assert np.array_equal(arrays["half"], values.astype(np.float16).astype(np.float32))


def test_fields_that_change_how_they_are_stored(written: Path) -> None:
    def expected(i: int) -> dict[str, Any]:
        return {
            "real": i / 4,
            "wide": -i / 4,
            "whole": 5_000_000_000 * (i - 50),
            "text": "r" * (i % 7),
            "list": [-i] * (i % 4),
        }

    check(farroot.open(f"{written}/representations.root:events"), expected)


def test_fields_that_come_late(written: Path) -> None:
    def expected(i: int) -> dict[str, Any]:
        late, later = i >= 10, i >= 60
        return {
            "number": i,
            "spots": [spot(i, i)] * (i % 3),
            "flag": bool(late and i % 2),
            "text": "l" * (i % 4) if late else "",
            "fixed": [i, 2 * i, 3 * i] if late else [0, 0, 0],
            "spot": spot(0.5 * i, i) if later else spot(0, 0),
            "maybe": i if later and i % 2 else None,
            "lists": [[i] * (i % 2)] * (i % 3) if later else [],
            "either": (i if i % 2 else "e") if later else None,
            "bits": bits(i if later else 0, 5),
            "pairs": [[i] * (i % 3), [-i] * (i % 2)] if later else [[], []],
            "n_spots": i % 3,
            "never": [],
            "nothing": 0.0,
        }

    check(farroot.open(f"{written}/late.root:events"), expected)


def test_each_algorithm_and_several_in_a_file(written: Path) -> None:
    file = farroot.open(written / "several.root")
    found = {name: kind for name, kind in file.classnames(cycle=False).items() if "/" in name}
    assert len(found) == 9
    assert set(found.values()) == {"ROOT::RNTuple"}
    for name in found:
        ntuple = file[name]
        compression = int(name.split("/")[0].removeprefix("with_"))
        assert ntuple["number"].array().to_list() == [i * compression for i in range(5000)]
        texts = ntuple["text"].array().to_list()
        assert texts == [chr(ord("a") + i % 26) * (i % 50) for i in range(5000)]
    assert file["tree"]["x"].array().to_list() == list(range(10))


def records(path: Path, kind: str) -> list[Any]:
    return [record for record in farroot.open(path).map() if record.classname == kind]


def test_a_flipped_bit_is_an_error(written: Path, tmp_path: Path) -> None:
    good = written / "kinds_505.root"
    copy = tmp_path / "flipped.root"
    pages = [record for record in records(good, "page") if record.name.endswith("/atomic._0")]
    assert len(pages) >= 5
    for page in pages:
        content = bytearray(good.read_bytes())
        content[page.offset + page.stored_bytes // 2] ^= 4
        copy.write_bytes(content)
        ntuple = farroot.open(f"{copy}:events")
        with pytest.raises(farroot.CorruptError, match=r"atomic.*XXH3"):
            ntuple["atomic"].array()
        assert ntuple["small"].array().to_list() == [200 if i % 2 else 1 for i in range(120)]


@pytest.mark.parametrize(("flag", "first"), [(0, 1 << 0), (40, 1 << 40), (None, 1 << 63)])
def test_unknown_feature_flags_are_refused(
    written: Path, tmp_path: Path, flag: int | None, first: int
) -> None:
    good = written / "streamed_recreate.root"
    (header,) = records(good, "header")[1:]
    content = bytearray(good.read_bytes())
    # Behind type and length of the envelope; a sign bit says that more flags follow, which take
    # the place of the length of the name.
    start, end = header.offset, header.offset + header.stored_bytes
    struct.pack_into("<Q", content, start + 8, first)
    struct.pack_into("<Q", content, end - 8, xxhash.xxh3_64_intdigest(content[start : end - 8]))
    copy = tmp_path / "flagged.root"
    copy.write_bytes(content)
    match = "feature flag" if flag is None else f"feature flag {flag}"
    with pytest.raises(farroot.UnsupportedError, match=match):
        farroot.open(f"{copy}:events")


def test_unions_in_what_awkward_lets_none_be_in(written: Path) -> None:
    """Awkward refused some, and made reals of large integers where it took unions apart."""

    def expected(i: int) -> dict[str, Any]:
        large = [4611686018427387905 + i] * (i % 3)
        return {
            "maybes": [large, None, 0.5 * i][: i % 4],
            "nested": [i, 0.25 * i, "n" * (i % 5)][i % 3],
            "twice": [None, None, i][: i % 4],
            "empty": (),
            "empties": [()] * (i % 3),
        }

    ntuple = farroot.open(f"{written}/unions.root:events")
    check(ntuple, expected)
    assert ntuple.arrays()["maybes"].to_list() == [expected(i)["maybes"] for i in range(120)]
    theirs = uproot.open(f"{written}/unions.root:events")
    for name in ("empty", "empties"):
        assert str(ntuple[name].array().type) == str(theirs[name].array().type)


def test_structures_of_arrays(written: Path) -> None:
    """They are collections of records in the file."""
    ntuple = farroot.open(f"{written}/arrays.root:events")
    assert ntuple["spots"].typename == "SpotArrays"
    expected = [[spot(i + 0.5, k) for k in range(i % 3)] for i in range(120)]
    assert ntuple["spots"].array().to_list() == expected


@pytest.mark.parametrize("compression", [0, 505])
def test_pages_in_several_records(written: Path, compression: int) -> None:
    """Numbers were taken from behind the end of the first record, keys and places among them."""
    ntuple = farroot.open(f"{written}/records_{compression}.root:events")
    i = np.arange(20000, dtype=np.uint64)
    numbers = i * np.uint64(2654435761) * np.uint64(2654435761)
    assert np.array_equal(ntuple["number"].array(library="np"), numbers)
    part = ntuple["number"].array(entry_start=9000, entry_stop=9100, library="np")
    assert np.array_equal(part, numbers[9000:9100])
    expected = [[np.float32(np.float32(0.7) * n)] * (n % 3) for n in range(20000)]
    assert ntuple["reals"].array().to_list() == expected
    kept = ntuple.arrays(["number"], "number % 1000 == 0", library="np")["number"]
    assert np.array_equal(kept, numbers[numbers % np.uint64(1000) == 0])
    stored = [
        page.stored_bytes for page in records(written / f"records_{compression}.root", "page")
    ]
    assert max(stored) <= 5000 < sum(stored)


@pytest.mark.parametrize("compression", [101, 404, 505])
def test_pages_of_several_blocks(written: Path, compression: int) -> None:
    ntuple = farroot.open(f"{written}/pages_{compression}.root:events")
    assert len(records(written / f"pages_{compression}.root", "page")) == 1
    numbers = ntuple["number"].array(library="np")
    assert np.array_equal(numbers, np.arange(5_000_000) % 1000)
