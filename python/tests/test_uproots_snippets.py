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
