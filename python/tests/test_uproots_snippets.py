"""Programs as they are written for uproot, with the import changed and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

#: The purpose of each, and which of its names is compared. All are ways to call that many programs
#: have.
SNIPPETS = {
    "histograms by their class": """
with uproot.open(hists) as file:
    found = {}
    for key, classname in file.classnames(recursive=True).items():
        obj = file[key]
        if isinstance(obj, uproot.behaviors.TH1.Histogram):
            values, edges = obj.to_numpy(flow=False)[:2]
            found[key] = (values.tolist(), edges.tolist(), obj.errors().tolist(), obj.axis().width)
result = found
""",
    "columns by their interpretation": """
tree = uproot.open(path + ":events")
flat = [
    name for name, branch in tree.items()
    if isinstance(branch.interpretation, uproot.interpretation.numerical.AsDtype)
    and not branch.interpretation.inner_shape
]
lists = [b.name for b in tree.branches if isinstance(b.interpretation, uproot.AsJagged)]
table = tree.arrays(flat, library="pd")
result = (flat, lists, table["int32"].sum(), str(tree["jagged"].interpretation))
""",
    "step by step over many files": """
total, seen = 0, []
for batch, report in uproot.iterate(
    [str(one) + ":events" for one in several], ["int32", "float64"],
    step_size=200, library="np", report=True, num_workers=4,
):
    total += int(batch["int32"].astype("i8").sum())
    seen.append((report.tree_entry_start, report.tree_entry_stop, report.global_entry_start))
result = (total, seen)
""",
    "a cut with aliases": """
events = uproot.open({path: "events"})
arrays = events.arrays(
    ["twice", "int8"], cut="(int8 > 0) & (float32 < 1)", aliases={"twice": "float32 * 2"},
    entry_start=10, entry_stop=700, library="np", how=tuple,
)
result = [array.tolist() for array in arrays]
""",
    "bytes as other numbers, in chunks of baskets": """
with uproot.open(path)["events"] as tree:
    offsets = tree.common_entry_offsets(filter_name=["int8", "int32"])
    parts = [
        tree.arrays({"int8": ">u1", "int32": None}, entry_start=a, entry_stop=b, library="np")
        for a, b in zip(offsets[:-1], offsets[1:])
    ]
result = (offsets, [part["int8"].tolist() for part in parts])
""",
    "a part of the entries": """
tree = uproot.open(path)["events"]
fraction = 0.25
some = tree.arrays(["int32"], entry_stop=tree.num_entries * fraction, library="np")
one = tree["float64"].array(entry_start=tree.num_entries / 2, library="np")
result = (some["int32"].tolist(), len(one))
""",
    "names by regular expressions and types": """
tree = uproot.open(path + ":events")
result = (
    tree.keys(filter_name="/INT(8|16)/i"),
    tree.keys(filter_typename=["float", "double"]),
    tree.keys(filter_name=lambda name: name.startswith("ui")),
    sorted(tree.arrays(filter_name="/float[0-9]+/", how=dict)),
    [len(array) for array in tree.arrays(["jagged", "other"], how=tuple)],
)
""",
    "executors": """
with uproot.open(
    path, decompression_executor=uproot.ThreadPoolExecutor(2), num_workers=2
) as file:
    array = file["events/int32"].array(
        library="np", interpretation_executor=uproot.TrivialExecutor()
    )
result = array.tolist()
""",
    "a file that is written and never closed": """
import numpy as np

def write():
    output = uproot.recreate(out)
    output["spectrum"] = np.histogram(np.arange(10.0), bins=5)
    spectrum = output["spectrum"].to_hist()
    output.mktree("tree", {"x": np.float64, "n": "var * int32"})
    for number in range(3):
        output["tree"].extend({"x": [number, number + 0.5], "n": [[number], []]})
    return spectrum.values().tolist(), output["tree"].num_entries

written = write()
with uproot.open(out) as file:
    result = (
        written,
        file["spectrum"].to_numpy()[0].tolist(),
        file["tree"].arrays(["x", "n"]).tolist(),
    )
""",
    "a cell that is run twice": """
kept = []
for value in (1.0, 2.0):
    file = uproot.recreate(out)
    file.mktree("tree", {"x": [value]})
    kept.append(file)
for file in kept:
    file.close()
result = uproot.open(out)["tree/x"].array().tolist()
""",
    "what is written": """
with uproot.recreate(out) as file:
    file["tree"] = {"x": [1, 2, 3]}
with uproot.open(out) as file:
    result = file["tree"]["x"].array().tolist()
""",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("snippet", list(SNIPPETS))
def test_programs_for_uproot_run(
    snippet: str, made: Path, nested: Path, several: list[Path], tmp_path: Path
) -> None:
    results: dict[str, Any] = {}
    for package in ("uproot", "farroot"):
        names = {"path": str(made), "hists": str(nested), "several": several}
        names["out"] = str(tmp_path / "out.root")
        program = f"import {package} as uproot\n{SNIPPETS[snippet]}"
        exec(program, names)
        results[package] = names["result"]
    assert results.get("farroot") == results["uproot"]
