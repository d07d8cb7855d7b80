"""ROOT: a loop of TTree::GetEntry in C++ over some columns, with one of five settings of its cache.

`none`: no cache. `64kB`, `10MB`: those of 2006. `default`: ROOT's own, which learns. `trained`: it
gets its columns beforehand, and is large enough for the whole read, as ROOT's manual advises.
"""

from __future__ import annotations

import argparse
from typing import Any

import clock
import ROOT
import root_warm

SIZES = {"64kB": 64_000, "10MB": 10_000_000}
OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--cache", {"choices": ["none", *SIZES, "default", "trained"], "default": "default"}),
    ("--trained-bytes", {"type": int, "default": 100_000_000}),
)

ROOT.gInterpreter.Declare("""
long long read_entries(TTree* tree, long long stop) {
  long long bytes = 0;
  for (long long entry = 0; entry < stop; entry++) bytes += tree->GetEntry(entry);
  return bytes;
}
""")


def read(args: argparse.Namespace, url: str):
    """Reads the columns of the file at `url`: the file, its tree, entries, and bytes in memory."""
    file = ROOT.TFile.Open(url)
    tree = file.Get(args.tree)
    clock.opened()
    entries = tree.GetEntries()
    if args.entry_stop is not None:
        entries = min(entries, args.entry_stop)
    if args.columns:
        tree.SetBranchStatus("*", False)
        for column in args.columns:
            tree.SetBranchStatus(column, True)
    set_cache(args, tree, entries)
    return file, tree, entries, ROOT.read_entries(tree, entries)


def set_cache(args: argparse.Namespace, tree, entries) -> None:
    if args.cache == "none":
        tree.SetCacheSize(0)
    elif args.cache != "default":
        tree.SetCacheSize(SIZES.get(args.cache, args.trained_bytes))
        tree.SetCacheEntryRange(0, entries)
        for column in args.columns or ["*"]:
            if column == "*" or tree.GetBranch(column):
                tree.AddBranchToCache(column, True)
        tree.StopCacheLearningPhase()


def warm_up(args: argparse.Namespace) -> None:
    """Loads and compiles the code that the first read would."""

    def read_one(tree) -> None:
        set_cache(args, tree, 1)
        ROOT.read_entries(tree, 1)

    root_warm.warm_up(read_one)


def answer(args: argparse.Namespace, result) -> dict[str, Any]:
    """Entries, and bytes of numbers where they can be compared with those of others."""
    file, tree, entries, bytes_read = result
    requests = {"requests": file.GetReadCalls()}
    asked = set(args.columns) or {branch.GetName() for branch in tree.GetListOfBranches()}
    if any(tree.GetBranch(name).ClassName() == "TBranchElement" for name in asked):
        # GetEntry counts the headers of objects too.
        return {"entries": entries, **requests}
    counters = set()
    for name in asked:
        counter = tree.GetBranch(name).GetListOfLeaves()[0].GetLeafCount()
        if counter and counter.GetName() not in asked:
            counters.add(counter.GetName())
    # GetEntry counts the counters of jagged columns too, which the job does not name.
    payload_bytes = bytes_read - 4 * entries * len(counters)
    return {"entries": entries, "payload_bytes": payload_bytes, **requests}
