"""Formulas of lists in lists, row by row, as ROOT draws them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import farroot

from .root import written_by

pytestmark = pytest.mark.interop

#: Formulas that are not left to chance.
CHOSEN = (
    "vv[][0]",
    "vv[][0]*v",
    "v+vv[][0]",
    "vv[][0]-vv[][1]",
    "vv[][1]-vv[][0]",
    "vv*vv[][0]",
    "vv[][0]+vv",
    "vv[][1]+vv",
    "v*(vv[][0]>0)",
    "vv[][0]>20 && v>150",
    "vv[][0]>20 ? v : -v",
    "Iteration$+vv[][0]",
    "vv[][0]*0+Length$",
    "Sum$(vv[][0]*v)",
    "Length$(vv[][1])",
    "Max$(vv[][0])",
    "MinIf$(vv[][0],v>150)",
    "MaxIf$(v,vv[][0]>20)",
    "firsts*v",
    "v-firsts",
    "square*vv[][0]",
    "vv[][0]*square",
    "vv[][0]*square[][1]",
    "vv[][1]*fixed",
    "vv[][0]*matrix[][1]",
    "vv[][0]*matrix",
    "vv[1]+v",
    "v+vv[1]",
    "vv[0]*vv[1]",
    "vv[1]*fixed",
    "fixed+vv[1]",
    "vv[1][]*v",
    "v[0]*vv",
    "vv[1]",
    "qs.f[][0]",
    "qs.f[][0]*qs.a",
    "qs.f[][1]+qs.a",
    "qs.f*qs.f[][0]",
    "qs.f[][0]-qs.f[][1]",
    "qs.f[][1]-qs.f[][0]",
    "rows.qs.f[][0]*rows.qs.a",
    "qs.f[1]+qs.a",
    "Alt$(x[1],99)+0*x",
    "Alt$(x[1],99)",
    "Alt$(x,5)+0*v",
    "Alt$(x,n)+0*v",
    "Alt$(x[2],n)",
    "Alt$(vv[1],3)+0*w",
    "Alt$(vv[][0],3)+0*w",
    "Alt$(x,n)+Alt$(w,3)",
    "Alt$(x,Alt$(w,1))",
    "Alt$(x,1)+0*vv",
    "x/Alt$(x[0],99)",
    "Sum$(Alt$(x,n))",
    "Alt$(x*v,Sum$(w))+0*w",
)

#: An index takes no item of them, and ROOT pairs those of the last by other indices.
REFUSED = {
    "Alt$(x,w)": "second value is a list",
    "vv[1]*vv[][0]": "more dimensions",
    "firsts[0]": "index of an alias that is computed",
}

#: Parts of formulas at random: those in one group have the same rows.
OF_VECTORS = ("vv", "vv[][0]", "vv[][1]", "vv[][2]", "v", "n", "matrix[][1]", "fixed", "square")
OF_MEMBERS = ("qs.a", "qs.f[][0]", "qs.f[][1]", "v", "n", "matrix[][0]", "fixed")
OF_OTHERS = ("vv[][1]", "ww[][1]", "ww[][2]", "v", "w", "x", "n", "Alt$(x,n)", "Alt$(x[1],7)")
SEEDS = 240


def formula(seed: int) -> str:
    """Two to four parts, and sometimes a reduction of them."""
    chance = random.Random(seed)
    group = chance.choice((OF_VECTORS, OF_MEMBERS, OF_OTHERS))
    text = chance.choice(group)
    for _ in range(chance.randrange(1, 4)):
        text += chance.choice("+-*") + chance.choice(group)
    return chance.choice((text, text, text, f"Sum$({text})", f"Length$({text})"))


def _flat(entry: object) -> list[float]:
    if isinstance(entry, list):
        return [one for item in entry for one in _flat(item)]
    return [] if entry is None else [float(entry)]  # type: ignore[arg-type]


def test_items_of_rows_stay_in_their_rows(tmp_path: Path) -> None:
    """``vv[][0]*v`` paired the items that are there with the first of ``v``, whatever rows they
    are of, and ``Alt$`` of an item was that item in all places."""
    formulas = [*CHOSEN, *map(formula, range(SEEDS)), *REFUSED]
    (tmp_path / "formulas.json").write_text(json.dumps(formulas))
    written_by("formula_rows", tmp_path, tmp_path / "formulas.json")
    drawn = json.loads((tmp_path / "drawn.json").read_text())
    tree = farroot.open(tmp_path / "rows.root")["t"]
    wrong = []
    for number, text in enumerate(formulas[: -len(REFUSED)]):
        assert None not in drawn[number], text
        try:
            found = ak.to_list(tree.arrays([f"formula{number}"])[f"formula{number}"])
        except farroot.InvalidArgumentError as error:
            wrong.append(f"{text}: {error}")
            continue
        for entry, expected in enumerate(drawn[number]):
            ours = _flat(found[entry])
            if np.isnan(ours).any():
                # ROOT has NaN or any memory for an item that is not there, and may not read
                # other columns of the entry then.
                expected = ours if len(ours) == len(expected) else expected
            if not np.array_equal(ours, expected, equal_nan=True):
                wrong.append(f"{text}: entry {entry}: {ours} is not {expected}")
                break
    assert not wrong, f"{len(wrong)} of {len(formulas)}: " + "\n".join(wrong[:30])
    for number, why in enumerate(REFUSED.values(), len(formulas) - len(REFUSED)):
        with pytest.raises(farroot.InvalidArgumentError, match=why):
            tree.arrays([f"formula{number}"])
