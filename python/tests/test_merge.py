"""Merged files hold the entries and objects of their inputs, in order, for farroot, uproot and
ROOT."""

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

from .root import by_root

#: Files of the corpus with many kinds of branches.
KINDS = (
    "uproot-HZZ.root",
    "uproot-sample-5.24.00-zlib.root",
    "uproot-sample-6.10.05-lz4.root",
    "uproot-foriter2.root",
    "uproot-issue-214.root",
    "uproot-issue-1070.root",
)


def made_of(
    path: Path, first: int, branches: tuple[str, ...] = ("x", "n"), kind: str = "tree"
) -> Path:
    with uproot.recreate(path) as file:
        numbers = np.arange(first, first + 10)
        columns = {"x": numbers * 0.5, "n": numbers, "more": numbers}
        chosen = {name: columns[name] for name in branches}
        make = file.mktree if kind == "tree" else file.mkrntuple
        make("t", {name: column.dtype for name, column in chosen.items()}).extend(chosen)
        file["below/h"] = np.histogram(numbers, bins=4, range=(0, 40))
    return path


@pytest.mark.parametrize("name", KINDS)
def test_a_file_twice_over(corpus: Path, tmp_path: Path, name: str) -> None:
    path = corpus / name
    if not path.exists():
        pytest.skip(f"{name} is not in this corpus")
    merged = farroot.merge([path, path], tmp_path / "twice.root")
    assert merged.tables
    for reader in (farroot, uproot):
        with reader.open(path) as before, reader.open(tmp_path / "twice.root") as after:
            for tree, entries in merged.tables.items():
                assert after[tree].num_entries == entries == 2 * before[tree].num_entries
                assert after[tree].keys() == before[tree].keys()
                for branch in before[tree]:
                    try:
                        once = before[tree][branch].array(library="ak")
                    except Exception:  # an unreadable object is copied all the same
                        continue
                    twice = after[tree][branch].array(library="ak")
                    assert str(twice.tolist()) == str(once.tolist() + once.tolist())


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_order_histograms_and_directories(tmp_path: Path, kind: str) -> None:
    inputs = [made_of(tmp_path / f"{n}.root", 10 * n, kind=kind) for n in range(3)]
    merged = farroot.merge(inputs, tmp_path / "all.root")
    assert (merged.num_sources, merged.tables, merged.histograms) == (3, {"t": 30}, 1)
    with uproot.open(tmp_path / "all.root") as file:
        assert file["t"].arrays()["n"].tolist() == list(range(30))
        expected = np.histogram(np.arange(30), bins=4, range=(0, 40))[0]
        assert file["below/h"].values().tolist() == expected.tolist()
    merged = farroot.merge(inputs, tmp_path / "sums.root", trees=False)
    assert (merged.num_sources, merged.tables, merged.histograms) == (3, {}, 1)


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    inputs = [made_of(tmp_path / f"{n}.root", n) for n in range(2)]
    outputs = [tmp_path / "one" / "f.root", tmp_path / "two" / "f.root"]
    for output in outputs:
        output.parent.mkdir()
        farroot.merge(inputs, output, reproducible=True)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


#: Number of histograms that exceeds the bytes decoded at a time (inputs.rs: DECODED_BYTES).
MANY = 1_600


def many_histograms(path: Path, number: int, names: list[str]) -> Path:
    """Histograms in directories, with a tree and a text between them."""
    half = len(names) // 2
    with farroot.recreate(path, compression=404) as file:
        for name in names[:half]:
            file[name] = (np.array([number, len(name), 0.0]), np.arange(4.0))
        file["t"] = {"n": np.arange(number)}
        file["text"] = "the first one"
        for name in names[half:]:
            file[name] = (np.array([number, len(name), 0.0]), np.arange(4.0))
        file["last"] = f"of {number}"
    return path


def objects_by_directory(file: Any) -> tuple[list[str], list[str]]:
    """Paths of the objects outside `other`, in the order of each directory's keys; those in it."""
    paths = file.keys(cycle=False, filter_classname=lambda name: name != "TDirectory")
    paths.sort(key=lambda path: path.rpartition("/")[0])
    others = [path for path in paths if path.startswith("other/")]
    return [path for path in paths if path not in others], others


