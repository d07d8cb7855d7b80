"""Tables of a file that get further entries and columns in an update."""

from __future__ import annotations

import hashlib
import io
import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from . import filled
from .differential_tables import TESTDATA
from .filled import BITS, ENTRIES
from .test_merge_ntuples import COLUMNS as NTUPLE_COLUMNS
from .test_merge_ntuples import checked

#: Columns of every kind that farroot writes into trees, by name.
COLUMNS: dict[str, Any] = {
    **{name: column for name, (column, _) in filled.COLUMNS.items()},
    "flag": BITS,
    "byte": np.arange(ENTRIES, dtype="u1"),
    "real": np.arange(ENTRIES, dtype="f4") / 4,
    "arrays": ak.Array([[[n, n + 0.5]] * (n % 3) for n in range(ENTRIES)]),
}
#: Columns that uproot writes, too.
UPROOTS = ("number", "matrix", "list", "text", "flag", "byte", "real")


def doubled(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of columns whose entries come twice."""
    return {name: 2 * ak.to_list(ak.Array(column)) for name, column in columns.items()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def arrays(reader: Any, path: Path, table: str, names: Any) -> dict[str, list[Any]]:
    with reader.open(path) as file:
        read = file[table]
        return {name: ak.to_list(read[name].array()) for name in names}


def by_farroot(path: Path, columns: dict[str, Any], **how: Any) -> Path:
    with farroot.recreate(path, **how) as file:
        file.mktree("d/t", columns)
    return path


def by_uproot(path: Path, columns: dict[str, Any]) -> Path:
    with uproot.recreate(path) as file:
        types = {
            name: str if name == "text" else ak.Array(column).type.content
            for name, column in columns.items()
        }
        types["matrix"] = np.dtype((np.float32, (2, 3)))
        file.mktree("d/t", types)
        file["d/t"].extend(columns)
    return path


@pytest.mark.parametrize("jagged", ["counter", "vector"])
@pytest.mark.parametrize("compression", [0, 101, 505])
def test_a_tree_gets_further_entries(tmp_path: Path, jagged: str, compression: int) -> None:
    path = by_farroot(tmp_path / "f.root", COLUMNS, jagged=jagged, compression=compression)
    before = farroot.open(path).keys()
    with farroot.update(path) as file:
        tree = file["d/t"]
        assert tree.num_entries == ENTRIES
        tree.extend({name: column[:5] for name, column in COLUMNS.items()})
        assert tree.num_entries == ENTRIES + 5
        tree.extend({name: column[5:] for name, column in COLUMNS.items()})
    expected = doubled(COLUMNS)
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "d/t", COLUMNS) == expected
    # In the place of the old one, under its cycle.
    assert farroot.open(path).keys() == before
    assert farroot.open(path)["d/t"].num_entries == 2 * ENTRIES


def test_a_tree_of_uproot_gets_further_entries_again_and_again(tmp_path: Path) -> None:
    columns = {name: COLUMNS[name] for name in UPROOTS}
    path = by_uproot(tmp_path / "u.root", columns)
    for entry in range(ENTRIES):
        with farroot.update(path) as file:
            one = {name: column[entry : entry + 1] for name, column in columns.items()}
            file["d/t"].extend(one)
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "d/t", columns) == doubled(columns)


def test_a_table_that_gets_nothing_is_not_written(tmp_path: Path) -> None:
    path = by_farroot(tmp_path / "f.root", COLUMNS)
    with farroot.update(path) as file:
        file.mkrntuple("n", {"x": np.arange(3)})
    before = digest(path)
    with farroot.update(path) as file:
        assert file["d/t"].num_entries == ENTRIES
        file["d/t"].extend({name: column[:0] for name, column in COLUMNS.items()})
        assert file["n"].keys() == ["x"]
    assert digest(path) == before


def test_branches_are_added_between_entries(tmp_path: Path) -> None:
    first = {"number": COLUMNS["number"]}
    path = by_farroot(tmp_path / "f.root", first)
    new = {name: column for name, column in COLUMNS.items() if name != "number"}
    with farroot.update(path) as file:
        tree = file["d/t"]
        tree.extend(first)
        twice = {name: ak.concatenate([column, column]) for name, column in new.items()}
        tree.add_branches(twice)
        tree.extend(COLUMNS)
    with farroot.update(path) as file:
        tree = file["d/t"]
        tree.add_branches({"last": np.arange(3 * ENTRIES)})
        tree.extend({name: column[:1] for name, column in COLUMNS.items()} | {"last": [-1]})
    expected = {
        name: 3 * ak.to_list(ak.Array(column)) + ak.to_list(ak.Array(column[:1]))
        for name, column in COLUMNS.items()
    }
    expected["last"] = [*range(3 * ENTRIES), -1]
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "d/t", expected) == expected


def test_branches_are_added_to_a_new_tree(tmp_path: Path) -> None:
    """uproot adds branches to the tree that it has just made."""
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        tree = file.mktree("t", {"x": np.arange(3)})
        tree.add_branches({"y": ak.Array([[1.5], [], [2.5, 3.5]])})
        tree.extend({"x": [3], "y": [[4.5]]})
        for name in ("x", "ny"):
            with pytest.raises(farroot.InvalidArgumentError, match=f"'{name}' already exists"):
                tree.add_branches({name: np.arange(4)})
        with pytest.raises(farroot.InvalidArgumentError, match=r"3 entries: .* has 4 entries"):
            tree.add_branches({"z": np.arange(3)})
    expected = {"x": [0, 1, 2, 3], "y": [[1.5], [], [2.5, 3.5], [4.5]]}
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "t", expected) == expected


@pytest.mark.parametrize("table", ["t", "n"])
def test_new_fields_of_entries_so_far_are_zero(tmp_path: Path, table: str) -> None:
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": np.arange(2)})
        file.mkrntuple("n", {"x": np.arange(2)})
    more = {"x": [2], "y": [1.5], "list": [[7, 8]], "text": ["t"]}
    with farroot.update(path) as file:
        kind = "tree" if table == "t" else "RNTuple"
        words = f"no column 'y' .* not in this {kind}, and accept_new_fields=True adds it"
        with pytest.raises(farroot.InvalidArgumentError, match=words):
            file[table].extend(more)
        file[table].extend(more, accept_new_fields=True)
    expected = {
        "x": [0, 1, 2],
        "y": [0, 0, 1.5],
        "list": [[], [], [7, 8]],
        "text": ["", "", "t"],
    }
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), table, expected) == expected


def test_counts_of_lists_follow_from_the_lists(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    lists = ak.Array([[1.0], [], [2.0, 3.0]])
    with farroot.recreate(path) as file:
        names = {"Jet_pt": lists, "Jet_eta": lists * 2}
        file.mktree("t", names, counter_name=lambda name: "nJet")
    with farroot.update(path) as file:
        tree = file["t"]
        tree.extend({"Jet_pt": [[4.0]], "Jet_eta": [[5.0]]})
        tree.extend({"Jet_pt": [[4.0]], "Jet_eta": [[5.0]], "nJet": [1]})
        for wrong in ({"nJet": [2]}, {"Jet_eta": [[5.0, 6.0]]}):
            with pytest.raises(farroot.InvalidArgumentError, match="nJet"):
                tree.extend({"Jet_pt": [[4.0]], "Jet_eta": [[5.0]], **wrong})
    assert arrays(uproot, checked(path), "t", ["nJet"]) == {"nJet": [1, 0, 2, 1, 1]}


def test_records_go_to_the_branches_of_their_fields(tmp_path: Path) -> None:
    """A file does not say which of its branches were fields of a record."""
    path = tmp_path / "f.root"
    record = ak.Array([{"a": 1, "b": 1.5}, {"a": 2, "b": 2.5}])
    jets = ak.Array([[{"pt": 1.0}], []])
    with farroot.recreate(path) as file:
        file.mktree("t", {"m": record, "jet": jets})
    with farroot.update(path) as file:
        tree = file["t"]
        tree.extend({"m": record, "jet": jets})
        tree.extend({"m": {"a": [3], "b": [3.5]}, "jet_pt": [[2.0, 3.0]]})
        with pytest.raises(farroot.InvalidArgumentError, match="'m_a'"):
            tree.extend({"m": {"a": [3], "c": [3.5]}, "jet_pt": [[]]})
    expected = {
        "m_a": [1, 2, 1, 2, 3],
        "m_b": [1.5, 2.5, 1.5, 2.5, 3.5],
        "jet_pt": [[1.0], [], [1.0], [], [2.0, 3.0]],
    }
    assert arrays(uproot, checked(path), "t", expected) == expected


def test_an_older_cycle_is_refused(tmp_path: Path) -> None:
    path = by_farroot(tmp_path / "f.root", {"x": np.arange(3)})
    with farroot.update(path) as file:
        file.mktree("d/t", {"x": np.arange(4)})
    with farroot.update(path) as file:
        # `items` raised the error, although the caller did not add entries.
        older = dict(file.items())["d/t;1"]
        assert (older.num_entries, older.keys(), older.object_path) == (3, ["x"], "d/t")
        for grow in (older.extend, older.add_branches, older.add_fields):
            with pytest.raises(farroot.UnsupportedError, match="newer cycle"):
                grow({"x": [1]})
        file["d/t"].extend({"x": [4]})
        with pytest.raises(farroot.UnsupportedError, match="given entries"):
            del file["d/t"]
    with farroot.open(checked(path)) as file:
        assert file.keys() == ["d;1", "d/t;2", "d/t;1"]
        assert (file["d/t;1"].num_entries, file["d/t;2"].num_entries) == (3, 5)


def test_a_tree_that_cannot_grow_can_be_looked_at(tmp_path: Path) -> None:
    """A program that listed the objects of such a file in an update got an error."""
    path = tmp_path / "f.root"
    shutil.copy(TESTDATA / "split.root", path)
    before = digest(path)
    with farroot.update(path) as file:
        tree = dict(file.items(cycle=False))["events"]
        assert tree.num_entries == farroot.open(path)["events"].num_entries
        assert "event" in tree.keys()  # noqa: SIM118, as those of a read tree
        tree.show(stream=io.StringIO())
        with pytest.raises(farroot.UnsupportedError, match="no entries can be added"):
            tree.extend({"x": [1]})
    assert digest(path) == before


@pytest.mark.parametrize("compression", [0, 505])
def test_an_rntuple_gets_further_entries(tmp_path: Path, compression: int) -> None:
    columns = {name: ak.Array(column) for name, (column, _) in NTUPLE_COLUMNS.items()}
    path = tmp_path / "f.root"
    with farroot.recreate(path, compression=compression) as file:
        file.mkrntuple("n", columns)
    for part in (slice(0, 7), slice(7, None)):
        with farroot.update(path, compression=505 - compression) as file:
            file["n"].extend({name: column[part] for name, column in columns.items()})
    expected = doubled(columns)
    assert arrays(farroot, checked(path), "n", columns) == expected
    # uproot does not count the positions of variants from the beginning of each cluster.
    names = [name for name in columns if name != "either"]
    assert arrays(uproot, path, "n", names) == {name: expected[name] for name in names}


def test_an_rntuple_of_uproot_gets_further_entries(tmp_path: Path) -> None:
    names = ("number", "list", "text", "nested", "record", "records")
    columns = {name: ak.Array(NTUPLE_COLUMNS[name][0]) for name in names}
    path = tmp_path / "u.root"
    with uproot.recreate(path) as file:
        file.mkrntuple("n", columns)
    with farroot.update(path) as file:
        file["n"].extend(columns)
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "n", columns) == doubled(columns)


def test_fields_are_added_between_entries(tmp_path: Path) -> None:
    columns = {name: ak.Array(column) for name, (column, _) in NTUPLE_COLUMNS.items()}
    del columns["either"]
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mkrntuple("n", {"number": columns["number"]})
    new = {name: column for name, column in columns.items() if name != "number"}
    with farroot.update(path) as file:
        table = file["n"]
        table.extend({"number": columns["number"]})
        table.add_fields({name: ak.concatenate([each, each]) for name, each in new.items()})
        table.extend(columns)
    with farroot.update(path) as file:
        file["n"].add_fields({"last": np.arange(3 * ENTRIES)})
        file["n"].extend({name: column[:1] for name, column in columns.items()} | {"last": [-1]})
    expected = {
        name: 3 * ak.to_list(column) + ak.to_list(column[:1]) for name, column in columns.items()
    }
    expected["last"] = [*range(3 * ENTRIES), -1]
    for reader in (farroot, uproot):
        assert arrays(reader, checked(path), "n", expected) == expected


def test_records_of_an_rntuple_get_further_fields(tmp_path: Path) -> None:
    """`add_fields` refused names with dots."""
    path = tmp_path / "f.root"
    track = ak.zip({"pt": np.arange(3) / 2}, depth_limit=1)
    first: dict[str, Any] = {"muon": ak.zip({"track": track, "q": [1, -1, 1]}, depth_limit=1)}
    with farroot.recreate(path) as file:
        file["n"] = first
        file.mkrntuple("other", {"x": np.arange(3)})
    with farroot.update(path) as file:
        table = file["n"]
        table.add_fields({"muon.track.eta": np.array([4, 5, 6]), "muon.name": ["a", "", "c"]})
        table.add_fields({"muon.hits": "var * int32", "top": "float32"})
        with pytest.raises(farroot.InvalidArgumentError, match="already exists"):
            table.add_fields({"muon.q": "int32"})
        more = {"track": {"pt": [9.5], "eta": [7]}, "q": [0], "name": ["d"], "hits": [[1, 2]]}
        record = ak.zip({**more, "track": ak.zip(more["track"])}, depth_limit=1)
        table.extend({"muon": record, "top": [0.5]})
    with farroot.update(path) as file:
        file["n"].add_fields({"muon.track.phi": "float64"})
    expected = [
        {
            "muon": {
                "track": {"pt": pt, "eta": eta, "phi": 0.0},
                "q": q,
                "name": name,
                "hits": hits,
            },
            "top": top,
        }
        for pt, eta, q, name, hits, top in [
            (0.0, 4, 1, "a", [], 0.0),
            (0.5, 5, -1, "", [], 0.0),
            (1.0, 6, 1, "c", [], 0.0),
            (9.5, 7, 0, "d", [1, 2], 0.5),
        ]
    ]
    for reader in (farroot, uproot):
        with reader.open(checked(path)) as file:
            assert file["n"].arrays().to_list() == expected


def test_fields_that_other_fields_cannot_get(tmp_path: Path) -> None:
    path = tmp_path / "f.root"
    jets = ak.Array([[{"pt": 1.0}], [], [{"pt": 2.0}]])
    with farroot.recreate(path) as file:
        file["n"] = {"x": np.arange(3), "jets": jets, "text": ["a", "b", "c"]}
        file["v"] = {"either": ak.Array([1, "two", {"deep": 3}])}
    before = digest(path)
    wrong: list[tuple[str, str, type[Exception], str]] = [
        ("n", "none.y", farroot.InvalidArgumentError, "not found"),
        ("n", "x.y", farroot.InvalidArgumentError, "not a record"),
        ("n", "jets.eta", farroot.InvalidArgumentError, "not a record"),
        ("n", "text.y", farroot.InvalidArgumentError, "not a record"),
        ("v", "either.y", farroot.UnsupportedError, "variant"),
    ]
    with farroot.update(path) as file:
        for table, name, error, words in wrong:
            with pytest.raises(error, match=words):
                file[table].add_fields({name: "int32"})
    assert digest(path) == before


@pytest.mark.parametrize("make", ["mktree", "mkrntuple"])
@pytest.mark.parametrize("when", ["recreate", "update"])
def test_a_batch_may_be_empty(make: str, when: str, tmp_path: Path) -> None:
    """Regression: an empty list for a column of lists was an error in an update of a tree."""
    path = tmp_path / "e.root"
    file = farroot.recreate(path)
    table = getattr(file, make)("t", {"x": "int32", "j": "var * float32"})
    table.extend({"x": [1], "j": [[1.0]]})
    if when == "update":
        file.close()
        file = farroot.update(path)
        table = file["t"]
    with file:
        table.extend({"x": [], "j": []})
        table.extend({"x": np.array([], "i4"), "j": ak.Array([])})
        table.extend(ak.Array([{"x": 1, "j": [1.0]}])[:0])
        with pytest.raises(farroot.Error, match="j"):
            table.extend({"x": [2], "j": [2.0]})
        table.extend({"x": [3], "j": [[3.0, 4.0]]})
    with uproot.open(path) as found:
        assert found["t"]["x"].array().tolist() == [1, 3]
        assert found["t"]["j"].array().tolist() == [[1.0], [3.0, 4.0]]
