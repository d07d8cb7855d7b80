"""Histograms that ROOT fills from seeds, as farroot reads, copies, adds, converts and writes them.

``python -m tests.seeded_histograms FIRST SEEDS`` does so for any seeds, and prints the
differences; ``python -m tests.seeded_histograms SEED-KIND...`` for single ones, such as ``351-p3``.
"""

from __future__ import annotations

import json
import math
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import farroot

from .root import PACKAGE, written_by

NAME = "it"
INPUTS = 3
#: Where ROOT itself adds in another order.
CLOSE = 1e-11
_SUMS = ("", "2", "x", "x2", "y", "y2", "xy", "z", "z2", "xz", "yz")
#: Sums that a class of so many axes has, and the letter of the values that a profile averages.
_COUNTS = {1: (4, "y"), 2: (7, "z"), 3: (11, "t")}
_CAN_EXTEND = 2
#: Bounds of efficiencies come from other implementations of the beta distribution.
_COMPUTED = {"low": 1e-9, "high": 1e-9}
_HAS_RANGE = 1 << 11
#: Facts of the bins of a profile.
_OF_BINS = ("cells", "errors", "bin entries", "bin effective", "integral")
#: Others that come from all of a histogram's fills.
_OF_FILLS = ("axes", "entries", "effective", "sums", "means", "deviations")


def same(ours: Any, theirs: Any, close: float = 0.0) -> bool:
    """Whether both are equal; numbers but for rounding."""
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k], close) for k in ours)
    if isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(same(a, b, close) for a, b in pairs)
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        if math.isnan(theirs):
            return math.isnan(ours)
        return bool(
            ours == theirs or abs(ours - theirs) <= close * max(abs(ours), abs(theirs), 1e-3)
        )
    return bool(ours == theirs)


def differences(
    where: str, ours: dict[str, Any], theirs: dict[str, Any], close: float = 0.0
) -> Iterator[str]:
    """Tells in which of the things that both tell they differ."""
    for name in theirs:
        if name not in ours:
            continue
        mine, root = ours[name], theirs[name]
        if isinstance(mine, dict) and isinstance(root, dict):
            yield from differences(f"{where}: {name}", mine, root, close)
        elif name == "axes":
            # ROOT tells of three axes, whatever the dimensions.
            for at, (a, b) in enumerate(zip(mine, root, strict=False)):
                yield from differences(f"{where}: axis {at}", a, b, close)
        elif not same(mine, root, max(close, _COMPUTED.get(name, 0.0))):
            yield f"{where}: {name}: {_short(mine, root)}"


def _short(ours: Any, root: Any) -> str:
    if isinstance(ours, list) and isinstance(root, list) and len(ours) == len(root):
        pairs = list(enumerate(zip(ours, root, strict=True)))
        other = [(at, a, b) for at, (a, b) in pairs if not same(a, b)]
        if len(ours) > 4:
            return f"{len(other)} of {len(ours)}: " + ", ".join(map(str, other[:3]))
    return f"{str(ours)[:150]} instead of {str(root)[:150]}"


def _flat(array: Any) -> list[float]:
    """Numbers in ROOT's order, in which the first axis runs fastest."""
    flat: list[float] = np.asarray(array, dtype=np.float64).T.reshape(-1).tolist()
    return flat


def tell(it: Any) -> dict[str, Any]:
    """farroot's facts of an object, in the words of ROOT's script."""
    told: dict[str, Any] = {"class": it.classname, "title": it["fTitle"]}
    told["name"] = it["fName"]
    if it.inherits("TGraph"):
        return told | _tell_graph(it)
    if it.inherits("TEfficiency"):
        return told | {
            "passed": _tell_histogram(it.passed),
            "total": _tell_histogram(it.total),
            "efficiency": _flat(it.values(flow=True)),
            "low": _flat(it.errors(flow=True, which="low")),
            "high": _flat(it.errors(flow=True, which="high")),
            "option": it["fStatisticOption"],
            "weight": it["fWeight"],
        }
    return told | (_tell_many(it) if it.inherits("THnBase") else _tell_histogram(it))


def _tell_axis(axis: Any) -> dict[str, Any]:
    found = axis._members["fLabels"]
    items = [] if found is None else found._members["items"]
    edges = axis.edges().tolist()
    return {
        "title": axis["fTitle"],
        "bins": len(axis),
        "limits": [axis.low, axis.high],
        "edges": np.asarray(axis["fXbins"]).tolist(),
        "labels": {str(label["fUniqueID"]): label["fString"] for label in items},
        "extend": bool(axis["fBits2"] & _CAN_EXTEND),
        "borders": edges,
    }


