"""Dictionaries of ROOT for the scripts of this folder: compiled once, and kept in the checkout.

A dictionary lies in ``build/dictionaries`` with copies of its headers, under a name that is made
of its sources: the headers, the macro that was defined, the version of ROOT.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
from pathlib import Path

import ROOT

HERE = Path(__file__).parent
KEPT = Path(__file__).parents[3] / "build" / "dictionaries"
#: Without optimisation: compiling takes longer than the compiled code runs.
OPTIONS, FLAGS = "kfsO", "-O0"


def load(header: Path, libraries: tuple[str, ...] = (), define: str = "") -> None:
    """Loads the classes of a header, and compiles them if these have not been compiled before.

    The libraries are those of ROOT that the classes need.
    """
    for library in libraries:
        ROOT.gSystem.Load(f"lib{library}")
    headers = _with_included(header)
    made_of = (ROOT.__version__, FLAGS, define, str(KEPT), sorted(headers.items()))
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()
    name = f"{header.stem}_{digest[:16]}"
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    compiled = folder / "compiled"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not compiled.exists():
            for each, text in headers.items():
                (folder / each).write_text(text)
            _compile(folder / header.name, name, define)
            compiled.touch()
        elif ROOT.gSystem.Load(str(folder / f"{name}.so")) < 0:
            raise SystemExit(f"{name} could not be loaded")


def _compile(header: Path, name: str, define: str) -> None:
    folder = str(header.parent)
    ROOT.gSystem.SetBuildDir(folder, True)
    ROOT.gSystem.SetFlagsOpt(FLAGS)
    if define:
        ROOT.gSystem.AddIncludePath(f"-D{define}")
    if not ROOT.gSystem.CompileMacro(str(header), OPTIONS, name, folder):
        raise SystemExit(f"the classes of {header.name} could not be compiled")


def _with_included(header: Path) -> dict[str, str]:
    """The text of a header and of those of this folder that it includes, by their names."""
    found: dict[str, str] = {}
    left = [header]
    while left:
        path = left.pop()
        if path.name not in found:
            found[path.name] = path.read_text()
            left += [HERE / name for name in re.findall(r'#include "(\w+\.h)"', found[path.name])]
    return found
