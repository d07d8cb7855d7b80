"""The steps that ``on_error="report"`` leaves out are those whose entries need damaged data,
however the file is reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot

from .test_remote import started

#: Entries of a basket and of a step.
BASKET, STEP, ENTRIES = 500, 300, 3000


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The third basket of ``d`` is damaged: entries 1000 to 1500."""
    path = tmp_path_factory.mktemp("damaged") / "dam.root"
    random = np.random.default_rng(7)
    with uproot.recreate(path) as file:
        tree = file.mktree("t", {"i": "i8", "d": "f8"})
        for first in range(0, ENTRIES, BASKET):
            numbers = np.arange(first, first + BASKET)
            tree.extend({"i": numbers, "d": random.integers(0, 9, BASKET) / 8.0})
    record = farroot.open(f"{path}:t")["d"].basket_record(2)
    assert record is not None
    start, stop = record[:2]
    raw = bytearray(path.read_bytes())
    for at in range(start + 90, stop - 5, 7):
        raw[at] ^= 0x5A
    path.write_bytes(raw)
    return path


@pytest.fixture(scope="module")
def places(damaged: Path) -> Iterator[list[str]]:
    with started("serve", str(damaged.parent)) as host:
        yield [str(damaged), f"http://{host}/dam.root", f"root://{host}//dam.root"]


@pytest.mark.filterwarnings("ignore::farroot.errors.SkippedWarning")
@pytest.mark.parametrize(
    ("cut", "left_out"),
    [
        (None, [900, 1200]),
        ("i >= 0", [900, 1200]),
        ("i > 2900", []),
        ("i < 1000", []),
        ("(i < 1100) | (i > 2900)", [900]),
        ("d >= 0", [900, 1200]),
    ],
)
def test_only_steps_that_need_damaged_data_are_left_out(
    places: list[str], cut: str | None, left_out: list[int]
) -> None:
    """Regression: columns that a cut does not need were read ahead, how many by the link's speed,
    and damage in them was an error."""
    for place in places:
        for _ in range(3):
            tree = farroot.open(f"{place}:t")
            steps = tree.iterate(["i", "d"], cut, step_size=STEP, on_error="report")
            found = [n for step in steps for n in step.i.tolist()]
            skipped = [one.as_dict()["tree_entry_start"] for one in steps.skipped]
            assert skipped == left_out, (place, cut)
            chosen = np.arange(ENTRIES)
            kept = ~np.isin(chosen // STEP * STEP, left_out)
            passing = {
                "i > 2900": chosen > 2900,
                "i < 1000": chosen < 1000,
                "(i < 1100) | (i > 2900)": (chosen < 1100) | (chosen > 2900),
            }.get(cut or "", np.full(ENTRIES, fill_value=True))
            assert found == chosen[kept & passing].tolist(), (place, cut)


def test_a_read_needs_only_the_entries_that_a_cut_leaves(places: list[str]) -> None:
    for place in places:
        tree = farroot.open(f"{place}:t")
        assert tree.arrays(["i", "d"], "i > 2900").i.tolist() == list(range(2901, ENTRIES))
        with pytest.raises(farroot.CorruptError):
            tree.arrays(["i", "d"], "i >= 1400")
