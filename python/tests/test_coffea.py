"""coffea's NanoEvents and its Runner on columns that farroot reads."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot import scaleout

from .same import same_awkward
from .skips import need_coffea

need_coffea()

with warnings.catch_warnings():
    # Warnings of packages that coffea imports.
    warnings.simplefilter("ignore")
    from coffea import processor
    from coffea.nanoevents import BaseSchema, NanoAODSchema, NanoEventsFactory
    from coffea.nanoevents.mapping import UprootSourceMapping

    import farroot.coffea
    from farroot.coffea import _forms, _queue, _reader, from_root
    from farroot.coffea._mapping import SourceMapping

pytestmark = pytest.mark.filterwarnings("ignore:Missing cross-reference:RuntimeWarning")

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
NTUPLE = TESTDATA / "ntuple_fields.root"
NOTHING = TESTDATA / "nothing.root"
ENTRIES = 100


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file like NanoAOD, in which coffea finds muons."""
    return write(tmp_path_factory.mktemp("coffea") / "nano.root", seed=1)


def write(path: Path, seed: int) -> Path:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, ENTRIES)
    muons = {
        name: ak.unflatten(random.normal(50, 9, counts.sum()).astype("f4"), counts)
        for name in ("pt", "eta", "phi", "mass", "charge")
    }
    numbers = ("run", "luminosityBlock", "event")
    columns = {name: np.arange(ENTRIES, dtype="u4") for name in numbers}
    types = {**{name: np.dtype("u4") for name in numbers}, "Muon": ak.zip(muons).type.content}
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", types)
        for start in range(0, ENTRIES, 25):
            chunk = slice(start, start + 25)
            tree.extend({**{n: a[chunk] for n, a in columns.items()}, "Muon": ak.zip(muons)[chunk]})
    return path


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties the caches of the process before each test."""
    monkeypatch.setattr(_reader.HABITS, "_touched", {})
    monkeypatch.setattr(scaleout.OPEN, "_tables", OrderedDict())
    for kept in (_forms._FORMS, _forms._SCHEMAS):
        monkeypatch.setattr(kept, "_values", type(kept._values)())


def theirs(path: Path, **options: Any) -> Any:
    return NanoEventsFactory.from_root({path: "Events"}, **options).events()


@pytest.mark.parametrize(("which", "tree"), [("nano", "Events"), ("made", "events")])
def test_forms_are_coffeas_own(request: pytest.FixtureRequest, which: str, tree: str) -> None:
    path = request.getfixturevalue(which)
    with uproot.open(path) as file:
        expected = UprootSourceMapping._extract_base_form(file[tree])
        expected["typenames"] = file[tree].typenames()
    opened: Any = farroot.open({path: tree})
    assert SourceMapping._extract_base_form(opened) == expected


def test_objects_without_members_have_coffeas_forms() -> None:
    """FCC's files have references in vectors, and ATLAS's have base classes, without members.

    All of these were left out: the forms of whole files differed from coffea's.
    """
    with uproot.open(NOTHING) as file:
        expected = UprootSourceMapping._extract_base_form(file["events"])
        expected["typenames"] = file["events"].typenames()
    opened: Any = farroot.open({NOTHING: "events"})
    assert SourceMapping._extract_base_form(opened) == expected
    events = from_root({NOTHING: "events"}, schemaclass=BaseSchema).events()
    assert ak.num(events.several).to_list() == [0, 1, 2, 0, 1]
    assert len(events.alone) == 5


@pytest.mark.parametrize(
    ("typename", "name", "parent", "is_list", "is_left_out"),
    [
        ("xAOD::AuxInfoBase", "EventInfoAux.", None, False, False),
        ("xAOD::AuxInfoBase", "xTrigDecisionAux.xAOD::AuxInfoBase", 3, False, True),
        ("std::vector<edm4hep::RecoParticleRefData>", "Electron", None, True, False),
        ("DataVector<xAOD::Electron_v1>", "AnalysisElectrons", None, True, True),
    ],
)
def test_only_objects_of_which_uproot_has_forms_are_columns(
    typename: str, name: str, parent: int | None, is_list: bool, is_left_out: bool
) -> None:
    form: dict[str, Any] = {"class": "RecordArray", "fields": [], "contents": []}
    if is_list:
        form = {"class": "ListOffsetArray", "offsets": "i64", "content": form}
    info: Any = SimpleNamespace(typename=typename, name=name, parent=parent)
    assert _forms._is_not_coffeas(form, info) == is_left_out
    number = {"class": "NumpyArray", "primitive": "int64"}
    assert not _forms._is_not_coffeas(number, info)


def test_columns_of_an_ntuple_are_read() -> None:
    ntuple = farroot.open(f"{NTUPLE}:events")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", farroot.UnreadableWarning)
        events = from_root(ntuple, schemaclass=BaseSchema, entry_start=3, entry_stop=170).events()
    assert "i32" in events.fields
    assert "numbers" in events.fields
    assert "maybe" not in events.fields, "coffea has no form for what may be missing"
    for name in ("i32", "numbers"):
        read = ntuple[name].array(entry_start=3, entry_stop=170)
        assert events[name].to_list() == read.to_list(), name


@pytest.mark.parametrize("mode", ["virtual", "eager"])
@pytest.mark.parametrize("schemaclass", [BaseSchema, NanoAODSchema])
def test_events_are_coffeas_own(nano: Path, mode: str, schemaclass: Any) -> None:
    options = {"schemaclass": schemaclass, "mode": mode, "entry_start": 10, "entry_stop": 80}
    events, expected = from_root(f"{nano}:Events", **options).events(), theirs(nano, **options)
    assert events.fields == expected.fields
    assert type(events).__name__ == type(expected).__name__
    for name in events.fields:
        assert same_awkward(ak.materialize(events[name]), ak.materialize(expected[name])), name


def test_what_a_file_may_be(nano: Path) -> None:
    opened = farroot.open(nano)
    with uproot.open(nano) as other:
        for file in (opened, other, str(nano), nano):
            assert len(from_root(file, treepath="Events").events()) == ENTRIES
        assert len(from_root({nano: "Events"}).events()) == ENTRIES
        assert len(from_root(opened["Events"], entry_start=-5, entry_stop=7).events()) == 7
        for file in (opened, other):
            with pytest.raises(farroot.InvalidArgumentError, match="treepath"):
                from_root(file)
    with pytest.raises(farroot.InvalidArgumentError, match=r"farroot\.Source"):
        from_root({nano: "Events"}, mode="dask")  # type: ignore[arg-type]
    with pytest.raises(farroot.InvalidArgumentError, match="schema"):
        from_root({nano: "Events"}, schemaclass=lambda form: form)


def test_the_file_of_a_factory_is_that_of_coffea(nano: Path) -> None:
    """For an address it was a file of farroot; programs for coffea expect one of uproot."""
    made = from_root(f"{nano}:Events", schemaclass=BaseSchema)
    assert made._mapping._handle is None, "it is opened when it is asked for"
    for factory in (made, pickle.loads(pickle.dumps(made))):
        assert isinstance(factory.file_handle, uproot.reading.ReadOnlyFile)
        assert isinstance(factory.file_handle.source, farroot.Source)
        assert factory.file_handle.root_directory["Events"].num_entries == ENTRIES
        assert factory.file_handle is factory.file_handle
    opened = farroot.open(nano)
    assert from_root(opened, treepath="Events").file_handle is opened
    tree = opened["Events"]
    assert from_root(tree).file_handle is tree.file


def test_what_was_looked_at_comes_together_with_the_next_chunk(nano: Path) -> None:
    tree = farroot.open({nano: "Events"})
    begun = []
    for number in range(3):
        made = from_root(
            tree,
            metadata={"dataset": "one"},
            entry_start=25 * number,
            entry_stop=25 * (number + 1),
        )
        begun.append([names for names, _ in made._mapping._reader._under_way])
        ak.materialize(made.events().Muon.pt)
    assert begun == [[], [["Muon_pt", "nMuon"]], [["Muon_pt", "nMuon"]]]
    other = from_root(tree, metadata={"dataset": "other"})
    assert other._mapping._reader._under_way == []


def test_a_column_that_is_looked_at_no_more_is_forgotten(nano: Path) -> None:
    tree = farroot.open({nano: "Events"})
    for name in ("run", "Muon_pt", "Muon_pt"):
        made = from_root(tree, schemaclass=BaseSchema)
        ak.materialize(made.events()[name])
    made = from_root(tree, schemaclass=BaseSchema)
    assert [names for names, _ in made._mapping._reader._under_way] == [["Muon_pt"]]


def test_columns_can_be_preloaded(nano: Path) -> None:
    for preload in (["Muon_pt", "absent"], lambda branch: branch.name == "Muon_pt"):
        metadata = {"dataset": str(preload)}
        made = from_root({nano: "Events"}, preload=preload, metadata=metadata, access_log=[])
        assert [names for names, _ in made._mapping._reader._under_way] == [["Muon_pt"]]
        assert made.access_log == []
        assert list(made._mapping.preloaded_arrays) == ["Muon_pt"]
        assert same_awkward(
            ak.materialize(made.events().Muon.pt), ak.materialize(theirs(nano).Muon.pt)
        )
        assert {each.branch for each in made.access_log} == {"Muon_pt", "nMuon"}
    assert from_root({nano: "Events"})._mapping.preloaded_arrays is None


def test_a_schema_is_made_once_unless_it_looks_at_metadata(nano: Path) -> None:
    made = []

    class Schema(BaseSchema):  # type: ignore[misc]
        def __init__(self, form: Any, looks: bool = False) -> None:
            made.append(form)
            super().__init__(form)
            self._form["parameters"]["metadata"]["written"] = 7

    class Looking(Schema):
        def __init__(self, form: Any) -> None:
            super().__init__(form)
            self._form["parameters"]["metadata"].get("number")

    for number in range(3):
        metadata = {"dataset": "a", "number": number}
        events = from_root({nano: "Events"}, schemaclass=Schema, metadata=metadata).events()
        assert events.metadata == {**metadata, "written": 7}
    assert len(made) == 1
    for number in range(3):
        metadata = {"dataset": "a", "number": number}
        events = from_root({nano: "Events"}, schemaclass=Looking, metadata=metadata).events()
        assert events.metadata == {**metadata, "written": 7}
    assert len(made) == 4


def test_buffers_go_into_a_cache_and_come_from_there(nano: Path) -> None:
    cache: dict[str, Any] = {}
    tree = farroot.open({nano: "Events"})
    for _ in range(2):
        made = from_root(tree, buffer_cache=cache)
        pt = ak.materialize(made.events().Muon.pt)
        assert made._mapping._reader._layouts == {}
    coffeas: dict[str, Any] = {}
    assert same_awkward(pt, ak.materialize(theirs(nano, buffer_cache=coffeas).Muon.pt))
    assert cache.keys() == coffeas.keys(), "a cache on disk serves both"


def test_a_factory_goes_to_other_processes(nano: Path, tmp_path: Path) -> None:
    made = pickle.loads(pickle.dumps(from_root({nano: "Events"})))
    assert same_awkward(ak.materialize(made.events().Muon.pt), ak.materialize(theirs(nano).Muon.pt))


class Processor(processor.ProcessorABC):  # type: ignore[misc]
    """Sums that show whether each entry is processed exactly once."""

    def process(self, events: Any) -> Any:
        return {
            "entries": len(events),
            "runs": int(ak.sum(events.run)),
            "muons": int(ak.sum(events.Muon.pt > 50)),
        }

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


def run(runner: Any, fileset: Any, executor: Any = None, **options: Any) -> Any:
    executor = executor or processor.IterativeExecutor(status=False)
    made = runner(executor, schema=NanoAODSchema, chunksize=20, metadata_cache={}, **options)
    return made(fileset, Processor())


def test_a_runner_makes_what_coffeas_makes(nano: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.root", seed=2)
    fileset = {"one": {"files": {str(nano): "Events", str(other): "Events"}}}
    expected = run(processor.Runner, fileset)
    assert expected["entries"] == 2 * ENTRIES
    assert run(farroot.coffea.Runner, fileset) == expected
    threads = processor.FuturesExecutor(workers=2, pool=ThreadPoolExecutor, status=False)
    assert run(farroot.coffea.Runner, fileset, threads) == expected
    assert run(farroot.coffea.Runner, fileset, align_clusters=True) == expected
    out, metrics = run(farroot.coffea.Runner, fileset, savemetrics=True)
    assert out == expected
    assert metrics["entries"] == 2 * ENTRIES
    assert metrics["chunks"] == 10
    assert metrics["bytesread"] > 0


def test_files_of_other_formats_are_read_by_coffea(
    nano: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were not if a program had replaced coffea's Runner by farroot's."""
    with uproot.open(nano) as file:
        ak.to_parquet(file["Events"].arrays(), tmp_path / "nano.parquet")
    fileset = {"one": {"files": {str(tmp_path / "nano.parquet"): "Events"}}}
    expected = run(processor.Runner, {"one": {"files": {str(nano): "Events"}}})
    monkeypatch.setattr(processor, "Runner", farroot.coffea.Runner)
    assert run(processor.Runner, fileset, format="parquet") == expected


