"""Makes histograms from seeds with ROOT, and prints as JSON how ROOT reads those of any file.

usage: histograms.py FOLDER FIRST SEEDS
       histograms.py FOLDER SEED-KIND...
       histograms.py FOLDER
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ROOT

#: Inputs of a merge: files that hold the same object, filled with other values.
INPUTS = 3
LETTERS = "CSILFD"
#: A seed makes one of so many kinds.
SHARE = 3
NAME = "it"
#: In C++, since ROOT's own AddBin in Python takes graphs only.
POLYGONS = """
void rectangle(TH2Poly &to, double x1, double y1, double x2, double y2) {
   to.AddBin(x1, y1, x2, y2);
}
void triangle(TH2Poly &to) {
   double x[] = {0, 0.5, 1}, y[] = {1, 2, 1};
   to.AddBin(3, x, y);
}
"""


class Shape:
    """How an object is made, the same for all inputs of a merge."""

    def __init__(self, seed: int, kind: str) -> None:
        self.chance = random.Random(f"{seed} {kind}")
        self.kind = kind

    def often(self, part: float) -> bool:
        return self.chance.random() < part


def axis(shape: Shape, styles: tuple[str, ...]) -> dict[str, Any]:
    """Bins along a direction."""
    chance = shape.chance
    bins, style = chance.randint(1, 6), chance.choice(styles)
    low = chance.choice((-2.0, 0.0, 1.5, -0.1))
    width = chance.choice((1.0, 0.1, 2.5, 1 / 3))
    made: dict[str, Any] = {"bins": bins, "style": style, "low": low, "high": low + bins * width}
    if style == "near":
        start, step = chance.choice(((0.0, 1e-12), (361_000.0, 1.0), (1.7e18, 1e6), (1e5, 1e-3)))
        made |= {"low": start, "high": start + bins * step}
        if shape.often(0.5):
            rough = [start + step * (at + chance.uniform(-1e-4, 1e-4)) for at in range(bins + 1)]
            made["edges"] = sorted(rough)
    elif style == "irregular":
        edges = [low]
        for _ in range(bins):
            edges.append(edges[-1] + chance.choice((0.1, 0.7, 1.0, 3.0)))
        made["edges"] = edges
    elif style == "labels":
        count = bins if shape.often(0.6) else chance.randint(1, bins)
        names = ["a", "b", "muon", "3", "12", "é", "x y", "-7"]
        made["labels"] = chance.sample(names, count)
    elif style == "automatic":
        made |= {"low": 0.0, "high": 0.0}
    # ROOT's merger loses bins without a label on an axis that grows.
    is_partial = "labels" in made and len(made["labels"]) < bins
    made["extend"] = style in ("regular", "labels", "automatic") and shape.often(0.25)
    made["extend"] = made["extend"] and not is_partial
    return made


def arguments(axes: list[dict[str, Any]]) -> list[Any]:
    """For a constructor; with edges all axes have them, since few constructors mix."""
    found: list[Any] = []
    has_edges = any("edges" in each for each in axes)
    for each in axes:
        if has_edges:
            bins, low, high = each["bins"], each["low"], each["high"]
            edges = each.get("edges") or [low + at * (high - low) / bins for at in range(bins + 1)]
            found += [bins, array("d", edges)]
        else:
            found += [each["bins"], each["low"], each["high"]]
    return found


def values(
    chance: random.Random, axes: list[dict[str, Any]], odd: bool, inside: bool = False
) -> list[float]:
    """Where something is filled in: within the axes, or beside them."""
    found = []
    for each in axes:
        low, high = each["low"], each["high"]
        if low >= high:
            low, high = each.setdefault("about", (chance.uniform(-50, 50), chance.uniform(60, 200)))
        if chance.random() < 0.15:
            width = (high - low) / each["bins"]
            edges = each.get("edges") or [low + at * width for at in range(each["bins"] + 1)]
            found.append(chance.choice(edges[:-1] if inside else edges))
        elif inside:
            found.append(chance.uniform(low, high))
        elif odd and chance.random() < 0.02:
            found.append(chance.choice((float("nan"), float("inf"), -float("inf"))))
        else:
            length = high - low
            found.append(chance.uniform(low - 0.2 * length, high + 0.2 * length))
    return found


def weights(style: str, chance: random.Random) -> float:
    match style:
        case "one":
            return 1.0
        case "whole":
            return float(chance.randint(1, 5))
        case "negative":
            return float(chance.randint(-4, 3))
        case "huge":
            return float(chance.choice((100, -90, 40_000, -40_000, 3e9, 2.0)))
        case _:
            return chance.uniform(-1, 3)


def decorate(shape: Shape, histogram: Any) -> None:
    """Titles, limits, colours, functions and options."""
    chance = shape.chance
    axes = [histogram.GetXaxis(), histogram.GetYaxis(), histogram.GetZaxis()]
    for each in axes:
        if shape.often(0.4):
            each.SetTitle(chance.choice(("p_{T} [GeV]", "Entries", "ü")))
        if shape.often(0.2):
            each.SetNdivisions(chance.randint(3, 900))
            each.SetTitleOffset(1.25)
            each.SetLabelSize(0.05)
        if shape.often(0.1):
            each.SetRange(1, each.GetNbins())
        if shape.often(0.1):
            each.SetTimeDisplay(1)
            each.SetTimeFormat("%d/%m")
    if shape.often(0.3):
        histogram.SetMinimum(chance.uniform(-5, 0))
    if shape.often(0.3):
        histogram.SetMaximum(chance.uniform(1, 9))
    if shape.often(0.3):
        histogram.SetLineColor(chance.randint(1, 9))
        histogram.SetLineWidth(chance.randint(2, 5))
        histogram.SetMarkerStyle(20)
        histogram.SetFillColor(5)
    if shape.often(0.15):
        histogram.SetOption("COLZ")
    if shape.often(0.15):
        histogram.SetNormFactor(12.5)
    if shape.often(0.15):
        function = ROOT.TF1("f", "[0]+[1]*x", 0, 1)
        function.SetParameters(1.5, -2.0)
        histogram.GetListOfFunctions().Add(function)
        ROOT.SetOwnership(function, False)
    if shape.often(0.1):
        histogram.SetContour(3)
    if shape.often(0.1):
        histogram.SetBinErrorOption(ROOT.TH1.kPoisson)


def options(shape: Shape) -> dict[str, Any]:
    chance = shape.chance
    return {
        "inside": chance.random() < 0.4,
        "sumw2": chance.choice(("no", "no", "before", "after", "some")),
        "weights": chance.choice(("one", "one", "whole", "negative", "real", "huge")),
        "buffer": chance.choice((0, 0, 0, 20, 200)),
        "overflows": chance.choice((2, 2, 2, 0, 1)),
        "way": chance.choice(("fill", "fill", "fill", "fill", "set", "add", "scale")),
        "fills": chance.choice((0, 3, 12, 12, 40)),
        "odd": chance.random() < 0.2,
        "average": chance.random() < 0.05,
        "notweighted": chance.random() < 0.05,
        "powers": chance.random() < 0.1,
    }


def _limited(axes: list[dict[str, Any]]) -> None:
    """Gives all axes limits where one has edges."""
    if len(axes) > 1 and any("edges" in each for each in axes):
        for each in axes:
            if each["style"] == "automatic":
                each |= {"style": "regular", "high": 4.0}


def other_limits(axes: list[dict[str, Any]], how: str, which: int) -> list[dict[str, Any]]:
    """The axes of one of the inputs: with other limits, of bins that fit into those of the rest."""
    made = []
    for each in axes:
        low, high, bins = each["low"], each["high"], each["bins"]
        width = (high - low) / bins
        match (how, which):
            case ("longer", 1):
                high, bins = high + 2 * width, bins + 2
            case ("longer", 2):
                low, bins = low - width, bins + 1
            case ("coarser", 1):
                high += bins * width
            case ("mixed", 1):
                low, high = low - 2 * bins * width, high + bins * width
            case ("mixed", 2):
                bins *= 2
            case ("apart", 1):
                low, high = low + 7 * width, high + 7 * width
            case ("askew", 1):
                low, high = low + 0.3 * width, high + 0.3 * width
        made.append({**each, "low": low, "high": high, "bins": bins})
    return made


def of_inputs(
    shape: Shape, number: int, axes: list[dict[str, Any]]
) -> Iterator[list[dict[str, Any]]]:
    """The axes of each input: mostly the same."""
    how = shape.chance.choice(("longer", "coarser", "mixed", "apart", "askew"))
    is_other = shape.often(0.2) and all(each["style"] == "regular" for each in axes)
    for which in range(number):
        yield other_limits(axes, how, which) if is_other else axes


def histogram(shape: Shape, number: int, dimensions: int) -> Iterator[Any]:
    letter = shape.chance.choice(LETTERS)
    styles = ("regular", "regular", "irregular", "near", "labels", "automatic")
    axes = [axis(shape, styles) for _ in range(dimensions)]
    _limited(axes)
    chosen = options(shape)
    if letter in "IL" and chosen["weights"] == "huge":
        # ROOT leaves out a fill that would make a bin the largest number exactly.
        chosen["weights"] = "whole"
    decoration = shape.chance.random()
    for which, own in enumerate(of_inputs(shape, number, axes)):
        made = getattr(ROOT, f"TH{dimensions}{letter}")(NAME, "a title", *arguments(own))
        yield prepare(made, shape, own, chosen, decoration, which)


def profile(shape: Shape, number: int, dimensions: int) -> Iterator[Any]:
    styles = ("regular", "regular", "irregular", "near", "labels", "automatic")
    # ROOT looks for limits of the third axis of a profile nowhere.
    axes = [axis(shape, styles[: 6 if dimensions < 3 else 5]) for _ in range(dimensions)]
    _limited(axes)
    if dimensions == 2 and any("edges" in each for each in axes):
        for each in axes:
            each.setdefault("edges", [each["low"], (each["low"] + each["high"]) / 2, each["high"]])
            each["bins"] = len(each["edges"]) - 1
            each.pop("labels", None)
    if dimensions == 3 and any("edges" in each for each in axes):
        for each in axes:
            each.pop("labels", None)
    classname = "TProfile" if dimensions == 1 else f"TProfile{dimensions}D"
    chosen = options(shape) | {"option": shape.chance.choice(("", "s", "i", "g"))}
    limits = shape.chance.choice(((), (), (-2.0, 8.0)))
    decoration = shape.chance.random()
    has_edges = any("edges" in each for each in axes)
    has_limits = dimensions == 1 or (dimensions == 2 and not has_edges)
    given: tuple[float, ...] = limits if has_limits else ()
    for which, own in enumerate(of_inputs(shape, number, axes)):
        made = getattr(ROOT, classname)(NAME, "a title", *arguments(own), *given, chosen["option"])
        yield prepare(made, shape, own, chosen, decoration, which)


def prepare(
    made: Any,
    shape: Shape,
    axes: list[dict[str, Any]],
    chosen: dict[str, Any],
    decoration: float,
    which: int,
) -> Any:
    made.SetDirectory(ROOT.nullptr)
    chance = random.Random(f"{decoration} {which}")
    own = Shape(0, "")
    own.chance = random.Random(decoration)
    decorate(own, made)
    own.chance = random.Random(f"{decoration} fills")
    for each, at in zip((made.GetXaxis(), made.GetYaxis(), made.GetZaxis()), axes, strict=False):
        for bin_, label in enumerate(at.get("labels", ()), 1):
            each.SetBinLabel(bin_, label)
        # ROOT doubles the limits of axes with edges, and leaves the edges.
        each.SetCanExtend(at["extend"] and not any("edges" in one for one in axes))
    if chosen["powers"] and any(each["style"] == "automatic" for each in axes):
        made.SetBit(ROOT.TH1.kAutoBinPTwo)
    if chosen["sumw2"] == "before" or (chosen["sumw2"] == "some" and which == 1):
        made.Sumw2()
    made.SetStatOverflows(chosen["overflows"])
    if chosen["notweighted"]:
        made.SetBit(ROOT.TH1.kIsNotW)
    if chosen["buffer"] and not any("labels" in each for each in axes):
        made.SetBuffer(chosen["buffer"])
    fill(made, axes, chosen, chance, averages(made), which)
    if chosen["sumw2"] == "after":
        made.Sumw2()
    if chosen["average"]:
        made.SetBit(ROOT.TH1.kIsAverage)
    return made


def fill(
    made: Any,
    axes: list[dict[str, Any]],
    chosen: dict[str, Any],
    chance: random.Random,
    is_profile: bool,
    which: int,
) -> None:
    count = chosen["fills"] if which != 1 or chance.random() < 0.7 else 0
    if chosen["way"] in ("set", "add") and not is_profile:
        for cell in range(made.GetNcells()):
            if chance.random() < 0.6:
                content = abs(weights(chosen["weights"], chance))
                if chosen["way"] == "set":
                    made.SetBinContent(cell, content)
                else:
                    made.AddBinContent(cell, content)
                if chance.random() < 0.2:
                    made.SetBinError(cell, 0.5)
        # Without entries ROOT takes no errors from contents.
        made.SetEntries(7)
        return
    for _ in range(count):
        at: list[Any] = values(chance, axes, chosen["odd"], chosen["inside"])
        weight = weights(chosen["weights"], chance)
        names = [each.get("labels", ()) for each in axes]
        by_name = [chance.choice(each) if each else None for each in names]
        if any(by_name) and (len(axes) < 3 or all(by_name)) and chance.random() < 0.8:
            at = [name if name else value for name, value in zip(by_name, at, strict=True)]
        if is_profile:
            at.append(chance.choice((0.0, 0.0, chance.uniform(-3, 9), 2.0, 7.0)))
        call(made, at, weight)
    if chosen["way"] == "scale" and not made.GetXaxis().GetXmin() >= made.GetXaxis().GetXmax():
        made.Scale(chance.choice((0.5, -2.0, 3.0)))


def call(made: Any, at: list[Any], weight: float) -> None:
    try:
        made.Fill(*at, weight)
    except TypeError:
        # Not every class takes names and numbers in every order.
        numbers = [value if isinstance(value, float) else 0.5 for value in at]
        made.Fill(*numbers, weight)


def many(shape: Shape, number: int, sparse: bool) -> Iterator[Any]:
    chance = shape.chance
    name = ("THnSparse" if sparse else "THn") + chance.choice("CSILFD")
    dimensions = chance.randint(1, 4)
    axes = [axis(shape, ("regular", "irregular", "labels")) for _ in range(dimensions)]
    sumw2 = chance.choice(("no", "yes", "some"))
    style = chance.choice(("one", "whole", "negative", "real"))
    fills = chance.choice((0, 5, 30))
    for which in range(number):
        own = random.Random(f"{shape.chance.random() if which < 0 else fills} {which} {name}")
        low = array("d", [each["low"] for each in axes])
        high = array("d", [each["high"] for each in axes])
        bins = array("i", [each["bins"] for each in axes])
        made = getattr(ROOT, name)(NAME, "a title", dimensions, bins, low, high)
        for at, each in enumerate(axes):
            if "edges" in each:
                made.GetAxis(at).Set(each["bins"], array("d", each["edges"]))
            for bin_, label in enumerate(each.get("labels", ()), 1):
                made.GetAxis(at).SetBinLabel(bin_, label)
            made.GetAxis(at).SetTitle(f"axis {at}")
        if sumw2 == "yes" or (sumw2 == "some" and which == 1):
            made.Sumw2()
        for _ in range(fills if which != 1 or own.random() < 0.7 else 0):
            made.Fill(array("d", values(own, axes, odd=False)), weights(style, own))
        yield made


def polygons(shape: Shape, number: int) -> Iterator[Any]:
    chance = shape.chance
    style, sumw2 = chance.choice(("one", "whole", "negative", "real")), chance.random() < 0.4
    is_profile = chance.random() < 0.3
    bins = [(at, chance.uniform(0.2, 1.0)) for at in range(chance.randint(1, 4))]
    overflows = chance.choice((2, 2, 0, 1))
    fills = chance.choice((0, 6, 30))
    decoration = chance.random()
    for which in range(number):
        own = random.Random(f"{fills} {which} {style} {bins}")
        kind = ROOT.TProfile2Poly if is_profile else ROOT.TH2Poly
        made = kind(NAME, "a title", 0.0, 4.0, 0.0, 2.0)
        made.SetDirectory(ROOT.nullptr)
        for low, size in bins:
            ROOT.rectangle(made, low, 0, low + size, size)
        if bins[0][1] > 0.6:
            ROOT.triangle(made)
        if sumw2 and not is_profile:
            made.Sumw2()
        made.SetStatOverflows(overflows)
        drawn = Shape(0, "")
        drawn.chance = random.Random(decoration)
        decorate(drawn, made)
        if is_profile and style in ("negative", "real"):
            style = "whole"
        for _ in range(fills if which != 1 or own.random() < 0.7 else 0):
            at = [own.uniform(-1, 5), own.uniform(-1, 3)]
            if is_profile:
                at.append(own.uniform(-2, 5))
            made.Fill(*at, weights(style, own))
        yield made


def graph(shape: Shape, number: int) -> Iterator[Any]:
    chance = shape.chance
    kind = chance.choice(("TGraph", "TGraphErrors", "TGraphAsymmErrors", "TGraphBentErrors"))
    points, decorated = chance.choice((0, 1, 5)), chance.random() < 0.5
    for which in range(number):
        own = random.Random(f"{points} {which} {kind} {decorated}")
        made = getattr(ROOT, kind)()
        made.SetName(NAME)
        made.SetTitle("a title;x;y")
        for at in range(points):
            made.SetPoint(at, own.uniform(-1, 1), own.uniform(-1, 1))
            sizes = {"TGraph": 0, "TGraphErrors": 2, "TGraphAsymmErrors": 4}.get(kind, 8)
            if sizes:
                made.SetPointError(at, *(own.random() for _ in range(sizes)))
        if decorated:
            made.SetMinimum(-3.0)
            made.SetMaximum(4.0)
            made.SetLineColor(4)
            made.SetMarkerStyle(21)
            function = ROOT.TF1("f", "[0]*x", 0, 1)
            made.GetListOfFunctions().Add(function)
            ROOT.SetOwnership(function, False)
        yield made


def efficiency(shape: Shape, number: int) -> Iterator[Any]:
    chance = shape.chance
    dimensions = chance.randint(1, 3)
    axes = [axis(shape, ("regular", "irregular")) for _ in range(dimensions)]
    option, weighted = chance.randint(0, 3), chance.random() < 0.3
    fills = chance.choice((0, 10, 50))
    for which in range(number):
        own = random.Random(f"{fills} {which} {option} {axes}")
        made = ROOT.TEfficiency(NAME, "a title", *arguments(axes))
        made.SetDirectory(ROOT.nullptr)
        if not weighted:
            made.SetStatisticOption(option)
        for _ in range(fills):
            at = values(own, axes, odd=False)
            if weighted:
                made.FillWeighted(own.random() < 0.5, own.uniform(0.1, 2), *at)
            else:
                made.Fill(own.random() < 0.5, *at)
        yield made


MAKERS = {
    "h1": lambda shape, number: histogram(shape, number, 1),
    "h1b": lambda shape, number: histogram(shape, number, 1),
    "h2": lambda shape, number: histogram(shape, number, 2),
    "h3": lambda shape, number: histogram(shape, number, 3),
    "p1": lambda shape, number: profile(shape, number, 1),
    "p2": lambda shape, number: profile(shape, number, 2),
    "p3": lambda shape, number: profile(shape, number, 3),
    "dense": lambda shape, number: many(shape, number, sparse=False),
    "sparse": lambda shape, number: many(shape, number, sparse=True),
    "poly": polygons,
    "graph": graph,
    "efficiency": efficiency,
}


def plain(numbers: Any, count: int) -> list[float]:
    return [float(numbers[at]) for at in range(count)]


def tell_axis(axis: Any) -> dict[str, Any]:
    bins = axis.GetNbins()
    labels = axis.GetLabels()
    return {
        "title": str(axis.GetTitle()),
        "bins": bins,
        "limits": [axis.GetXmin(), axis.GetXmax()],
        "edges": plain(axis.GetXbins(), axis.GetXbins().GetSize()),
        "lows": [axis.GetBinLowEdge(at) for at in range(1, bins + 2)],
        "labels": {str(int(each.GetUniqueID())): str(each.GetName()) for each in labels or ()},
        "extend": bool(axis.CanExtend()),
        "drawn": [
            axis.GetNdivisions(),
            axis.GetTitleOffset(),
            axis.GetLabelSize(),
            axis.GetFirst(),
            axis.GetLast(),
            bool(axis.GetTimeDisplay()),
            str(axis.GetTimeFormat()),
        ],
    }


def tell_drawn(what: Any) -> list[Any]:
    return [what.GetLineColor(), what.GetLineWidth(), what.GetMarkerStyle(), what.GetFillColor()]


def tell_histogram(it: Any) -> dict[str, Any]:
    it.BufferEmpty()
    dimensions = it.GetDimension()
    poly = it.InheritsFrom("TH2Poly")
    cells = list(range(it.GetNcells()))
    if poly:
        cells = [*range(-9, 0), *range(1, it.GetNumberOfBins() + 1)]
    sums = array("d", [0.0] * 13)
    it.GetStats(sums)
    axes = [it.GetXaxis(), it.GetYaxis(), it.GetZaxis()]
    told = {
        "cells": [it.GetBinContent(cell) for cell in cells],
        "errors": [it.GetBinError(cell) for cell in cells],
        "axes": [tell_axis(each) for each in axes],
        "entries": it.GetEntries(),
        "effective": it.GetEffectiveEntries(),
        "sums": list(sums),
        "means": [it.GetMean(at) for at in range(1, dimensions + 1)],
        "deviations": [it.GetStdDev(at) for at in range(1, dimensions + 1)],
        "integral": it.Integral(),
        "limits": [it.GetMinimumStored(), it.GetMaximumStored()],
        "weighted": it.GetSumw2N() > 0,
        "drawn": tell_drawn(it),
        "option": str(it.GetOption()),
        "norm": it.GetNormFactor(),
        "functions": [f"{each.ClassName()} {each.GetName()}" for each in it.GetListOfFunctions()],
        "average": bool(it.TestBit(ROOT.TH1.kIsAverage)),
        "overflows": int(it.GetStatOverflows()),
        "errors option": int(it.GetBinErrorOption()),
        "contours": it.GetContour(),
    }
    if not poly and averages(it):
        told["bin entries"] = [it.GetBinEntries(cell) for cell in cells]
        told["bin effective"] = [it.GetBinEffectiveEntries(cell) for cell in cells]
        told["option of errors"] = str(it.GetErrorOption())
    return told


def tell_many(it: Any) -> dict[str, Any]:
    dimensions = it.GetNdimensions()
    bins = {}
    at = array("i", [0] * dimensions)
    for cell in range(it.GetNbins()):
        content = it.GetBinContent(cell, at)
        # The number 0 would be taken for a null pointer, of coordinates.
        square = it.GetBinError2(cell)
        error = math.sqrt(square) if square >= 0 else math.nan
        if content != 0 or error != 0:
            bins[",".join(map(str, at))] = [content, error]
    return {
        "bins": bins,
        "axes": [tell_axis(it.GetAxis(number)) for number in range(dimensions)],
        "entries": it.GetEntries(),
        "sums": [
            it.GetSumw(),
            it.GetSumw2(),
            *(it.GetSumwx(at) for at in range(dimensions)),
            *(it.GetSumwx2(at) for at in range(dimensions)),
        ],
        "weighted": bool(it.GetCalculateErrors()),
        "chunk": it.GetChunkSize() if it.InheritsFrom("THnSparse") else 0,
    }


def tell_graph(it: Any) -> dict[str, Any]:
    count = it.GetN()
    names = ["X", "Y", "EX", "EY", "EXlow", "EXhigh", "EYlow", "EYhigh", "EXlowd", "EYhighd"]
    arrays = {name: getattr(it, f"Get{name}")() for name in names}
    return {
        "points": {name: plain(all_, count) for name, all_ in arrays.items() if all_ and count},
        "limits": [it.GetMinimum(), it.GetMaximum()],
        "drawn": tell_drawn(it),
        "functions": [f"{each.ClassName()} {each.GetName()}" for each in it.GetListOfFunctions()],
    }


def tell(it: Any) -> dict[str, Any]:
    told = {"class": it.ClassName(), "name": str(it.GetName()), "title": str(it.GetTitle())}
    if it.InheritsFrom("THnBase"):
        return told | tell_many(it)
    if it.InheritsFrom("TGraph"):
        return told | tell_graph(it)
    if it.InheritsFrom("TEfficiency"):
        both = it.GetPassedHistogram(), it.GetTotalHistogram()
        count = both[1].GetNcells()
        # ROOT changes the option of weighted ones when it computes errors, and forgets the function
        # of the option when it reads the object.
        option = int(it.GetStatisticOption())
        if not it.UsesWeights():
            it.SetStatisticOption(option)
        return told | {
            "option": option,
            "passed": tell_histogram(both[0]),
            "total": tell_histogram(both[1]),
            "efficiency": [it.GetEfficiency(at) for at in range(count)],
            "low": [it.GetEfficiencyErrorLow(at) for at in range(count)],
            "high": [it.GetEfficiencyErrorUp(at) for at in range(count)],
            "weight": it.GetWeight(),
        }
    return told | tell_histogram(it)


def cases_of(first: int, seeds: int) -> list[str]:
    """The seeds and kinds of so many seeds."""
    return [
        f"{seed}-{kind}"
        for seed in range(first, first + seeds)
        for place, kind in enumerate(MAKERS)
        if (seed + place) % SHARE == 0
    ]


def make(folder: Path, cases: list[str]) -> None:
    told: dict[str, Any] = {}
    for case in cases:
        seed, kind = case.split("-")
        emptied, is_loose = [], False
        for number, it in enumerate(MAKERS[kind](Shape(int(seed), kind), INPUTS)):
            path = folder / f"{case}-{number}.root"
            write(path, it)
            emptied.append(path.with_suffix(".emptied"))
            write(emptied[-1], it)
            is_loose |= it.InheritsFrom("TH1") and not has_limits(it)
            told[path.stem] = tell(it)
            if it.InheritsFrom("TH1"):
                # ROOT's own merger counts entries that wait in buffers twice.
                it.BufferEmpty(1)
                write(emptied[-1], it)
        for count in range(1, INPUTS + 1):
            output = folder / f"{case}-hadd{count}.root"
            merger = ROOT.TFileMerger(False)
            merger.SetPrintLevel(0)
            merger.OutputFile(str(output), "RECREATE")
            for path in emptied[:count]:
                merger.AddFile(str(path), False)
            merger.Merge()
            told[output.stem] = of_file(output)
            merged = told[output.stem]
            if merged and "contours" in merged and not merged["class"].endswith("Poly"):
                entries = [told[f"{case}-{number}"]["entries"] for number in range(count)]
                # Without all entries the merger gave up.
                if is_loose or not math.isclose(merged["entries"], sum(entries)):
                    merged["loose"] = True
            told[f"{case}-added{count}"] = of_addition(emptied[:count], output)
            output.unlink(missing_ok=True)
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


def of_addition(paths: list[Path], merged: Path) -> dict[str, Any] | None:
    """The facts of the sum of histograms without ROOT's merger; None where there is none."""
    files = [ROOT.TFile.Open(str(path)) for path in (*paths, merged)]
    *all_, total = [file.Get(NAME) for file in files]
    first = all_[0]
    if not total or not first.InheritsFrom("TH1") or first.InheritsFrom("TH2Poly"):
        return None
    axes = [bins_of(it) for it in all_]
    is_profile = averages(first)
    if is_profile and any(each.GetBinSumw2().GetSize() for each in all_):
        for sum_ in (first, total):
            if not sum_.GetBinSumw2().GetSize():
                sum_.Sumw2()
    if all(each == axes[0] for each in axes):
        return tell(first) if all(first.Add(other) for other in all_[1:]) else None
    if not is_profile or not all(map(has_limits, all_)):
        return None
    total.Reset()
    sums = array("d", [0.0] * 13)
    for it in all_:
        add_cells(total, it)
        own = array("d", [0.0] * 13)
        it.GetStats(own)
        sums = array("d", map(sum, zip(sums, own, strict=True)))
    total.PutStats(sums)
    total.SetEntries(sum(it.GetEntries() for it in all_))
    return tell(total)


