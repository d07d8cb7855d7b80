"""Skims of RNTuples that copy clusters, and take entries out of others as elements of columns."""

from __future__ import annotations

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

from .filled import ENTRIES
from .same import same_awkward
from .test_merge_ntuples import COLUMNS, checked, shown

#: Number of clusters of a file; each has the entries of `COLUMNS` and, in "cluster", its number.
CLUSTERS = 4
VALUES: dict[str, Any] = {
    **{name: ak.concatenate([ak.Array(one)] * CLUSTERS) for name, (one, _) in COLUMNS.items()},
    "cluster": ak.Array(np.repeat(np.arange(CLUSTERS, dtype="i4"), ENTRIES)),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several clusters, with columns of every kind."""
    folder = tmp_path_factory.mktemp("clusters")
    parts = [folder / f"{cluster}.root" for cluster in range(CLUSTERS)]
    for cluster, part in enumerate(parts):
        entries = slice(cluster * ENTRIES, (cluster + 1) * ENTRIES)
        columns = {name: array[entries] for name, array in VALUES.items()}
        with farroot.recreate(part) as file:
            file.mkrntuple("Events", columns, titles={name: f"its {name}" for name in columns})
            file["label"] = "kept"
    farroot.merge(parts, folder / "all.root")
    return folder / "all.root"


def mask_of(cut: str) -> Any:
    return eval(cut, {name: VALUES[name] for name in ("number", "flag", "cluster")})


def sizes(path: Path, table: str = "Events") -> list[int]:
    """Entries of each cluster."""
    return [int(one.num_entries) for one in uproot.open(path)[table].cluster_summaries]


#: For each cut the numbers of clusters that are copied, give some entries, and are left out.
CUTS = {
    "number > 12": (0, 4, 0),
    "flag": (0, 4, 0),
    "number >= 0": (4, 0, 0),
    "number < 0": (0, 0, 4),
    "(cluster == 1) | ((cluster >= 2) & (number < 3))": (1, 2, 1),
    "(cluster == 1) | (number == 19)": (1, 3, 0),
    "cluster > 1": (2, 0, 2),
}


@pytest.mark.parametrize("cut", CUTS)
def test_every_kind_of_field(source: Path, tmp_path: Path, cut: str) -> None:
    output = tmp_path / "out.root"
    skimmed = farroot.skim([f"{source}:Events"] * 2, output, cut=cut)
    mask = mask_of(cut)
    kept = int(ak.sum(mask))
    assert skimmed.sources == [(str(source), CLUSTERS * ENTRIES, kept)] * 2
    assert skimmed.clusters == tuple(2 * count for count in CUTS[cut])
    checked(output)
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            ntuple = file["Events"]
            assert ntuple.num_entries == 2 * kept
            for name, column in VALUES.items():
                # uproot does not count the positions of variants from each cluster's beginning.
                if reader is farroot or name != "either":
                    expected = ak.to_list(column[mask])
                    assert ak.to_list(ntuple[name].array()) == expected + expected, name
    assert farroot.open(output)["Events"]["number"].description == "its number"


def test_clusters_are_joined_where_entries_are_taken(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    farroot.skim(f"{source}:Events", output, cut="number == 3")
    assert sizes(output) == [CLUSTERS]
    farroot.skim(f"{source}:Events", output, cut="(cluster == 1) | (number < 2)", overwrite=True)
    assert sizes(output) == [2, ENTRIES, 4]


def parts_of(folder: Path, counts: list[int], compression: object = 505) -> list[Path]:
    """Files with ``counts`` entries each; ``n`` numbers the entries of all files."""
    paths, ends = [folder / f"{at}.root" for at in range(len(counts))], np.cumsum(counts)
    for path, count, end in zip(paths, counts, ends, strict=True):
        n = np.arange(end - count, end)
        lists = ak.Array([list(range(number % 4)) for number in n.tolist()])
        texts = ak.Array([str(number) for number in n.tolist()])
        with farroot.recreate(path, compression=compression) as file:
            file.mkrntuple("t", {"n": n, "place": n % count, "list": lists, "text": texts})
    return paths


def same_as_before(output: Path, n: list[int], not_of_uproot: str = "") -> None:
    """The file has these entries of `parts_of`; uproot misreads the column `not_of_uproot`."""
    checked(output)
    lists, texts = [list(range(number % 4)) for number in n], [str(number) for number in n]
    for reader in (farroot, uproot):
        with reader.open(output) as file:
            for name, expected in (("n", n), ("list", lists), ("text", texts)):
                if reader is farroot or name != not_of_uproot:
                    assert ak.to_list(file["t"][name].array()) == expected, name


def test_entries_of_many_inputs_become_one_cluster(tmp_path: Path) -> None:
    paths, output = parts_of(tmp_path, [100] * 40), tmp_path / "out.root"
    sources = [f"{path}:t" for path in paths]
    skimmed = farroot.skim(sources, output, cut="(place == 7) & (n != 307)")
    assert skimmed.clusters == (0, 39, 1)
    assert sizes(output, "t") == [39]
    same_as_before(output, [n for n in range(7, 4000, 100) if n != 307])
    # The copied cluster is between the joined ones, in the order of the entries.
    cut = "(n < 2) | (n == 299) | ((n >= 300) & (n < 400)) | (n == 401) | (n == 3999)"
    skimmed = farroot.skim(sources, output, cut=cut, overwrite=True)
    assert skimmed.clusters == (1, 4, 35)
    assert sizes(output, "t") == [3, 100, 2]
    same_as_before(output, [0, 1, 299, *range(300, 400), 401, 3999])


def test_inputs_of_other_encodings_have_clusters_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("split", "plain")]
    for folder in folders:
        folder.mkdir()
    paths = [
        path
        for folder, compression in zip(folders, (505, None), strict=True)
        for path in parts_of(folder, [20, 20], compression)
    ]
    output = tmp_path / "out.root"
    farroot.merge([paths[0], paths[2]], tmp_path / "all.root")
    sources = [f"{path}:t" for path in [tmp_path / "all.root", *paths]]
    skimmed = farroot.skim(sources, output, cut="place == 3")
    assert skimmed.clusters == (0, 6, 0)
    assert sizes(output, "t") == [1, 1, 2, 2]
    # uproot takes offsets of strings for characters if both have two representations.
    same_as_before(output, [3, 3, 3, 23, 3, 23], "text")


def test_columns_are_copied_alone(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    skimmed = farroot.skim(f"{source}:Events", output, ["rec*", "text"], keep_rest=True)
    assert (skimmed.is_copied, skimmed.clusters) == (True, (CLUSTERS, 0, 0))
    checked(output)
    with farroot.open(output) as file:
        assert file["label"] == "kept"
        assert file["Events"].keys(recursive=False) == ["text", "record", "records"]
        for name in ("text", "record", "records"):
            assert ak.to_list(file["Events"][name].array()) == ak.to_list(VALUES[name])
    cut = farroot.skim(f"{source}:Events", output, "text", "flag", overwrite=True)
    assert cut.clusters == (0, CLUSTERS, 0)
    assert farroot.open(output)["Events"].keys() == ["text"]
    part = farroot.skim(f"{source}:Events", output, "records.pt", "flag", overwrite=True)
    assert part.clusters is None, "a field in another one is encoded anew"
    expected = ak.to_list(VALUES["records"]["pt"][mask_of("flag")])
    assert ak.to_list(farroot.open(output)["Events"]["pt"].array()) == expected


def test_new_columns_leave_the_others_undecoded(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    new = {"twice": "number * 2"}
    skimmed = farroot.skim(f"{source}:Events", output, "text", "flag", define=new)
    assert skimmed.clusters == CUTS["flag"]
    mask = mask_of("flag")
    with farroot.open(output) as file:
        assert ak.to_list(file["Events"]["text"].array()) == ak.to_list(VALUES["text"][mask])
        assert file["Events"]["twice"].array().tolist() == (2 * VALUES["number"][mask]).tolist()


#: usage: THREADS INPUT OUTPUT; skims with that number of decoding threads.
WITH_THREADS = """
import sys
import farroot

farroot.config(decode_threads=int(sys.argv[1]))
cut = "(cluster == 1) | flag"
farroot.skim([f"{sys.argv[2]}:Events"] * 3, sys.argv[3], cut=cut, reproducible=True)
"""


def test_bytes_are_the_same_with_any_number_of_threads(source: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"{threads}" / "out.root" for threads in (1, 3)]
    for threads, output in zip((1, 3), outputs, strict=True):
        output.parent.mkdir()
        command = [sys.executable, "-c", WITH_THREADS, str(threads), str(source), str(output)]
        subprocess.run(command, check=True)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_clusters_that_pass_are_copied_undecoded(tmp_path: Path) -> None:
    path, output, numbers = tmp_path / "in.root", tmp_path / "out.root", np.random.default_rng(2)
    with uproot.recreate(path, compression=None) as file:
        ntuple = file.mkrntuple("t", {"n": np.int32, "x": np.float64})
        for cluster in range(4):
            ntuple.extend({"n": np.full(20_000, cluster, "i4"), "x": numbers.random(20_000)})
    cut = "(n == 1) | ((n == 2) & (x < 0.5)) | (n == 3)"
    skimmed = farroot.skim({path: "t"}, output, cut=cut)
    assert skimmed.clusters == (2, 1, 1)
    n, x = (uproot.open(path)["t"][name].array(library="np") for name in "nx")
    mask = (n == 1) | ((n == 2) & (x < 0.5)) | (n == 3)
    assert farroot.open(output)["t"]["x"].array().tolist() == x[mask].tolist()
    before, after = path.read_bytes(), output.read_bytes()
    for cluster in range(4):
        stored = x[20_000 * cluster : 20_000 * (cluster + 1)].astype("<f8").tobytes()
        assert stored[:4096] in before
        assert (stored[:4096] in after) == (cluster in (1, 3))


def test_the_shell_counts_clusters(source: Path, tmp_path: Path) -> None:
    cut = "(cluster == 1) | ((cluster >= 2) & (number < 3))"
    command = [sys.executable, "-m", "farroot", "skim", "--cut", cut, f"{source}:Events"]
    outputs = [tmp_path / name for name in ("one.root", "two.root")]
    told = [
        subprocess.run([*command, str(output), *how], capture_output=True, text=True, check=True)
        for output, how in zip(outputs, ([], ["--json"]), strict=True)
    ]
    assert "clusters: 1 copied as stored, 2 in part, 1 left out" in told[0].stdout
    assert json.loads(told[1].stdout)["clusters"] == {"copied": 1, "taken": 2, "left_out": 1}


@pytest.mark.interop
def test_root_reads_what_was_taken(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    cut = "(cluster == 1) | ((cluster >= 2) & (number < 3))"
    farroot.skim([f"{source}:Events"] * 2, output, cut=cut)
    names = ["flag", "number", "real", "list", "text", "nested", "texts", "records"]
    mask = mask_of(cut)
    columns = {name: ak.to_list(VALUES[name][mask]) for name in names}
    expected = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert shown(output, names) == expected * 2


@pytest.mark.interop
@pytest.mark.parametrize("cut", [None, "(cluster == 1) | ((cluster >= 2) & (number < 3))"])
def test_root_reads_new_columns(source: Path, tmp_path: Path, cut: str | None) -> None:
    output = tmp_path / "out.root"
    new: dict[str, Any] = {
        "twice": "number * 2",
        "words": lambda text: [[each, "x"] for each in text],
    }
    farroot.skim([f"{source}:Events"] * 2, output, cut=cut, define=new)
    names = ["flag", "number", "list", "text", "nested", "records"]
    mask = slice(None) if cut is None else mask_of(cut)
    columns = {name: ak.to_list(VALUES[name][mask]) for name in names}
    columns["twice"] = [2 * number for number in columns["number"]]
    columns["words"] = [[each, "x"] for each in columns["text"]]
    names = list(columns)
    expected = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert shown(output, names) == expected * 2


@pytest.mark.interop
def test_pages_in_several_records_are_decoded(ntuples_of_root: Path, tmp_path: Path) -> None:
    path, output = ntuples_of_root / "records_505.root", tmp_path / "out.root"
    assert farroot.skim(f"{path}:events", output, ["number", "reals"]).clusters is None
    with farroot.open(path) as before, farroot.open(output) as after:
        expected = before["events"]["number"].array()
        assert after["events"]["number"].array().tolist() == expected.tolist()


#: Files of `root/ntuples.py`, each with a cut.
OF_ROOT = {
    "kinds_505": "n_alls == 1",
    "kinds_0": "n_alls != 1",
    "widths": "(half < 1) | (half > 12.5)",
    "representations": "(real < 1) | ((real > 7) & (real < 18)) | (real > 24)",
    "late": "(number < 5) | ((number > 33) & (number < 77)) | (number > 111)",
    "pages_505": "number < 10",
    "streamed_append": "(number < 5) | ((number > 33) & (number < 50))",
}


@pytest.mark.interop
@pytest.mark.parametrize(("name", "cut"), OF_ROOT.items())
def test_what_root_writes(ntuples_of_root: Path, tmp_path: Path, name: str, cut: str) -> None:
    path, output = ntuples_of_root / f"{name}.root", tmp_path / "out.root"
    table = next(key for key in farroot.open(path).keys(cycle=False))
    before = farroot.open(path)[table]
    skimmed = farroot.skim(f"{path}:{table}", output, cut=cut)
    assert skimmed.clusters is not None
    checked(output)
    column = cut.split()[0].lstrip("(")
    mask = eval(cut, {column: before[column].array()})
    after = farroot.open(output)[table]
    assert 0 < after.num_entries == ak.sum(mask) < before.num_entries
    assert after.keys() == before.keys()
    for key in before.keys(recursive=False):
        assert _same(after[key].array(), before[key].array()[mask]), key


@pytest.mark.interop
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize(("name", "cut"), OF_ROOT.items())
def test_new_columns_beside_what_root_writes(
    ntuples_of_root: Path, tmp_path: Path, name: str, cut: str, is_cut: bool
) -> None:
    path, output, column = ntuples_of_root / f"{name}.root", tmp_path / "out.root", cut.split()[0]
    column = column.lstrip("(")
    table = next(key for key in farroot.open(path).keys(cycle=False))
    before = farroot.open(path)[table]
    values = before[column].array()
    mask = eval(cut, {column: values}) if is_cut else np.ones(len(values), dtype=bool)
    new = {"new_column": f"{column} * 2", "new_list": _pairs_of(column)}
    skimmed = farroot.skim([f"{path}:{table}"] * 2, output, cut=cut if is_cut else None, define=new)
    assert skimmed.clusters is not None
    after = farroot.open(checked(output))[table]
    assert after.keys(recursive=False) == [*before.keys(recursive=False), *new]
    # As arrays: one of the files has five million entries.
    numbers = ak.concatenate([(values * 2)[mask]] * 2)
    assert ak.array_equal(after["new_column"].array(), numbers)
    pairs = after["new_list"].array()
    assert ak.all(ak.num(pairs) == 2)
    assert ak.array_equal(pairs[:, 0], numbers)
    assert ak.array_equal(pairs[:, 1], numbers)
    for key in before.keys(recursive=False):
        assert _same(after[key].array(), before[key].array()[mask], times=2), key


def _same(ours: Any, expected: Any, times: int = 1) -> bool:
    """Whether an array is another so many times, where NaN is NaN. Large ones take long as text;
    for others it is text, since Awkward converts unions when it joins them."""
    if len(ours) > 100_000:
        return same_awkward(ours, ak.concatenate([expected] * times))
    return str(ak.to_list(ours)) == str(ak.to_list(expected) * times)


def _pairs_of(column: str) -> Any:
    """A function of a column that gives lists of two items an entry."""
    return eval(
        f"lambda {column}: ak.from_regular(np.stack([{column} * 2] * 2, axis=1))", globals()
    )
