"""Writes efficiencies and profiles of every option, and the values and errors that ROOT gives."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import ROOT

OPTIONS = ("kFCP", "kFNormal", "kFWilson", "kFAC", "kFFC", "kMidP", "kBJeffrey", "kBUniform")
PASSED_OF_ALL = ((0, 0), (0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (1, 120), (60, 120), (119, 120))


def filled(one: ROOT.TEfficiency, weighted: bool) -> None:
    for number, (passed, total) in enumerate(PASSED_OF_ALL):
        for entry in range(total):
            where = number % 3, number // 3
            if weighted:
                one.FillWeighted(entry < passed, 1 + entry % 3, *where)
            else:
                one.Fill(entry < passed, *where)


def efficiencies(file: ROOT.TFile) -> dict[str, list[list[float]]]:
    """By name, for each bin the efficiency and its lower and upper error."""
    told = {}
    levels, bools = (0.683, 0.95), (False, True)
    every: list[tuple[str, float, bool, bool, bool]]
    every = [(option, level, False, False, False) for option in OPTIONS for level in levels]
    every += [("kBBayesian", 0.9, a, b, c) for a, b, c in itertools.product(bools, repeat=3)]
    every += [(option, 0.683, False, False, True) for option in ("kFNormal", "kBUniform")]
    for number, (option, level, mode, shortest, weighted) in enumerate(every):
        one = ROOT.TEfficiency(f"efficiency{number}", "", 3, -0.5, 2.5, 3, -0.5, 2.5)
        if weighted:
            one.SetUseWeightedEvents()
        one.SetStatisticOption(getattr(ROOT.TEfficiency, option))
        one.SetConfidenceLevel(level)
        filled(one, weighted)
        if option == "kBBayesian":
            one.SetBetaAlpha(2.5)
            one.SetBetaBeta(1.5)
            if shortest and not weighted:
                for bin_number in range(25):
                    one.SetBetaBinParameters(bin_number, 1 + bin_number % 4, 0.5 + bin_number % 3)
        one.SetPosteriorMode(mode)
        one.SetShortestInterval(shortest)
        name = f"{option}_{level}_{mode}_{shortest}_{weighted}"
        file.WriteObject(one, name)
        told[name] = [
            [one.GetEfficiency(n), one.GetEfficiencyErrorLow(n), one.GetEfficiencyErrorUp(n)]
            for n in range(25)
        ]
    return told


def profiles(file: ROOT.TFile) -> dict[str, list[list[float]]]:
    """By name, for each bin the content and its error."""
    told = {}
    for option, weighted in itertools.product(("", "s", "i", "g"), (False, True)):
        one = ROOT.TProfile(f"profile{option}{weighted}", "", 5, 0, 5, option)
        for number in range(40):
            value = 3 if number % 6 == 1 else (number * 7 % 11) ** 2
            one.Fill(number % 6 - 0.5, value, 1 + number % 3 if weighted else 1)
        name = f"profile_{option}_{weighted}"
        file.WriteObject(one, name)
        told[name] = [[one.GetBinContent(n), one.GetBinError(n)] for n in range(7)]
    return told


def main(folder: Path) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    file = ROOT.TFile(str(folder / "errors.root"), "RECREATE")
    told = {"efficiencies": efficiencies(file), "profiles": profiles(file)}
    file.Close()
    (folder / "errors.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
