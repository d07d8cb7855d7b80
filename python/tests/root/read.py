"""Reads all of the files in a folder, which others have written, and prints their content as JSON.

ROOT's warnings stay on the standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ROOT

ROOT.gROOT.SetBatch(True)


def value(event: Any, branch: Any) -> Any:
    """A text, or all numbers of an entry, flat. PyROOT's form of bytes is left aside."""
    leaf = branch.GetListOfLeaves()[0]
    if leaf.ClassName() == "TLeafC":
        return str(leaf.GetValueString())
    if leaf.ClassName() == "TLeafElement":
        return plain(getattr(event, branch.GetName()))
    return [leaf.GetValue(number) for number in range(leaf.GetLen())]


def plain(what: Any) -> Any:
    """Lists, numbers and texts; None of an optional value that is missing."""
    kind = type(what).__name__
    if isinstance(what, (bool, int, float)):
        return what
    if isinstance(what, str):
        return ord(what)  # PyROOT's form of a number of one byte.
    if kind.startswith("optional<"):
        if not what.has_value():
            return None
        return str(what.value()) if kind == "optional<string>" else plain(what.value())
    return str(what) if kind == "string" else [plain(each) for each in what]


def tree(read: Any) -> dict[str, Any]:
    branches = list(read.GetListOfBranches())
    entries: dict[str, list[Any]] = {branch.GetName(): [] for branch in branches}
    for event in read:
        for branch in branches:
            entries[branch.GetName()].append(value(event, branch))
    titles = {branch.GetName(): branch.GetTitle() for branch in branches}
    return {"title": read.GetTitle(), "titles": titles, "entries": entries}


def ntuple(path: Path, name: str) -> dict[str, Any]:
    """The values of all fields but untyped records, which PyROOT has no type for."""
    reader = ROOT.RNTupleReader.Open(name, str(path))
    descriptor = reader.GetDescriptor()
    fields = {str(each.GetFieldName()): each for each in descriptor.GetTopLevelFields()}
    types = {name: str(each.GetTypeName()) for name, each in fields.items()}
    values: dict[str, list[Any]] = {name: [] for name, kind in types.items() if kind}
    entry = reader.CreateEntry()
    for number in range(reader.GetNEntries()):
        reader.LoadEntry(number, entry)
        for each, read in values.items():
            value = plain(entry[each])
            read.append(signed(value) if "std::int8_t" in types[each] else value)
    description = descriptor.GetDescription()
    return {"entries": reader.GetNEntries(), "description": description, "values": values}


def signed(bytes_: Any) -> Any:
    """Numbers of one byte with their sign, which PyROOT leaves out."""
    if isinstance(bytes_, list):
        return [signed(each) for each in bytes_]
    return bytes_ - 256 if isinstance(bytes_, int) and bytes_ > 127 else bytes_


def histogram(read: Any) -> dict[str, Any]:
    cells = [read.GetBinContent(cell) for cell in range(read.GetNcells())]
    errors = [read.GetBinError(cell) for cell in range(read.GetNcells())]
    axes = [read.GetXaxis(), read.GetYaxis(), read.GetZaxis()][: read.GetDimension()]
    labels = [[axis.GetBinLabel(bin_) for bin_ in range(1, axis.GetNbins() + 1)] for axis in axes]
    edges = [[axis.GetBinLowEdge(n) for n in range(1, axis.GetNbins() + 2)] for axis in axes]
    told = {"class": read.ClassName(), "title": read.GetTitle(), "cells": cells, "errors": errors}
    statistics = [read.GetEntries(), read.GetMean(), read.GetStdDev()]
    return {**told, "labels": labels, "edges": edges, "statistics": statistics}


def found(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = {}
    file = ROOT.TFile.Open(str(path))
    for key in file.GetListOfKeys():
        name = key.GetName()
        if key.GetClassName() == "ROOT::RNTuple":
            told[name] = ntuple(path, name)
            continue
        read = key.ReadObj()
        if read.InheritsFrom("TTree"):
            told[name] = tree(read)
        elif read.InheritsFrom("TH1"):
            told[name] = histogram(read)
        elif read.InheritsFrom("TGraph"):
            told[name] = {"x": list(read.GetX()), "y": list(read.GetY())}
        else:
            told[name] = str(read)
    file.Close()
    return told


if __name__ == "__main__":
    for file in sorted(Path(sys.argv[1]).glob("*.root")):
        file.with_suffix(".json").write_text(json.dumps(found(file)), encoding="utf-8")