def add_cells(total: Any, profile: Any) -> None:
    """Adds each cell of a profile to that of the sum in which its middle is."""
    axes = [profile.GetXaxis(), profile.GetYaxis(), profile.GetZaxis()][: profile.GetDimension()]
    for cell in range(profile.GetNcells()):
        rest, middle = cell, []
        for axis in axes:
            rest, bin_ = divmod(rest, axis.GetNbins() + 2)
            middle.append(axis.GetBinCenter(bin_))
        at = total.FindFixBin(*middle)
        entries, squares = profile.GetBinEntries(cell), total.GetBinSumw2()
        own = profile.GetBinSumw2()
        square = own.At(cell) if own.GetSize() else entries
        sum_of_squares = square + squares.At(at) if squares.GetSize() else 0.0
        total.SetAt(total.At(at) + profile.At(cell), at)
        total.GetSumw2().SetAt(total.GetSumw2().At(at) + profile.GetSumw2().At(cell), at)
        total.SetBinEntries(at, total.GetBinEntries(at) + entries)
        if squares.GetSize():
            squares.SetAt(sum_of_squares, at)


def bins_of(it: Any) -> list[Any]:
    axes = [tell_axis(axis) for axis in (it.GetXaxis(), it.GetYaxis(), it.GetZaxis())]
    return [[axis[name] for name in ("limits", "edges", "labels", "bins")] for axis in axes]


