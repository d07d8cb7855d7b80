"""Skims of RNTuples with new columns: pages are copied, and only the new columns are encoded."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .test_merge_ntuples import checked

#: New columns of each shape.
DEFINED: dict[str, Any] = {
    "sum": "x + n",
    "is_high": "sum > 3.0",
    "scaled": lambda jets, n: jets * n,
    "nested": lambda jets: jets[:, None],
    "text": lambda n: [f"<{each}>" for each in n],
    "pair": lambda x, n: ak.zip({"a": x, "b": n}),
    "pairs": lambda jets: ak.zip({"pt": jets, "half": jets / 2}),
    "none": lambda jets: jets[:, :0],
}
#: Cuts, and how many clusters of a file are copied, give some entries and are left out.
CUTS: dict[str | None, tuple[int, int, int]] = {
    None: (5, 0, 0),
    "n >= 2": (3, 0, 2),
    "(n == 1) | (n == 3) & (x < 0.3) | (n == 4) & (sum < 4.5)": (1, 2, 2),
    "x < 0.1": (0, 5, 0),
    "n < 0": (0, 0, 5),
}
CLUSTERS, ENTRIES = 5, 700


def made(path: Path, entries: int = ENTRIES, seed: int = 1) -> Path:
    """Writes clusters of which some, all or none of the entries pass the cuts."""
    numbers = np.random.default_rng(seed)
    parts = [path.with_suffix(f".{cluster}.root") for cluster in range(CLUSTERS)]
    for cluster, part in enumerate(parts):
        counts = numbers.integers(0, 4, entries)
        jets = ak.unflatten(numbers.random(counts.sum(), dtype="f4"), counts)
        words = ["w" * int(count) for count in counts]
        n, x = np.full(entries, cluster, "i4"), numbers.random(entries)
        with farroot.recreate(part) as file:
            file.mkrntuple("t", {"n": n, "x": x, "jets": jets, "word": words})
    farroot.merge(parts, path)
    return path


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sources")
    return [made(folder / f"{at}.root", ENTRIES + 100 * at, at) for at in range(3)]


def expected(paths: list[Path], cut: str | None) -> dict[str, list[Any]]:
    all_of: dict[str, list[Any]] = {}
    for path in paths:
        table = uproot.open(path)["t"]
        arrays = {name: table[name].array() for name in ("n", "x", "jets", "word")}
        arrays["sum"] = arrays["x"] + arrays["n"]
        arrays["is_high"] = arrays["sum"] > 3.0
        for name in ("scaled", "nested", "text", "pair", "pairs", "none"):
            function = DEFINED[name]
            read = function.__code__.co_varnames[: function.__code__.co_argcount]
            arrays[name] = function(*(arrays[each] for each in read))
        mask = slice(None) if cut is None else eval(cut, dict(arrays))
        for name, array in arrays.items():
            all_of.setdefault(name, []).extend(ak.to_list(ak.Array(array)[mask]))
    return all_of


def pages(path: Path, names: set[str]) -> list[dict[str, list[bytes]]]:
    """By cluster and field at the top, the stored bytes of all pages, with their checksums."""
    table, content = uproot.open(path)["t"], path.read_bytes()
    fields, tops = table.header.field_records, []
    for column in table.header.column_records:
        at = column.field_id
        while fields[at].parent_field_id != at:
            at = fields[at].parent_field_id
        tops.append(fields[at].field_name)
    found = []
    for cluster in table.page_link_list:
        of: dict[str, list[bytes]] = {name: [] for name in names & set(tops)}
        for top, column in zip(tops, cluster, strict=True):
            places = [page.locator for page in column.pages] if top in names else []
            stored = [content[one.offset : one.offset + one.num_bytes + 8] for one in places]
            of.setdefault(top, []).extend(stored)
        found.append({name: of[name] for name in of if name in names})
    return found


@pytest.mark.parametrize("cut", CUTS)
def test_values_and_clusters(sources: list[Path], tmp_path: Path, cut: str | None) -> None:
    output = tmp_path / "out.root"
    found = farroot.skim([f"{path}:t" for path in sources], output, cut=cut, define=DEFINED)
    assert found.clusters == tuple(3 * count for count in CUTS[cut])
    values = expected(sources, cut)
    checked(output)
    assert found.entries == len(values["n"])
    for reader in (farroot, uproot):
        table = reader.open(output)["t"]
        assert table.num_entries == found.entries
        for name, column in values.items():
            assert ak.to_list(table[name].array()) == column, (reader.__name__, name)


def test_values_are_those_of_the_decoded_way(sources: list[Path], tmp_path: Path) -> None:
    """Parquet files and trees have all columns encoded anew."""
    inputs, cut = [f"{path}:t" for path in sources], "(n == 1) | (x < 0.5)"
    same, tree = tmp_path / "same.root", tmp_path / "tree.root"
    define = {name: DEFINED[name] for name in ("sum", "scaled", "text")}
    farroot.skim(inputs, same, cut=cut, define=define)
    farroot.skim(inputs, tree, cut=cut, define=define, format="tree")
    tables = [farroot.open(output)["t"] for output in (same, tree)]
    for name in ("n", "x", "jets", "word", *define):
        one, other = (ak.to_list(table[name].array()) for table in tables)
        assert one == other, name


def test_copied_pages_are_the_inputs_bytes(sources: list[Path], tmp_path: Path) -> None:
    output, kept = tmp_path / "out.root", {"n", "x", "jets", "word"}
    inputs = [f"{path}:t" for path in sources]
    farroot.skim(inputs, output, define=DEFINED)
    before = [cluster for path in sources for cluster in pages(path, kept)]
    assert len(before) == 3 * CLUSTERS
    assert pages(output, kept) == before
    farroot.skim(inputs, output, ["x", "jets"], cut="n >= 2", define=DEFINED, overwrite=True)
    some = [{name: one[name] for name in ("x", "jets")} for one in before]
    assert pages(output, kept) == [one for at, one in enumerate(some) if at % CLUSTERS >= 2]


def test_fields_and_columns_follow_those_that_are_kept(sources: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    farroot.skim(
        f"{sources[0]}:t", output, ["jets", "n"], define={"y": "2 * x", "list": "jets * 2"}
    )
    table = uproot.open(output)["t"]
    assert [field.field_name for field in table.header.field_records] == [
        "n",
        "jets",
        "_0",
        "y",
        "list",
        "_0",
    ]
    assert [column.field_id for column in table.header.column_records] == [0, 1, 2, 3, 4, 5]
    assert len(table.footer.extension_links.field_records) == 0


def test_other_objects_are_kept_with_new_columns(sources: list[Path], tmp_path: Path) -> None:
    path, output = tmp_path / "in.root", tmp_path / "out.root"
    with farroot.recreate(path) as file:
        file.mkrntuple("t", {"x": np.arange(100.0)})
        file.mkrntuple("runs", {"run": np.arange(3)})
        file["label"] = "kept"
    farroot.skim(f"{path}:t", output, cut="x < 7", define={"y": "x + 1"}, keep_rest=True)
    with farroot.open(checked(output)) as file:
        assert file["t"]["y"].array().tolist() == [1.0, 2, 3, 4, 5, 6, 7]
        assert file["runs"]["run"].array().tolist() == [0, 1, 2]
        assert file["label"] == "kept"


def test_many_cluster_groups(tmp_path: Path) -> None:
    path, output, clusters = tmp_path / "in.root", tmp_path / "out.root", 4_100
    with farroot.recreate(path, compression=None) as file:
        table = file.mkrntuple("t", {"x": "int32"}, cluster="1 B")
        table.extend({"x": np.arange(clusters, dtype="i4")})
    assert len(uproot.open(path)["t"].footer.cluster_group_records) > 1
    farroot.skim([f"{path}:t"] * 2, output, cut="x != 17", define={"y": "x * 2"})
    table = uproot.open(checked(output))["t"]
    assert len(table.footer.cluster_group_records) > 1
    x, y = (table[name].array(library="np") for name in "xy")
    assert (y == 2 * x).all()
    assert len(y) == 2 * (clusters - 1)


#: usage: THREADS OUTPUT CUT INPUT...; skims with that number of decoding threads.
WITH_THREADS = """
import sys
import awkward as ak
import farroot