def test_more_histograms_than_are_decoded_at_a_time(tmp_path: Path) -> None:
    names = [f"region{at // 20}/h{at}" for at in range(MANY)]
    # The second input lacks five histograms at the beginning and at the end, and has 200 others.
    others = [*names[5:-5], *(f"other/h{at}" for at in range(200))]
    inputs = [
        many_histograms(tmp_path / "1.root", 1, names),
        many_histograms(tmp_path / "2.root", 20, others),
        many_histograms(tmp_path / "3.root", 300, names),
    ]
    output = tmp_path / "all.root"
    merged = farroot.merge(inputs, output, reproducible=True)
    assert (merged.tables, merged.histograms, merged.objects) == ({"t": 321}, MANY + 200, 2)
    assert sum("is in 2 of 3 inputs only" in note for note in merged.notes) == 10
    assert sum("last is not the same in all inputs" in note for note in merged.notes) == 1
    with uproot.open(output) as file:
        with uproot.open(inputs[0]) as first:
            assert objects_by_directory(first)[0] == objects_by_directory(file)[0]
        assert objects_by_directory(file)[1] == others[-200:]
        both, one = set(names) & set(others), set(others) - set(names)
        for name in (*names, *others):
            sums = 321 if name in both else 20 if name in one else 301
            times = 3 if name in both else 1 if name in one else 2
            assert file[name].values().tolist() == [sums, times * len(name), 0.0]
        assert file["last"] == "of 1"
    again = tmp_path / "again" / "all.root"
    again.parent.mkdir()
    farroot.merge(inputs, again, reproducible=True)
    assert again.read_bytes() == output.read_bytes()


def test_other_kinds_among_many_histograms_leave_nothing(tmp_path: Path) -> None:
    names = [f"h{at}" for at in range(MANY)]
    first = many_histograms(tmp_path / "1.root", 1, names)
    second = many_histograms(tmp_path / "2.root", 2, names[:-1])
    with farroot.update(second) as file:
        file[names[-1]] = "no histogram"
    for inputs in ([first, second], [second, first]):
        with pytest.raises(farroot.UnsupportedError, match=rf"{names[-1]}.*not of the kind"):
            farroot.merge(inputs, tmp_path / "all.root")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.root", "2.root"]


#: usage: THREADS OPTIONS OUTPUT INPUT...; merges with that number of decoding threads.
WITH_THREADS = """
import json
import sys
import farroot

farroot.config(decode_threads=int(sys.argv[1]))
farroot.merge(sys.argv[4:], sys.argv[3], reproducible=True, **json.loads(sys.argv[2]))
"""


def with_threads(output: Path, inputs: list[Path], **how: Any) -> bytes:
    """The bytes of the merged file, which must be the same with 1, 2, 3 and 8 threads."""
    made: list[bytes] = []
    for threads in (1, 2, 3, 8):
        same = output.parent / f"{output.stem}-{threads}" / output.name
        same.parent.mkdir()
        arguments = [str(threads), json.dumps(how), str(same), *map(str, inputs)]
        subprocess.run([sys.executable, "-c", WITH_THREADS, *arguments], check=True)
        made.append(same.read_bytes())
    assert made[1:] == made[:1] * 3
    return made[0]


def all_kinds(path: Path, first: int, *more: str) -> Path:
    """A tree and an RNTuple of several clusters, histograms and a text."""
    numbers = np.arange(first, first + 5_000)
    names = ("number", "half", *more)
    columns: dict[str, Any] = {name: numbers * (0.5 if name == "half" else 1) for name in names}
    columns["list"] = [[float(n)] * (n % 4) for n in numbers.tolist()]
    with farroot.recreate(path, cluster="20 KB", compression=101) as file:
        file.mktree("t", columns)
        for at in range(50):
            file[f"below/h{at}"] = np.histogram(numbers, bins=100, range=(0, 20_000))
        file.mkrntuple("n", columns)
        file["text"] = f"from {first}"
    return path


@pytest.mark.parametrize("missing", ["strict", "union"])
def test_bytes_are_the_same_for_any_number_of_threads(tmp_path: Path, missing: str) -> None:
    more = () if missing == "strict" else ("more",)
    inputs = [all_kinds(tmp_path / "0.root", 0), all_kinds(tmp_path / "1.root", 5_000, *more)]
    output = tmp_path / "all.root"
    assert farroot.merge(inputs, output, missing=missing, reproducible=True).tables == {
        "t": 10_000,
        "n": 10_000,
    }
    assert with_threads(output, inputs, missing=missing) == output.read_bytes()
    assert farroot.open(output)["t"]["number"].array().tolist() == list(range(10_000))