def _tell_drawn(it: Any) -> dict[str, Any]:
    names = ("fLineColor", "fLineWidth", "fMarkerStyle", "fFillColor")
    return {
        "drawn": [it[name] for name in names],
        "limits": [it["fMinimum"], it["fMaximum"]],
        "functions": [f"{each.classname} {each['fName']}" for each in it["fFunctions"]],
    }


def _tell_graph(it: Any) -> dict[str, Any]:
    points = {}
    for name in ("X", "Y", "EX", "EY", "EXlow", "EXhigh", "EYlow", "EYhigh", "EXlowd", "EYhighd"):
        found = it.get(f"f{name}")
        if found is not None and len(found):
            points[name] = np.asarray(found).tolist()
    return {"points": points, **_tell_drawn(it)}


def _tell_histogram(it: Any) -> dict[str, Any]:
    poly = it.inherits("TH2Poly")

    flat = _flat
    dimensions = len(it.axes)
    count, letter = _COUNTS[dimensions]
    names = _SUMS[:count]
    profile = it.kind == "MEAN"
    if profile and not poly:
        names = (*names, letter, f"{letter}2")
    told = {
        "axes": [_tell_axis(axis) for axis in it.axes],
        "cells": flat(it.values(flow=True)),
        "errors": flat(it.errors(flow=True)),
        "entries": it["fEntries"],
        "option": it["fOption"],
        "norm": it["fNormFactor"],
        "overflows": it["fStatOverflows"],
        "average": bool(it["fBits"] & (1 << 18)),
        "errors option": it["fBinStatErrOpt"],
        **_tell_drawn(it),
    }
    if poly:
        # ROOT numbers the regions around the bins from -1 to -9.
        outside = 9
        told["cells"] = told["cells"][:outside][::-1] + told["cells"][outside:]
        told["errors"] = told["errors"][:outside][::-1] + told["errors"][outside:]
        return told
    is_set = it["fTsumw"] == 0 and it["fEntries"] != 0
    if not is_set and not any(axis["fBits"] & _HAS_RANGE for axis in it.axes):
        sums = [it[f"fTsumw{name}"] for name in names]
        told["sums"] = sums + [0.0] * (13 - len(sums))
    if profile:
        told["bin entries"] = flat(it._shaped(it["fBinEntries"]))
        told["bin effective"] = flat(it.counts(flow=True))
        modes = ("", "s", "i", "g")
        told["option of errors"] = modes[it["fErrorMode"]]
    else:
        told["weighted"] = it.weighted
    return told


def _tell_many(it: Any) -> dict[str, Any]:
    cells = it.values(flow=True)
    errors = it.errors(flow=True)
    at = np.argwhere((cells != 0) | ~(errors == 0))
    bins = {
        ",".join(map(str, place)): [float(cells[tuple(place)]), float(errors[tuple(place)])]
        for place in at.tolist()
    }
    return {
        "axes": [_tell_axis(axis) for axis in it.axes],
        "bins": bins,
        "entries": it["fEntries"],
        "weighted": it.weighted,
    }


def _without_nan(told: dict[str, Any]) -> dict[str, Any]:
    """There is no error of an empty bin of polygons, which is 0 in other profiles; and none where
    rounding leaves a spread below zero."""
    if told["class"] != "TProfile2Poly":
        return told
    return {**told, "errors": [0.0 if math.isnan(each) else each for each in told["errors"]]}


def _read(path: Path) -> Any:
    with farroot.open(path) as file:
        it = file[NAME]
        tell(it)
        return it


# Each way makes a file from those of the inputs, and says whose numbers it must have.


def _copied(inputs: list[Path], output: Path) -> None:
    with farroot.open(inputs[0]) as source, farroot.recreate(output) as file:
        file.copy_from(source)


def _assigned(inputs: list[Path], output: Path) -> None:
    with farroot.open(inputs[0]) as source, farroot.recreate(output) as file:
        file[NAME] = source[NAME]


def _updated(inputs: list[Path], output: Path) -> None:
    shutil.copy(inputs[0], output)
    with farroot.update(output) as file:
        file["other"] = "text"


def _skimmed(inputs: list[Path], output: Path) -> None:
    beside = output.with_suffix(".beside")
    with farroot.open(inputs[0]) as source, farroot.recreate(beside) as file:
        file.copy_from(source)
        file.mktree("t", {"x": np.arange(3)})
    farroot.skim(f"{beside}:t", output, keep_rest=True)


def _merged(count: int) -> Callable[[list[Path], Path], None]:
    def merge(inputs: list[Path], output: Path) -> None:
        farroot.merge(inputs[:count], output)

    return merge