Taken = list[set[str]]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Taken:
    """For each chunk, the columns whose reads had begun when a worker took it."""
    found: Taken = []
    take = _queue.Queue.take

    def taking(queue: Any, *args: Any) -> Any:
        reader = take(queue, *args)
        found.append(reader.names())
        return reader

    monkeypatch.setattr(_queue.Queue, "take", taking)
    return found


def test_chunks_behind_are_read_ahead(nano: Path, taken: Taken) -> None:
    """From the second chunk on, reads of the columns have begun when a worker takes a chunk."""
    run(farroot.coffea.Runner, {"one": {"files": {str(nano): "Events"}}})
    names = {"Muon_pt", "nMuon", "run"}
    assert taken == [set(), names, names, names, names]
    item = farroot.coffea.work_items(farroot.partitions({nano: "Events"}))[0]
    assert pickle.loads(pickle.dumps(_queue.Queue([item])))._items == []


def test_large_chunks_are_not_read_far_ahead(
    nano: Path, taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_queue, "AHEAD_BYTES", 1)
    queue, items, reader = begun(nano)
    queue.read_ahead(items[0], reader, {"run"}, opened=no_file)
    assert list(queue._readers) == items[1:2]
    taken.clear()
    run(farroot.coffea.Runner, {"one": {"files": {str(nano): "Events"}}})
    assert [len(names) for names in taken] == [0, 3, 3, 3, 3]