def test_inputs_that_do_not_fit_leave_nothing(tmp_path: Path) -> None:
    few = made_of(tmp_path / "few.root", 0)
    more = made_of(tmp_path / "more.root", 10, ("x", "n", "more"))
    output = tmp_path / "all.root"
    for first, second in ((few, more), (more, few)):
        with pytest.raises(farroot.UnsupportedError, match=rf"more.*{second.name}"):
            farroot.merge([first, second], output)
    with pytest.raises(farroot.InvalidArgumentError, match="one of the inputs"):
        farroot.merge([few, few], few, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.root", "more.root"]
    assert farroot.merge([few, more], output, missing="filter").tables == {"t": 20}
    with pytest.raises(farroot.Error, match="there already"):
        farroot.merge([few], output)


@pytest.mark.interop
def test_directories_keep_their_titles(tmp_path: Path) -> None:
    """A directory got its name as its title, and one without objects was left out."""
    by_root(
        f"""
import ROOT
for number in range(2):
    file = ROOT.TFile(f"{tmp_path}/{{number}}.root", "RECREATE")
    cut = file.mkdir("cut", f"MET > 50, input {{number}}")
    cut.mkdir("empty", "to be filled")
    cut.mkdir("below", "of a name").cd()
    ROOT.TNamed("name", "of both").Write()
    file.Close()
""",
    )
    inputs = [tmp_path / f"{number}.root" for number in range(2)]
    farroot.merge(inputs, tmp_path / "all.root")
    with uproot.open(tmp_path / "all.root") as file:
        titles = {path: file.key(path).fTitle for path in ("cut", "cut/empty", "cut/below")}
        assert {*file.keys(cycle=False)} == {*titles, "cut/below/name"}
    assert titles == {
        "cut": "MET > 50, input 0",
        "cut/empty": "to be filled",
        "cut/below": "of a name",
    }
    farroot.merge(inputs, tmp_path / "some.root", without=["cut/empty"])
    assert "cut/empty" not in farroot.open(tmp_path / "some.root").keys(cycle=False)


def test_an_input_is_not_replaced_under_another_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the texts of the addresses were compared, so that the output replaced the input."""
    monkeypatch.chdir(tmp_path)
    one = made_of(tmp_path / "one.root", 0)
    other = made_of(tmp_path / "other.root", 10)
    before = one.read_bytes()
    Path("link.root").symlink_to("one.root")
    Path("hard.root").hardlink_to("one.root")
    names = ("one.root", "./one.root", f"../{tmp_path.name}/one.root", "link.root", "hard.root")
    for name in names:
        with pytest.raises(farroot.InvalidArgumentError, match="one of the inputs"):
            farroot.merge([other, one], name, overwrite=True)
        with pytest.raises(farroot.InvalidArgumentError, match="one of the inputs"):
            farroot.merge([one], name, append=True)
        for options in ({"cut": "n > 2"}, {"format": "rntuple"}):
            with pytest.raises(farroot.InvalidArgumentError, match="one of the inputs"):
                farroot.skim({one: "t"}, name, overwrite=True, **options)  # type: ignore[arg-type]
        assert Path(name).read_bytes() == before
    assert Path("link.root").is_symlink()


def test_inputs_that_cannot_be_read_are_left_out_when_asked(tmp_path: Path) -> None:
    good = [made_of(tmp_path / f"{n}.root", 10 * n) for n in range(2)]
    cut, gone = tmp_path / "cut.root", tmp_path / "gone.root"
    cut.write_bytes(good[0].read_bytes()[:300])
    empty = tmp_path / "empty.root"  # of a job that was killed: it ended the merge
    empty.touch()
    inputs, output = [cut, good[0], gone, empty, good[1]], tmp_path / "all.root"
    with pytest.raises(farroot.Error, match=r"cut\.root"):
        farroot.merge(inputs, output)
    merged = farroot.merge(inputs, output, skip_bad=True)
    assert (merged.num_sources, merged.tables) == (2, {"t": 20})
    notes = sorted(merged.notes)
    assert len(notes) == 3
    assert all(str(path) in " ".join(notes) for path in (cut, gone, empty))
    with pytest.raises(farroot.NotFoundError, match="no input"):
        farroot.merge([cut, gone], tmp_path / "none.root", skip_bad=True)


#: Writes a tree of references to objects, as a process of its own, and prints its name.
REFERENCES = """
import sys
import ROOT

file = ROOT.TFile(sys.argv[1], "recreate")
tree = ROOT.TTree("t", "")
named = ROOT.TNamed()
reference = ROOT.TRef(named)
tree.Branch("reference", reference, 32000, 0)
for _ in range(3):
    tree.Fill()
tree.Write()
print(reference.GetPID().GetTitle())
file.Close()
"""

#: Prints the name of a process.
PROCESS = """
import sys
import ROOT

print(ROOT.TFile(sys.argv[1]).Get(f"ProcessID{sys.argv[2]}").GetTitle())
"""

#: The same merge by ROOT.
CHAINED = """
import sys
import ROOT

chain = ROOT.TChain("t")
for path in sys.argv[2:]:
    chain.Add(path)
chain.Merge(sys.argv[1], "fast")
"""


def shifts(path: Path) -> list[int]:
    """The offsets of numbers of processes (``fPidOffset``) in the keys of a tree's baskets."""
    with uproot.open(path) as file:
        branch = file["t"].branches[0]
        seeks = branch.member("fBasketSeek")[: branch.num_baskets]
    content = path.read_bytes()
    return [int.from_bytes(content[seek + 26 : seek + 28], "big") for seek in map(int, seeks)]


@pytest.mark.interop
def test_references_name_the_process_of_their_input(tmp_path: Path) -> None:
    """Those of later inputs were taken for the first one's, without a word."""
    paths = [tmp_path / f"{name}.root" for name in "abc"]
    a, b, c = (by_root(REFERENCES, path).strip() for path in paths)
    two, all_of_them = tmp_path / "two.root", tmp_path / "all.root"
    farroot.merge(paths[:2], two)
    notes = farroot.merge([paths[2], two, paths[1]], all_of_them).notes
    assert [note.split()[2] for note in notes] == [f"{two}:", f"{paths[1]}:"]
    processes = [by_root(PROCESS, all_of_them, number).strip() for number in range(3)]
    assert processes == [c, a, b]
    assert shifts(all_of_them) == [0, 1, 2, 2]
    by_root(CHAINED, tmp_path / "root.root", *paths)
    assert shifts(tmp_path / "root.root") == [0, 1, 2]


#: Compares all entries of a tree with those of one that has them twice.
BY_ROOT = """
import sys
import ROOT

once, twice = (ROOT.TFile(path) for path in sys.argv[1:])
before, after = once.Get("events"), twice.Get("events")
assert after.GetEntries() == 2 * before.GetEntries()
for entry in range(after.GetEntries()):
    before.GetEntry(entry % before.GetEntries())
    after.GetEntry(entry)
    for name in ("NJet", "MET_px", "EventWeight"):
        assert getattr(after, name) == getattr(before, name)
    assert list(after.Jet_Px) == list(before.Jet_Px)
"""


@pytest.mark.interop
@pytest.mark.parametrize("name", ["uproot-HZZ.root", "uproot-HZZ-zstd.root"])
def test_root_reads_what_was_merged(corpus: Path, tmp_path: Path, name: str) -> None:
    path = corpus / name
    farroot.merge([path, path], tmp_path / "twice.root")
    by_root(BY_ROOT, path, tmp_path / "twice.root")


@pytest.mark.parametrize("order", ["empty first", "empty last", "only empty"])
def test_texts_of_uproots_trees_without_entries(tmp_path: Path, order: str) -> None:
    """uproot says only with the first entries that texts have several sizes."""
    empty, full = tmp_path / "empty.root", tmp_path / "full.root"
    texts = ["a", "bc", "def"]
    for path in (empty, full):
        with uproot.recreate(path) as file:
            tree = file.mktree("t", {"s": "string", "x": "int32"})
            if path == full:
                tree.extend({"s": ak.Array(texts), "x": np.arange(3)})
    several = {"empty first": [empty, full], "empty last": [full, empty]}.get(order, [empty, empty])
    expected = texts if full in several else []
    for options in ({}, {"missing": "union"}, {"recompress": farroot.ZSTD(5)}):
        output = tmp_path / "merged.root"
        farroot.merge(several, output, overwrite=True, **options)
        for _ in range(2):
            for reader in (farroot, uproot):
                tree = reader.open(output)["t"]
                assert tree["s"].array().tolist() == expected
            # Further ones, behind those.
            with farroot.update(output) as file:
                file["t"].extend({"s": texts, "x": np.arange(3)})
            expected = expected + texts
        expected = expected[:-6]


def test_equal_lists_of_histograms_are_not_kept_without_a_note(tmp_path: Path) -> None:
    """Regression: lists that were equal in all inputs lost the counts of all but the first without
    a word; ``hadd`` adds their histograms up."""
    identify = farroot.writing.identify
    inputs = [tmp_path / "1.root", tmp_path / "2.root"]
    for path in inputs:
        with farroot.recreate(path) as file:
            file["h"] = np.histogram(np.arange(4), bins=2)
        with farroot.open(path) as file:
            read = file["h"]
        with farroot.recreate(path) as file:
            file["counts"] = identify.to_TList([read])
            file["names"] = identify.to_TList([identify.to_TObjString("a")])
    merged = farroot.merge(inputs, tmp_path / "all.root")
    assert [note.split(":")[0] for note in merged.notes] == [
        "counts lists histograms, which are not added up"
    ]
    assert len(farroot.open(tmp_path / "all.root")["counts"]) == 1
