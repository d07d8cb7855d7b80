"""Interpretations that a program defines: classes that were written for uproot, and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pytest
import uproot
import uproot.interpretation.custom

import farroot
from farroot.interpretation.custom import AsBinary, CustomInterpretation

from .same import same_awkward


class Backwards:
    """Numbers with their bytes in the other order, for farroot and for uproot."""

    @classmethod
    def match_branch(cls, branch: Any, context: Any, simplify: bool) -> bool:
        return str(branch.object_path) == "/events;1:int32"

    def basket_array(
        self,
        data: Any,
        byte_offsets: Any,
        basket: Any,
        branch: Any,
        context: Any,
        cursor_offset: int,
        library: Any,
        interp_options: Any,
    ) -> Any:
        assert byte_offsets is None
        numbers = data.view("<i4")
        assert len(numbers) == basket.num_entries
        kinds = {"np": np.asarray, "ak": ak.from_numpy, "pd": pd.Series}
        return kinds[library.name](numbers)


class Ours(Backwards, CustomInterpretation):
    pass


class Theirs(Backwards, uproot.interpretation.custom.CustomInterpretation):  # type: ignore[misc]
    pass


@pytest.fixture
def registered() -> Iterator[None]:
    farroot.register_interpretation(Ours)
    uproot.register_interpretation(Theirs)
    yield
    farroot.unregister_interpretation(Ours)
    uproot.unregister_interpretation(Theirs)


@pytest.mark.usefixtures("registered")
def test_a_class_for_uproot_reads_its_branch(made: Path, several: list[Path]) -> None:
    tree, other = farroot.open(made)["events"], uproot.open(made)["events"]
    branch = tree["int32"]
    assert isinstance(branch.interpretation, Ours)
    assert repr(branch.interpretation) == "Ours"
    assert not isinstance(tree["int16"].interpretation, Ours)
    for entries in ({}, {"entry_start": 100, "entry_stop": 700}, {"entry_stop": 0}):
        expected = other["int32"].array(library="np", **entries)
        for library in ("np", "ak", "pd"):
            got = branch.array(library=library, **entries)
            assert np.asarray(got).tolist() == expected.tolist(), library
    assert isinstance(branch.array(library="pd"), pd.Series)
    assert same_awkward(branch.array(), other["int32"].array())


@pytest.mark.usefixtures("registered")
def test_tables_steps_and_cuts_have_what_it_makes(made: Path, several: list[Path]) -> None:
    tree = farroot.open(made)["events"]
    numbers, small = tree["int32"].array(library="np"), tree["int8"].array(library="np")
    assert tree.arrays(["int32", "int8"]).int32.tolist() == numbers.tolist()
    assert tree.arrays(filter_name="int*").int32.tolist() == numbers.tolist()
    positive = tree.arrays("int32", cut="int8 > 0", library="pd")
    assert positive.int32.tolist() == numbers[small > 0].tolist()
    assert positive.index.tolist() == np.flatnonzero(small > 0).tolist()
    # A cut uses the values of the branch's own type, without the interpretation.
    assert len(tree.arrays("int8", cut="int32 > 0")) == (numbers.byteswap() > 0).sum()
    steps = [part.int32 for part in tree.iterate("int32", step_size=300)]
    assert ak.concatenate(steps).tolist() == numbers.tolist()
    both = farroot.concatenate([{path: "events"} for path in several], ["int32", "int16"])
    assert len(both.int32) == len(both.int16)
    assert tree.arrays("int32", library="arrow")["int32"].to_pylist() == numbers.tolist()
    with pytest.raises(farroot.InvalidArgumentError, match="virtual"):
        tree.arrays(["int32"], virtual=True)


def test_registering_again_and_what_is_no_class() -> None:
    farroot.register_interpretation(Ours)
    with pytest.warns(UserWarning, match="is registered already"):
        farroot.register_interpretation(Ours)
    farroot.unregister_interpretation(Ours)
    farroot.unregister_interpretation(Ours)
    wrong: Any
    for wrong in (int, Ours.match_branch, "Ours"):
        with pytest.raises(farroot.ArgumentTypeError, match="CustomInterpretation"):
            farroot.register_interpretation(wrong)


def test_an_array_of_another_length_is_refused(made: Path) -> None:
    class Short(CustomInterpretation):
        @classmethod
        def match_branch(cls, branch: Any, context: Any, simplify: bool) -> bool:
            return bool(branch.name == "int8")

        def basket_array(self, data: Any, *_: Any) -> Any:
            return data[1:]

    branch = farroot.open(made)["events"]["int8"]
    with pytest.raises(farroot.InvalidArgumentError, match="999 elements for 1000 entries"):
        branch.array(Short(branch, {}, True))


def test_the_bytes_of_a_branch(made: Path, corpus: Path) -> None:
    tree, other = farroot.open(made)["events"], uproot.open(made)["events"]
    theirs = uproot.interpretation.custom.AsBinary()
    lists = tree["jagged"].array(AsBinary())
    assert lists.tolist() == other["jagged"].array(theirs).tolist()
    path = corpus / "uproot-mc10events.root"
    numbers, expected = (each.open(path)["Events/Info/evtNum"] for each in (farroot, uproot))
    assert same_awkward(numbers.array(AsBinary()), expected.array(theirs))
    for entries in ({}, {"entry_start": 3, "entry_stop": 7}):
        got = numbers.array(AsBinary(), library="np", **entries)
        assert got.tolist() == expected.array(theirs, library="np", **entries).tolist()
    stored = tree["int32"].array(AsBinary(), library="np")
    assert stored.view(">i4").ravel().tolist() == other["int32"].array().tolist()
    assert tree["int32"].array(AsBinary(), entry_stop=0, library="np").shape == (0, 0)
    # One branch is read as bytes and, for the cut, as numbers.
    some = tree.arrays({"int32": AsBinary()}, cut="int32 > 0")
    assert len(some) == (other["int32"].array(library="np") > 0).sum()
    with pytest.raises(farroot.InvalidArgumentError, match='library="ak"'):
        tree["jagged"].array(AsBinary(), library="np")


def test_the_bytes_of_a_basket(made: Path) -> None:
    tree, other = farroot.open(made)["events"], uproot.open(made)["events"]
    for name in ("int32", "jagged", "text"):
        branch, theirs = tree[name], other[name]
        assert branch.num_baskets > 1
        for number in range(branch.num_baskets):
            ours, expected = branch.basket(number), theirs.basket(number)
            assert ours.data.tobytes() == expected.data.tobytes(), (name, number)
            if expected.byte_offsets is None:
                assert ours.byte_offsets is None
            else:
                assert ours.byte_offsets.tolist() == expected.byte_offsets.tolist()
            assert ours.num_entries == expected.num_entries
            assert ours.entry_start_stop == expected.entry_start_stop
            assert ours.basket_num == number
    with pytest.raises(farroot.InvalidArgumentError, match="no basket 99"):
        tree["int32"].basket(99)