def averages(it: Any) -> bool:
    return any(it.InheritsFrom(f"TProfile{of}") for of in ("", "2D", "3D"))


def has_limits(it: Any) -> bool:
    axes = (it.GetXaxis(), it.GetYaxis(), it.GetZaxis())
    return all(each.GetXmin() < each.GetXmax() for each in axes)


def write(path: Path, it: Any) -> None:
    with ROOT.TFile(str(path), "RECREATE") as file:
        file.WriteObject(it, NAME)


def of_file(path: Path) -> dict[str, Any] | None:
    """The facts of the object in a file, as ROOT reads it."""
    file = ROOT.TFile.Open(str(path))
    it = file.Get(NAME) if file else None
    if not it:
        return None
    return tell(it)


def main(folder: Path, *chosen: str) -> None:
    ROOT.TH1.AddDirectory(False)
    if chosen:
        ROOT.gInterpreter.Declare(POLYGONS)
        ROOT.gErrorIgnoreLevel = ROOT.kFatal
        make(folder, list(chosen) if "-" in chosen[0] else cases_of(*map(int, chosen)))
    else:
        # ROOT's messages about weighted efficiencies are no complaints.
        ROOT.gErrorIgnoreLevel = ROOT.kWarning
        with (folder / "told.jsonl").open("a", encoding="utf-8") as lines:
            for path in sorted(folder.glob("*.root")):
                # Line by line: the first file without one is that with which ROOT crashed.
                print(json.dumps([path.stem, of_file(path)]), file=lines, flush=True)
    sys.stdout.flush()
    os._exit(0)


main(Path(sys.argv[1]), *sys.argv[2:])