def _pickled(inputs: list[Path], output: Path) -> None:
    with farroot.open(inputs[0]) as source:
        it = pickle.loads(pickle.dumps(source[NAME]))
    with farroot.recreate(output) as file:
        file[NAME] = it


def _converted(inputs: list[Path], output: Path) -> None:
    """To hist and back, which loses the members for which hist has no place."""
    with farroot.open(inputs[0]) as source:
        if source[NAME].inherits("TGraph"):
            raise farroot.UnsupportedError("graphs are no histograms of hist")
        it = source[NAME].to_hist()
    with farroot.recreate(output) as file:
        file[NAME] = it


WAYS: dict[str, tuple[Callable[[list[Path], Path], None], str]] = {
    "copied": (_copied, "0"),
    "assigned": (_assigned, "0"),
    "updated": (_updated, "0"),
    "skimmed": (_skimmed, "0"),
    "pickled": (_pickled, "0"),
    "converted": (_converted, "0"),
    "merged1": (_merged(1), "0"),
    "merged2": (_merged(2), "hadd2"),
    "merged3": (_merged(3), "hadd3"),
}
#: The facts that hist keeps.
_CONVERTED = ("cells", "errors", "axes", "bins", "bin entries", "bin effective")


def _kept(way: str, told: dict[str, Any]) -> dict[str, Any]:
    """The facts that a way keeps."""
    if way == "pickled":
        # A warning says that functions are not there.
        return {name: value for name, value in told.items() if name != "functions"}
    if way != "converted":
        return told
    kept = {name: told[name] for name in _CONVERTED if name in told and name != "axes"}
    if told.get("option of errors"):
        del kept["errors"]
    elif "errors" in kept:
        # Rounding errors of a spread of zero.
        kept["errors"] = [0.0 if each < 1e-6 else each for each in kept["errors"]]
    # Of many dimensions ROOT tells by coordinates, of up to three all cells.
    kept.pop("bins", None)
    if "axes" in told:
        kept["axes"] = [_kept_axis(axis) for axis in told["axes"]]
    return kept


def _kept_axis(axis: dict[str, Any]) -> dict[str, Any]:
    """The axis as hist keeps it: one of names has no limits."""
    labels = axis["labels"]
    if len(labels) == axis["bins"]:
        return {"bins": axis["bins"], "labels": labels}
    return {name: axis[name] for name in ("bins", "limits", "edges")}


def run(folder: Path, *chosen: object) -> tuple[list[str], Counter[str]]:
    """The differences, and how often the outcomes came: of seeds, by the first one and their
    number, or of single seeds and kinds."""
    inputs, outputs = folder / "inputs", folder / "outputs"
    inputs.mkdir()
    outputs.mkdir()
    written_by("histograms", inputs, *chosen)
    told: dict[str, Any] = json.loads((inputs / "told.json").read_text(encoding="utf-8"))
    faults: list[str] = []
    counts: Counter[str] = Counter()
    cases = sorted({path.stem.rpartition("-")[0] for path in inputs.glob("*.root")})
    for case in cases:
        paths = _inputs(inputs, case)
        faults += _read_as(paths[0], told[paths[0].stem], f"{case} read", counts)
        for way, (make, _) in WAYS.items():
            output = outputs / f"{case}-{way}.root"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    make(paths, output)
            except farroot.UnsupportedError as why:
                counts[f"{way}: refused"] += 1
                counts[f"{way}: refused: {str(why).split(': ', 1)[-1][-90:]}"] += 1
                output.unlink(missing_ok=True)
            except Exception as why:
                faults.append(f"{case} {way}: {type(why).__name__}: {why}")
                output.unlink(missing_ok=True)
    found, complaints = _told_by_root(outputs)
    faults += complaints
    for case in cases:
        for way, (_, expected) in WAYS.items():
            if (stem := f"{case}-{way}") in found:
                wanted = told[f"{case}-{expected}"]
                if wanted and expected.startswith("hadd"):
                    wanted = _without_faults(told, case, expected)
                faults += _compared(outputs / f"{stem}.root", found[stem], wanted, way, counts)
    return faults, counts