farroot.config(decode_threads=int(sys.argv[1]))
define = {"y": "x + n", "scaled": "jets * 2", "text": lambda n: [f"<{each}>" for each in n]}
inputs = [f"{path}:t" for path in sys.argv[4:]] * 2
farroot.skim(inputs, sys.argv[2], cut=sys.argv[3] or None, define=define, reproducible=True)
"""


@pytest.mark.parametrize("cut", ["", "(n == 1) | (n == 3) & (x < 0.3) | (n == 4) & (y < 4.5)"])
def test_bytes_are_the_same_with_any_number_of_threads(
    sources: list[Path], tmp_path: Path, cut: str
) -> None:
    sums = set()
    for threads in (1, 2, 3, 8):
        output = tmp_path / f"{threads}" / "out.root"
        output.parent.mkdir()
        command = [sys.executable, "-c", WITH_THREADS, str(threads), str(output), cut]
        subprocess.run([*command, *map(str, sources)], check=True)
        sums.add(hashlib.sha256(output.read_bytes()).hexdigest())
    assert len(sums) == 1


def test_the_shell_counts_what_is_copied(sources: list[Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "farroot", "skim", "--define", "y = x + n", "--json"]
    inputs = [f"{path}:t" for path in sources]
    command += [*inputs, str(tmp_path / "out.root")]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = {"copied": 3 * CLUSTERS, "taken": 0, "left_out": 0}
    assert json.loads(told.stdout)["clusters"] == counts


def test_a_later_input_must_not_have_the_column(sources: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other.root"
    with farroot.recreate(other) as file:
        columns = {"n": np.arange(3, dtype="i4"), "x": np.arange(3.0), "y": np.arange(3.0)}
        jets, word = ak.values_astype(ak.Array([[1.0], [], [2.0]]), "f4"), ["a", "b", "c"]
        file.mkrntuple("t", {**columns, "jets": jets, "word": word})
    inputs, output = [f"{sources[0]}:t", f"{other}:t"], tmp_path / "out.root"
    with pytest.raises(farroot.Error, match="y: unsupported: a new column that is there already"):
        farroot.skim(inputs, output, define={"y": "x + n"})
    assert not output.exists()


def test_an_input_without_entries_decides_no_types(sources: list[Path], tmp_path: Path) -> None:
    """Its new columns, computed of no entries, may have other types."""

    def y(x: Any) -> Any:
        return x if len(x) else np.zeros(0, dtype="i4")

    output, none = tmp_path / "out.root", tmp_path / "none.root"
    with farroot.recreate(none) as file, farroot.open(sources[0]) as first:
        arrays = first["t"].arrays(entry_stop=5)
        file.mkrntuple(
            "t",
            {**dict(zip(arrays.fields, ak.unzip(arrays), strict=True)), "n": np.full(5, 9, "i4")},
        )
    inputs = [f"{path}:t" for path in (sources[0], none, sources[1])]
    farroot.skim(inputs, output, cut="(x < 0.5) & (n < 3)", define={"y": y})
    table = farroot.open(checked(output))["t"]
    assert table["y"].array().tolist() == table["x"].array().tolist()


#: usage: OUTPUT INPUT...; prints by how many bytes a skim has made the process larger.
IN_MEMORY = """
import resource
import sys
import farroot

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
inputs = [f"{path}:t" for path in sys.argv[2:]]
farroot.skim(inputs, sys.argv[1], "x", define={"y": "x * 2"}, overwrite=True)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the unit is Linux's")
@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_new_columns_do_not_stay_in_memory(tmp_path: Path, kind: str) -> None:
    """Regression: those of all inputs were held until the last one had been copied."""
    path, entries = tmp_path / "in.root", 1 << 20
    with farroot.recreate(path) as file:
        getattr(file, kind)("t", {"x": np.random.default_rng(1).random(entries)})
    command, taken = [sys.executable, "-c", IN_MEMORY, str(tmp_path / "out.root")], []
    for inputs in (6, 24):
        done = subprocess.run([*command, *[str(path)] * inputs], capture_output=True, check=True)
        taken.append(int(done.stdout))
    assert taken[1] - taken[0] < 18 * entries * 8 / 3, taken
