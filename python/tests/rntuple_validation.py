"""ROOT's validation suite of RNTuple (github.com/root-project/rntuple-validation) with farroot.

    python -m tests.rntuple_validation FOLDER [--copies]

FOLDER is a copy of that repository, of which nothing is kept here, in which ``make`` has run: it
holds ``write/*.root`` and the values that ROOT reads of them, ``read/*.json``. Each file is read
by farroot, and the values compared. With ``--copies`` each is also copied by `farroot.merge` and
`farroot.skim`, and the suite's own readers in ROOT have to find the same values in the copies.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import farroot

NTUPLE = "ntpl"
#: Attribute sets are left out of copies, with a note; features of tomorrow are refused.
NOT_COPIED = ("structure.attributes", "structure.feature_flag")
#: The name that the suite's readers give to a class's base.
BASE = ":_0"


def read(path: Path) -> Any:
    """The values that farroot reads, as the suite's readers print them."""
    if path.stem.startswith("compression."):
        return {"Int64": int(sum(farroot.open(f"{path}:{NTUPLE}")["Int64"].array()))}
    try:
        ntuple = farroot.open(f"{path}:{NTUPLE}")
    except farroot.UnsupportedError as error:
        return {"error": str(error)}
    if path.stem == "structure.attributes":
        attributes = ntuple.attributes["Attributes"]
        values = attributes.arrays()["_userData", "attr"].to_list()
        ranges = [[start, stop - 1] for start, stop in attributes.ranges.tolist()]
        return [{"Value": value, "Range": of} for value, of in zip(values, ranges, strict=True)]
    read_of_it = ntuple.arrays().to_list()
    return list(map(_in_order, read_of_it)) if ".unordered_" in path.stem else read_of_it


def _in_order(value: Any) -> Any:
    """The same with the items of each collection in order; the suite's readers print them so."""
    if isinstance(value, dict):
        return {name: _in_order(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    return sorted(map(_in_order, value)) if isinstance(value, list) else value


def difference(ours: Any, theirs: Any, where: str = "") -> str | None:
    """The first difference between farroot's values and the output of the suite's reader."""
    if isinstance(theirs, dict) and isinstance(ours, list):
        ours = dict(ours) if len(dict(ours)) == len(theirs) else ours
    if isinstance(theirs, dict):
        theirs = {**theirs.get(BASE, {}), **{k: v for k, v in theirs.items() if k != BASE}}
        if not isinstance(ours, dict) or ours.keys() != theirs.keys():
            return f"{where}: {ours!r} instead of {theirs!r}"
        pairs = ((f"{where}.{name}", ours[name], value) for name, value in theirs.items())
        return next((d for at, one, other in pairs if (d := difference(one, other, at))), None)
    if isinstance(theirs, list) and isinstance(ours, (list, tuple)):
        if len(theirs) != len(ours) == 1 and isinstance(ours[0], list):
            (ours,) = ours  # A pointer to a list.
        if len(theirs) != len(ours):
            return f"{where}: {len(ours)} instead of {len(theirs)} items"
        items = enumerate(zip(ours, theirs, strict=True))
        return next((d for n, (a, b) in items if (d := difference(a, b, f"{where}[{n}]"))), None)
    return None if _same(ours, theirs) else f"{where}: {ours!r} instead of {theirs!r}"


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float):
        return ours.hex() == float.fromhex(theirs).hex()
    if isinstance(ours, list) and ours and isinstance(ours[0], bool):  # The last bit first.
        return "".join(str(int(bit)) for bit in reversed(ours)) == str(theirs)
    if isinstance(ours, list) and len(ours) < 2:  # A pointer to one thing or to nothing.
        return difference(ours[0] if ours else None, theirs) is None
    return bool(ours == theirs)


def compare(folder: Path) -> dict[str, str | None]:
    """The first difference of each test by its name."""
    found = {}
    for path in sorted((folder / "write").glob("*.root")):
        theirs = json.loads((folder / "read" / f"{path.stem}.json").read_text())
        ours = read(path)
        if isinstance(theirs, dict) and "error" in theirs:
            is_refused = isinstance(ours, dict) and "feature flag" in ours.get("error", "")
            found[path.stem] = None if is_refused else f"{ours!r} instead of {theirs!r}"
        else:
            found[path.stem] = difference(ours, theirs)
    return found


#: Runs readers of the suite: arguments are macro, input and output in turn.
READERS = """
import os, sys, ROOT
ROOT.gROOT.SetBatch(True)
ROOT.gSystem.AddDynamicPath(sys.argv[1])
ROOT.gInterpreter.AddIncludePath(sys.argv[1])
words = sys.argv[2:]
for macro, source, target in zip(words[::3], words[1::3], words[2::3]):
    if os.fork():
        os.wait()  # Macros define the same names again.
        continue
    try:
        ROOT.gSystem.ChangeDirectory(macro.rpartition("/")[0])
        ROOT.gROOT.ProcessLine(f'.x {macro}("{source}", "{target}")')
    finally:
        os._exit(0)
"""


def compare_copies(folder: Path) -> dict[str, str | None]:
    """Differences between copies and the suite's own files, as ROOT's readers find them."""
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as place:
        words, made = [], []
        for path in sorted((folder / "write").glob("*.root")):
            if path.stem in NOT_COPIED:
                continue
            for how, copy in (("merge", _merge), ("skim", _skim)):
                target = Path(place) / f"{how}.{path.name}"
                try:
                    copy(path, target)
                except farroot.Error as error:
                    found[f"{how} {path.stem}"] = f"{type(error).__name__}: {error}"
                    continue
                macro = folder / path.stem.replace(".", "/") / "read.C"
                read_of_it = target.with_suffix(".json")
                words += [str(macro.resolve()), str(target), str(read_of_it)]
                made.append(
                    (f"{how} {path.stem}", read_of_it, folder / "read" / f"{path.stem}.json")
                )
        libraries = str((folder / "dict").resolve())
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", READERS, libraries, *words], check=True
        )
        for name, ours, theirs in made:
            same = ours.exists() and json.loads(ours.read_text()) == json.loads(theirs.read_text())
            found[name] = (
                None if same else f"ROOT reads {ours.read_text() if ours.exists() else ''}"
            )
    return found


def _merge(path: Path, target: Path) -> None:
    farroot.merge([path], target)


def _skim(path: Path, target: Path) -> None:
    farroot.skim(f"{path}:{NTUPLE}", target, compression=farroot.ZSTD(1))


def main() -> int:
    """Prints the differences, and how many tests agree."""
    folder = Path(sys.argv[1])
    found = compare(folder)
    if "--copies" in sys.argv:
        found |= compare_copies(folder)
    for name, different in found.items():
        if different is not None:
            print(f"{name}: {different[:400]}")
    print(f"{list(found.values()).count(None)} of {len(found)} agree")
    return 0 if set(found.values()) == {None} else 1


if __name__ == "__main__":
    sys.exit(main())