def _without_faults(told: dict[str, Any], case: str, which: str) -> dict[str, Any]:
    """ROOT's facts of a merged object, but for those that its merger gets wrong: there the sum is
    one that was made without it."""
    merged: dict[str, Any] = told[f"{case}-{which}"]
    first = told[f"{case}-0"]
    if "bins" in merged:
        weighted = {told[f"{case}-{number}"]["weighted"] for number in range(INPUTS)}
        # ROOT takes the -1 that marks absent errors for a sum.
        left_out = ("sums", "weighted") if len(weighted) > 1 else ()
        return {name: value for name, value in merged.items() if name not in left_out}
    added = told.get(f"{case}-{which.replace('hadd', 'added')}")
    if added and first["axes"][2]["labels"] and first["axes"][2]["extend"]:
        # The merger looks for the names of z among those of y.
        merged = merged | {name: added[name] for name in (*_OF_BINS, *_OF_FILLS) if name in added}
    elif added and "bin entries" in merged:
        # Where axes have names or other limits the merger leaves out bins of a mean of zero, whose
        # values are zero or whose weights cancel; and it loses squares of weights that the first
        # profile does not keep, and takes sums of values for those that a later one does not.
        merged = merged | {name: added[name] for name in (*_OF_BINS, *_OF_FILLS)}
    of_inputs = [told[f"{case}-{number}"] for number in range(int(which[-1]))]
    if added and any(_is_negative(each) for each in of_inputs) and merged["weighted"]:
        # The merger takes contents below zero of later inputs for squares of errors.
        merged = merged | {"errors": _errors_of_sum(of_inputs)}
    # The merger forgets these where it gives the first histogram other axes.
    return merged | {name: first[name] for name in ("functions", "contours") if "contours" in first}


def _is_negative(told: dict[str, Any]) -> bool:
    """Whether a histogram of unit weights has contents below zero."""
    is_plain = "bin entries" not in told and not told.get("weighted", True)
    return is_plain and min(told["cells"]) < 0


def _errors_of_sum(told: list[dict[str, Any]]) -> list[float]:
    """Errors of the sum of histograms of the same bins."""
    return [math.hypot(*each) for each in zip(*(one["errors"] for one in told), strict=True)]


def _inputs(folder: Path, case: str) -> list[Path]:
    return [folder / f"{case}-{number}.root" for number in range(INPUTS)]


def _told_by_root(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """ROOT's facts of each file of a folder, and its messages."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.root.histograms", str(folder)]
    done = subprocess.run(command, capture_output=True, cwd=PACKAGE, text=True, check=False)
    lines = (folder / "told.jsonl").read_text(encoding="utf-8").splitlines()
    found = dict(json.loads(line) for line in lines)
    paths = sorted(folder.glob("*.root"))
    lacking = [path.name for path in paths if path.stem not in found]
    complaints = [f"ROOT says {line}" for line in done.stderr.splitlines()[:20]]
    if lacking or done.returncode:
        complaints.append(f"ROOT ends with {done.returncode}, at {lacking[:1]}")
    return found, complaints


def _read_as(path: Path, wanted: dict[str, Any], where: str, counts: Counter[str]) -> Iterator[str]:
    try:
        yield from differences(where, _without_nan(tell(_read(path))), _with_borders(wanted), 1e-14)
    except farroot.UnsupportedError as why:
        counts["read: refused"] += 1
        counts[f"read: refused: {str(why)[-90:]}"] += 1
    else:
        counts["read"] += 1


def _with_borders(told: dict[str, Any]) -> dict[str, Any]:
    """ROOT's words, with the borders of bins under farroot's name."""
    told = _without_nan(told)
    # ROOT computes where the bin above begins from the width of bins, not from the limit.
    axes = [
        {**axis, "borders": [*axis["lows"][:-1], axis["limits"][1]]}
        for axis in told.get("axes", ())
    ]
    return {**told, **({"axes": axes} if axes else {})}


def _compared(path: Path, found: Any, wanted: Any, way: str, counts: Counter[str]) -> Iterator[str]:
    where = f"{path.stem.rpartition('-')[0]} {way}"
    if found is None:
        yield f"{where}: ROOT reads nothing"
        return
    if way in ("merged2", "merged3") and (wanted is None or "loose" in wanted):
        # ROOT's merger takes limits from another number of fills, or gave up.
        counts[f"{way}: not compared"] += 1
        yield from _read_as(path, found, f"{where} (farroot)", counts)
        return
    counts[way] += 1
    close = CLOSE if way.startswith("merged") else 1e-12 if way == "converted" else 0.0
    if way.startswith("merged") and "errors" in wanted:
        # ROOT's merger leaves some errors without a number.
        ours = found["errors"] + [math.nan] * (len(wanted["errors"]) - len(found["errors"]))
        pairs = zip(wanted["errors"], ours, strict=False)
        errors = [root if math.isfinite(root) else our for root, our in pairs]
        wanted = {**wanted, "errors": errors}
    yield from differences(f"{where} (ROOT)", _kept(way, found), _kept(way, wanted), close)
    yield from _read_as(path, found, f"{where} (farroot)", counts)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        faults, counts = run(Path(folder), *sys.argv[1:])
    print("\n".join(faults))
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
