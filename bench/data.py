"""Makes the files that the benchmarks read, once each, into bench/out/data.

    python bench/data.py [NAME...]

Beside NAME.root lies NAME.json: the content (branches, baskets, bytes), and the recipe. A file is
made again only if its recipe has changed. Needs ROOT, whose files are the ones out there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
DATA = BENCH / "out" / "data"

# file: recipe, tree (none of objects alone), arguments of its make_ function after the path
FILES = {
    "nano": ("nano", "Events", (200_000, 25_000)),
    "nano33": ("nano", "Events", (90_000, 25_000)),
    "h42": ("h42", "h42", (283_813,)),
    "onegb": ("nano", "Events", (2_800_000, 100_000)),
    "eventloop": ("eventloop", "Events", (1_000, 20)),
    "flat100": ("flat100", "Events", (500_000, 50_000)),
    "near": ("flat100", "Events", (260_000, 26_000)),
    "flat100-zlib": ("recompressed", "Events", (101, 50_000)),
    "flat100-lz4": ("recompressed", "Events", (404, 50_000)),
    "flat100-lzma": ("recompressed", "Events", (207, 50_000)),
    "flat100-none": ("recompressed", "Events", (0, 50_000)),
    "nested": ("nested", "Events", (500_000, 50_000)),
    "ntuple100": ("ntuple100", "Events", (500_000, 50_000)),
    "write100": ("write100", "Events", (100_000, 25_000)),
    "wide": ("wide", "Events", (2_000, 200)),
    "objects": ("objects", None, (200, 10_000_000)),
    "histograms": ("histograms", None, (100, 100)),
    "directories": ("histograms", None, (1_000, 20)),
    "small": ("nano", "Events", (1_000, 500)),
    "nano947": ("nano947", "Events", (2_000, 200, 0)),
    "nano947-ntuple": ("nano947", "Events", (2_000, 200, 1)),
}


def path_of(name: str) -> Path:
    """The file, made if need be. Making happens in a process of its own: ROOT does not tidy up."""
    target = DATA / f"{name}.root"
    if not is_current(name):
        import subprocess

        subprocess.run([sys.executable, __file__, name], check=True, stdout=sys.stderr)
    return target


def copies_of(name: str, count: int) -> Path:
    """A folder of hard links to a file, NAME/0000.root and so on: as many files for a server."""
    folder = DATA / name
    original = path_of(name)
    folder.mkdir(exist_ok=True)
    for number in range(count):
        copy = folder / f"{number:04}.root"
        if not copy.exists() or not copy.samefile(original):
            copy.unlink(missing_ok=True)
            copy.hardlink_to(original)
    return folder


def facts_of(name: str) -> dict:
    return json.loads((DATA / f"{name}.json").read_text())


def recipe_id(name: str) -> str:
    recipe, _, arguments = FILES[name]
    text = (BENCH / "recipes" / f"{recipe}.C").read_text() + repr(arguments)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_current(name: str) -> bool:
    try:
        made_by = facts_of(name)["recipe_id"]
    except (OSError, ValueError, KeyError):
        return False
    return made_by == recipe_id(name) and (DATA / f"{name}.root").exists()


def make(name: str) -> None:
    import ROOT

    recipe, _, arguments = FILES[name]
    DATA.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    ROOT.gSystem.SetBuildDir(str(DATA / "build"), True)
    source = str(BENCH / "recipes" / f"{recipe}.C")
    # Compiled, not interpreted: classes get their dictionaries, and making takes less time.
    if not ROOT.gSystem.CompileMacro(source, "kO"):
        sys.exit(f"bench/recipes/{recipe}.C: ROOT does not take it")
    unfinished = DATA / f"{name}.unfinished.root"
    getattr(ROOT, f"make_{recipe}")(str(unfinished), *arguments)
    os.replace(unfinished, DATA / f"{name}.root")
    facts = describe(name)
    (DATA / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    totals = {
        key: facts[key] for key in ("file_bytes", "entries", "clusters", "branches", "baskets")
    }
    print(f"{name}.root in {time.monotonic() - begun:.0f} s: {totals}")


def describe(name: str) -> dict:
    """The branches of the file by uproot: of each its baskets and its bytes on disk."""
    import uproot

    _, tree_name, _ = FILES[name]
    path = DATA / f"{name}.root"
    with uproot.open(path) as file:
        if tree_name is None:
            return about(name, 0, 0, classes_of(file))
        tree = file[tree_name]
        if isinstance(tree, uproot.behaviors.RNTuple.RNTuple):
            columns = {field.name: {"type": field.typename} for field in tree.fields}
            return about(name, tree.num_entries, len(tree.cluster_summaries), columns)
        columns = {
            branch.name: {
                "type": branch.typename,
                "baskets": branch.num_baskets,
                "bytes": int(branch.compressed_bytes),
                "bytes_raw": int(branch.uncompressed_bytes),
            }
            for branch in tree.branches
        }
        clusters = len(set(tree.common_entry_offsets())) - 1
        return about(name, tree.num_entries, max(clusters, 1), columns)


def classes_of(file: Any) -> dict:
    """How many objects of each class there are, and their bytes on disk."""
    found: dict[str, dict] = {}
    for path, classname in file.iterclassnames():
        key = file.key(path)
        one = found.setdefault(classname, {"objects": 0, "bytes": 0, "bytes_raw": 0})
        one["objects"] += 1
        one["bytes"] += int(key.data_compressed_bytes)
        one["bytes_raw"] += int(key.data_uncompressed_bytes)
    return found


def about(name: str, entries: int, clusters: int, columns: dict) -> dict:
    _, tree_name, arguments = FILES[name]
    return {
        "recipe_id": recipe_id(name),
        "arguments": arguments,
        "file_bytes": (DATA / f"{name}.root").stat().st_size,
        "tree": tree_name,
        "entries": entries,
        "clusters": clusters,
        "branches": len(columns),
        "baskets": sum(column.get("baskets", 0) for column in columns.values()),
        "columns": columns,
    }


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FILES:
        if wanted not in FILES:
            sys.exit(f"no file {wanted!r}: there are {', '.join(FILES)}")
        if is_current(wanted):
            print(f"{wanted}.root is there")
        else:
            make(wanted)
