"""Compares every column that `examples/dump_arrays.rs` decodes with what uproot reads, bit by bit.

usage: compare_arrays.py DUMP_ARRAYS FILE...

Prints one line per file and one per difference; ends with 1 where there is any.
"""

import argparse
import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import awkward as ak
import numpy as np
import uproot


class Columns:
    """The output of `dump_arrays`, piece by piece."""

    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        while line := self.stream.readline():
            said = json.loads(line)
            column = self.array(said["form"]) if "form" in said else None
            yield said, column

    def take(self, dtype, count):
        size = np.dtype(dtype).itemsize * count
        return np.frombuffer(self.stream.read(size), dtype)

    def array(self, form):
        if "numbers" in form:
            numbers = self.take(form["numbers"], form["count"])
            return ak.contents.NumpyArray(numbers.reshape(-1, *form["shape"])).to_RegularArray()
        if "record" in form:
            names = [name for name, _ in form["record"]]
            fields = [self.array(field) for _, field in form["record"]]
            return ak.contents.RecordArray(fields, names, length=form["count"])
        offsets = ak.index.Index64(self.take(np.int64, form["count"]))
        if "list" in form:
            return ak.contents.ListOffsetArray(offsets, self.array(form["list"]))
        chars = self.take(np.uint8, form["strings"])
        content = ak.contents.NumpyArray(chars, parameters={"__array__": "char"})
        return ak.contents.ListOffsetArray(offsets, content, parameters={"__array__": "string"})


def difference(ours, theirs):
    """What is different between two layouts, or None."""
    plain_list = isinstance(theirs, ak.contents.ListOffsetArray)
    if theirs.is_indexed or (theirs.is_list and not plain_list):
        theirs = theirs.to_packed()
    if ours.is_list and theirs.is_list and not ours.is_regular:
        theirs = theirs.to_ListOffsetArray64(True)
        if not np.array_equal(ours.offsets.data, theirs.offsets.data):
            return "lengths differ"
        if ours.parameter("__array__") != theirs.parameter("__array__"):
            return "only one is text"
        content = theirs.content[: theirs.offsets[-1]]
        return difference(ours.content[: ours.offsets[-1]], content)
    if ours.is_regular and theirs.is_regular:
        return difference(ours.content, theirs.content)
    if ours.is_record and theirs.is_record:
        if ours.fields != theirs.fields:
            return f"fields {ours.fields} and {theirs.fields}"
        for name in ours.fields:
            if what := difference(ours.content(name), theirs.content(name)):
                return f"{name}: {what}"
        return None if ours.length == theirs.length else "numbers of records differ"
    if ours.is_numpy and theirs.is_numpy:
        a, b = np.asarray(ours.data), np.asarray(theirs.data)
        if a.dtype != b.dtype:
            return f"{a.dtype} and {b.dtype}"
        if a.shape != b.shape:
            return f"shapes {a.shape} and {b.shape}"
        same = a.tobytes() == b.tobytes()
        return None if same else f"values differ from {np.flatnonzero(a != b)[:3]} on"
    return f"{type(ours).__name__} and {type(theirs).__name__}"


def uproots(branch):
    """What uproot reads, or None where it refuses."""
    try:
        return ak.to_layout(branch.array(library="ak"))
    except Exception:  # it has no common base for what it refuses
        return None


def verdict(said, ours, branch):
    grouped = isinstance(branch.interpretation, uproot.interpretation.grouped.AsGrouped)
    if said["group"] or grouped:
        return "group" if said["group"] == grouped else "DIFFERS: only one is a group"
    if ours is None:
        if not said["error"].split(": ", 1)[1].startswith("unsupported"):
            theirs = uproots(branch)
            return "refused by both" if theirs is None else f"DIFFERS: {said['error']}"
        return "unsupported" if uproots(branch) is not None else "refused by both"
    theirs = uproots(branch)
    if theirs is None:
        return "ours only"
    if said["typename"] != branch.typename:
        return f"DIFFERS: called {said['typename']}, not {branch.typename}"
    what = difference(ours, theirs.to_packed())
    return f"DIFFERS: {what}" if what else "equal"


def compare(program, path):
    counts = Counter()
    lacking = Counter()
    trees = {}
    file = uproot.open(path)
    with subprocess.Popen([program, path], stdout=subprocess.PIPE) as process:
        for said, ours in Columns(process.stdout):
            tree = said["tree"]
            if "branch" not in said:
                print(f"  {tree}: {said['error']}")
                counts["DIFFERS"] += 1
                continue
            if tree not in trees:
                trees[tree] = list(file[tree].itervalues(recursive=True))
            branch = trees[tree][said["branch"]]
            outcome = verdict(said, ours, branch)
            kind = outcome.split(":")[0]
            counts[kind] += 1
            if kind == "DIFFERS":
                print(f"  {tree} {said['name']} ({branch.typename}): {outcome}")
            elif kind == "unsupported":
                reason = said["error"].split("unsupported: ", 1)[1]
                lacking[branch.typename, reason] += 1
    if process.returncode:
        print(f"  dump_arrays ended with {process.returncode}")
        counts["DIFFERS"] += 1
    print(f"{Path(path).name}: {dict(counts)}")
    return counts, lacking


def main():
    warnings.filterwarnings("ignore")
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("files", nargs="+")
    said = arguments.parse_args()
    total, lacking = Counter(), Counter()
    for path in said.files:
        counts, reasons = compare(said.program, path)
        total += counts
        lacking += reasons
    print("all:", dict(total))
    for (typename, reason), count in lacking.most_common():
        print(f"  unsupported: {count} x {typename}: {reason}")
    sys.exit(1 if total["DIFFERS"] else 0)


if __name__ == "__main__":
    main()
