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


def compared(folder: Path, inputs: list[Path]) -> None:
    """Merges with hadd and farroot; ROOT must read the same sums from both outputs."""
    ours, theirs = folder / "ours.root", folder / "theirs.root"
    by_hadd(theirs, inputs)
    farroot.merge(ours, inputs, overwrite=True)
    sums = [call(f'tell_all("{path}");').splitlines() for path in (ours, theirs)]
    assert sums[0] == sums[1]


def test_labels_are_the_same_bins(tmp_path: Path) -> None:
    need_root()
    sets = (["a", "b", "c"], ["c", "d", "a"], ["e", "f", "g", "h"], ["b"])
    paths = [tmp_path / f"{at}.root" for at in range(len(sets))]
    for at, (path, names) in enumerate(zip(paths, sets, strict=True)):
        text = ", ".join(f'"{name}"' for name in names)
        call(f'TFile f("{path}", "RECREATE"); labels(f, {{{text}}}, {10**at});')
    for inputs in (paths, paths[::-1], paths[:2], [paths[0], paths[0]]):
        compared(tmp_path, inputs)


def test_graphs_efficiencies_and_many_dimensions(tmp_path: Path) -> None:
    need_root()
    paths = [tmp_path / f"{s}.root" for s in (1, 2)]
    for s, path in enumerate(paths, 1):
        call(f'TFile f("{path}", "RECREATE"); others(f, {s});')
    for inputs in (paths, paths[::-1], [paths[1], *paths]):
        compared(tmp_path, inputs)


def test_what_hadd_adds_by_number_is_an_error(tmp_path: Path) -> None:
    """On an axis that cannot be extended, bins with different labels are not added up."""
    need_root()
    paths = [tmp_path / f"{label}.root" for label in "ab"]
    for path in paths:
        lines = (
            f'TFile f("{path}", "RECREATE"); TH1D h("h", "h", 2, 0, 2); h.SetBinContent(1, 1);',
            f'h.GetXaxis()->SetBinLabel(1, "{path.stem}"); h.GetXaxis()->SetCanExtend(false);',
            "f.Write(); f.Close();",
        )
        call(*lines)
    with pytest.raises(farroot.UnsupportedError, match=r"b\.root|other labels"):
        farroot.merge(tmp_path / "all.root", paths)