def begun(*paths: Path) -> tuple[Any, Any, Any]:
    """The queue of all chunks of files, its chunks, and the reader of the first one."""
    parts = farroot.partitions([{path: "Events"} for path in paths], step_size=25)
    items = farroot.coffea.work_items(parts)
    queue = _queue.Queue(items)
    table: Any = farroot.open({paths[0]: "Events"})
    return queue, items, queue.take(items[0], lambda _: table)


def no_file(item: Any) -> Any:
    raise farroot.NotFoundError(f"no such file; in {item.filename}")


def test_files_behind_are_opened_and_read_ahead(nano: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.root", seed=2)
    queue, items, reader = begun(nano, other)
    table = farroot.open({other: "Events"})
    queue.read_ahead(items[0], reader, {"run"}, opened=lambda _: table)
    queue.read_ahead(items[0], reader, {"event"}, opened=lambda _: table)
    queue._opens.shutdown()
    behind = queue.take(items[4], no_file)
    assert behind.names() == {"run", "event"}
    assert ak.Array(behind.get("run")).to_list() == list(range(25))
    queue.close()
    assert queue._readers == {}


def test_an_error_of_opening_ahead_is_the_workers(nano: Path, tmp_path: Path) -> None:
    queue, items, reader = begun(nano, write(tmp_path / "other.root", seed=2))
    queue.read_ahead(items[0], reader, {"run"}, opened=no_file)
    queue._opens.shutdown()
    with pytest.raises(FileNotFoundError, match=r"other\.root"):
        queue.take(items[4], no_file)


def test_an_open_that_did_not_succeed_is_begun_again(nano: Path, tmp_path: Path) -> None:
    """A chunk that failed or was cancelled counted as under way for good: none of the file's other
    chunks were prefetched any more."""
    other = write(tmp_path / "other.root", seed=2)
    queue, items, reader = begun(nano, other)
    table = farroot.open({other: "Events"})
    queue.read_ahead(items[0], reader, {"run"}, opened=no_file)
    queue._opens.shutdown()
    assert queue._opening == {}
    ended = threading.Event()
    queue._opens = ThreadPoolExecutor(1)
    queue._opens.submit(ended.wait, 60)
    queue.read_ahead(items[0], reader, {"run"}, opened=lambda _: table)
    assert queue.take(items[4], lambda _: table).names() == set(), "its open is cancelled"
    assert queue._opening == {}
    ended.set()
    queue.read_ahead(items[0], reader, {"run"}, opened=lambda _: table)
    queue._opens.shutdown()
    assert queue.take(items[5], no_file).names() == {"run"}


def test_a_new_process_knows_what_the_processor_read(nano: Path, tmp_path: Path) -> None:
    before = farroot.config()
    farroot.config(store_folder=tmp_path / "store", store="10 MB")
    try:
        table: Any = farroot.open({nano: "Events"})
        key = _reader.HabitKey("one", "Events", NanoAODSchema, "analysis.Muons")
        habits = _reader.Habits()
        assert habits.likely(key, table) == set()
        habits.keep(key, table, {"Muon_pt", "nMuon"})
        fresh = _reader.Habits()
        assert fresh.likely(key, table) == {"Muon_pt", "nMuon"}
        assert fresh.likely(key._replace(program="analysis.Jets"), table) == set()
        assert fresh.likely(key._replace(dataset="two"), table) == {"Muon_pt", "nMuon"}
        for _ in range(2):
            fresh.begin(key).add("run")
        assert fresh.likely(key, table) == {"run"}, "what a chunk has shown counts for more"
    finally:
        farroot.config(store_folder=before["store_folder"] or "", store=before["store"])


def test_partitions_are_chunks(nano: Path) -> None:
    whole = run(processor.Runner, {"one": {"files": {str(nano): "Events"}}})
    parts = farroot.partitions({nano: "Events"}, ["run", "nMuon", "Muon_pt"], step_size=50)
    items = farroot.coffea.work_items(parts, "one", {"year": 2018})
    assert [len(item) for item in items] == [50, 50]
    assert items[0].preload == {"run", "nMuon", "Muon_pt"}
    assert run(farroot.coffea.Runner, items) == whole
    assert run(processor.Runner, items) == whole
    with pytest.raises(farroot.InvalidArgumentError, match="blind"):
        farroot.coffea.work_items(farroot.partitions({nano: "Events"}, blind=2))
    with pytest.raises(farroot.InvalidArgumentError, match="cut"):
        farroot.coffea.work_items(farroot.partitions({nano: "Events"}, cut="run > 3"))


def test_a_file_that_is_not_there_is_coffeas_to_skip(nano: Path, tmp_path: Path) -> None:
    files = {str(nano): "Events", str(tmp_path / "missing.root"): "Events"}
    executor = processor.IterativeExecutor(status=False, retries=0)
    with pytest.raises(FileNotFoundError, match="missing"):
        run(farroot.coffea.Runner, {"one": {"files": files}}, executor)
    with pytest.warns(UserWarning, match="Skipping bad file"):
        out = run(farroot.coffea.Runner, {"one": {"files": files}}, executor, skipbadfiles=True)
    assert out["entries"] == ENTRIES


def test_a_replaced_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "replaced.root", seed=1)
    items = farroot.coffea.work_items(farroot.partitions({path: "Events"}))
    assert run(farroot.coffea.Runner, items)["entries"] == ENTRIES
    path.unlink()
    write(path, seed=2)
    # A new worker has no open tables.
    monkeypatch.setattr(scaleout.OPEN, "_tables", OrderedDict())
    executor = processor.IterativeExecutor(status=False, retries=0)
    with pytest.raises(Exception, match="another file"):
        run(farroot.coffea.Runner, items, executor)
