"""Objects that are added up, compared with the output of ROOT's ``hadd`` of the same files."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import farroot

from .root import by_root
from .skips import need_root

pytestmark = pytest.mark.interop

#: In C++, since PyROOT would take ownership of objects in files.
HEADER = Path(__file__).parent / "root" / "sums.h"

#: usage: HEADER CODE
CALL = """
import os
import sys
import ROOT

ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.Declare(f'#include "{sys.argv[1]}"')
ROOT.gInterpreter.ProcessLine(sys.argv[2])
sys.stdout.flush()
ROOT.gInterpreter.ProcessLine("fflush(stdout);")
os._exit(0)
"""


def call(*lines: str) -> str:
    return by_root(CALL, HEADER, "{" + "".join(lines) + "}")


def by_hadd(output: Path, inputs: list[Path]) -> None:
    """Merges with ROOT's own hadd."""
    spec = importlib.util.find_spec("ROOT")
    assert spec is not None
    assert spec.origin is not None
    hadd = Path(spec.origin).parent / "bin" / "hadd"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [str(hadd), "-f", "-v", "0", str(output), *map(str, inputs)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


#: A line of its own behind each file.
END = "---"


def compared(folder: Path, cases: list[list[Path]]) -> None:
    """Merges each list of inputs with hadd and farroot; ROOT must read the same sums from both."""
    outputs = []
    for at, inputs in enumerate(cases):
        ours, theirs = folder / f"ours-{at}.root", folder / f"theirs-{at}.root"
        by_hadd(theirs, inputs)
        farroot.merge(inputs, ours)
        outputs += [ours, theirs]
    # In one process, as ROOT takes long to begin.
    said = call(*(f'tell_all("{path}"); puts("{END}");' for path in outputs))
    *told, rest = said.split(f"{END}\n")
    assert (len(told), rest) == (len(outputs), "")
    for inputs, mine, others in zip(cases, told[::2], told[1::2], strict=True):
        assert mine.split(), inputs
        assert mine.splitlines() == others.splitlines(), inputs


def test_labels_are_the_same_bins(tmp_path: Path) -> None:
    need_root()
    sets = (["a", "b", "c"], ["c", "d", "a"], ["e", "f", "g", "h"], ["b"])
    paths = [tmp_path / f"{at}.root" for at in range(len(sets))]
    lines = []
    for at, (path, names) in enumerate(zip(paths, sets, strict=True)):
        text = ", ".join(f'"{name}"' for name in names)
        lines.append(f'{{ TFile f("{path}", "RECREATE"); labels(f, {{{text}}}, {10**at}); }}')
    call(*lines)
    compared(tmp_path, [paths, paths[::-1], paths[:2], [paths[0], paths[0]]])


def test_graphs_efficiencies_and_many_dimensions(tmp_path: Path) -> None:
    need_root()
    paths = [tmp_path / f"{s}.root" for s in (1, 2)]
    make = '{{ TFile f("{}", "RECREATE"); others(f, {}); }}'
    call(*(make.format(path, s) for s, path in enumerate(paths, 1)))
    compared(tmp_path, [paths, paths[::-1], [paths[1], *paths]])


def test_what_hadd_adds_by_number_is_an_error(tmp_path: Path) -> None:
    """On an axis that cannot be extended, bins with different labels are not added up."""
    need_root()
    paths = [tmp_path / f"{label}.root" for label in "ab"]
    lines = []
    for path in paths:
        lines += [
            f'{{ TFile f("{path}", "RECREATE"); TH1D h("h", "h", 2, 0, 2); h.SetBinContent(1, 1);',
            f'h.GetXaxis()->SetBinLabel(1, "{path.stem}"); h.GetXaxis()->SetCanExtend(false);',
            "f.Write(); f.Close(); }",
        ]
    call(*lines)
    with pytest.raises(farroot.UnsupportedError, match=r"b\.root|other labels"):
        farroot.merge(paths, tmp_path / "all.root")
