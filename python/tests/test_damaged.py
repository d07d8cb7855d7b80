"""Damaged files: a value that the file itself can contradict is an error, never another value."""

from __future__ import annotations

from pathlib import Path

import uproot

import farroot

from . import damaged

SEEDS = 200


def test_what_a_file_says_twice_is_never_silently_different() -> None:
    tally = damaged.run(0, SEEDS)
    assert not tally.faults, "\n".join(tally.faults)
    assert tally.values["equal"] > SEEDS
    assert tally.values["error"] > SEEDS


def test_room_that_uproot_leaves_behind_streamer_infos(tmp_path: Path) -> None:
    """Everything behind an object was an error once, and with it each file to which uproot adds."""
    path = tmp_path / "text.root"
    with uproot.recreate(path) as file:
        file["text"] = "a" * 1000
    assert farroot.open(path)["text"] == "a" * 1000
