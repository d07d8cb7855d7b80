"""The calls that growth.py measures, each a function of a path and a size, by program.

A call of farroot's program is a list of words instead. `{target}` in it is a new path.
"""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import growth_files
import growth_served as served
import numpy as np

TREE = growth_files.TREE
#: What is done with a file of so many.
Job = Callable[[Path, int], object] | list[str]


@dataclass(frozen=True)
class Call:
    """One thing to do with files of one kind."""

    kind: str
    name: str
    farroot: Job
    uproot: Job | None = None
    root: Job | None = None
    #: Further sizes are left out, where it cannot be otherwise.
    size_max: int = 100_000

    @property
    def jobs(self) -> dict[str, Job]:
        found = {"farroot": self.farroot, "uproot": self.uproot, "ROOT": self.root}
        return {program: job for program, job in found.items() if job is not None}


def target_of(path: Path) -> Path:
    """Where a job writes."""
    target = path.with_name(f"written-{os.getpid()}.root")
    remove(target)
    return target


def remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)


# --- farroot and uproot, which have the same names


def both(act: Callable[[Any, Any, int], object]) -> tuple[Job, Job]:
    """A job of an opened tree, for farroot and for uproot."""

    def by(package: str) -> Job:
        def job(path: Path, size: int) -> object:
            module = __import__(package)
            with module.open(path) as file:
                return act(module, file, size)

        return job

    return by("farroot"), by("uproot")


def of_table(act: Callable[[Any, int], object]) -> tuple[Job, Job]:
    return both(lambda _, file, size: act(file[TREE], size))


def read(
    kind: str, name: str, act: Callable[[Any, int], object], root: Job | None = None, **more: Any
) -> Call:
    return Call(kind, name, *of_table(act), root, **more)


def ours(act: Callable[[Any, int], object]) -> Job:
    """A job of a table that farroot alone has."""
    return of_table(act)[0]


def three(size: int) -> list[str]:
    return [f"c{number}" for number in (0, size // 2, size - 1)]


def names(size: int) -> list[str]:
    return [f"c{number}" for number in range(size)]


def written(module: Any, path: Path, put: Callable[[Any], object]) -> None:
    target = target_of(path)
    try:
        with module.recreate(target) as file:
            put(file)
    finally:
        target.unlink(missing_ok=True)


def writes(put: Callable[[Any, int], object]) -> tuple[Job, Job]:
    def by(package: str) -> Job:
        return lambda path, size: written(__import__(package), path, lambda file: put(file, size))

    return by("farroot"), by("uproot")


def updated(path: Path, change: Callable[[Any], object]) -> None:
    import farroot

    target = target_of(path)
    try:
        shutil.copy(path, target)
        with farroot.update(target) as file:
            change(file)
    finally:
        target.unlink(missing_ok=True)


def updates(change: Callable[[Any, int], object]) -> Job:
    return lambda path, size: updated(path, lambda file: change(file, size))


# --- ROOT


def root_file(act: str) -> Job:
    """C++ of a file `file`, compiled before the clock starts: the job is called once before."""

    def job(path: Path, size: int) -> object:
        import ROOT

        called = f"growth_{abs(hash(act))}"
        if not hasattr(ROOT, called):
            ROOT.gInterpreter.Declare(
                f"long long {called}(const char* path) {{ "
                f"std::unique_ptr<TFile> file(TFile::Open(path)); {act} }}"
            )
        return getattr(ROOT, called)(str(path))

    return job


def root_tree(act: str) -> Job:
    """C++ of a tree `t`."""
    return root_file(f'TTree* t = file->Get<TTree>("{TREE}"); {act}')


ROOT_OPEN = root_tree("return t->GetEntries();")
ROOT_ALL = root_tree(
    "long long n = 0; for (long long i = 0; i < t->GetEntries(); ++i) n += t->GetEntry(i);"
    " return n;"
)
ROOT_NAMES = root_tree(
    "long long n = 0; for (auto b : *t->GetListOfBranches()) n += b->GetName()[0] != 0; return n;"
)
ROOT_KEYS = root_file(
    "long long n = 0; for (auto k : *file->GetListOfKeys()) n += k->GetName()[0]; return n;"
)
ROOT_ITEMS = root_file(
    "long long n = 0; for (auto k : *file->GetListOfKeys()) {"
    " std::unique_ptr<TObject> o(((TKey*)k)->ReadObj()); n += o != nullptr; } return n;"
)


def hadd(path: Path, size: int) -> None:
    """Two links of one file, or all of a folder."""
    import subprocess

    program = Path(importlib.util.find_spec("ROOT").origin).parent / "bin" / "hadd"
    target = target_of(path)
    try:
        sources = sorted(path.iterdir()) if path.is_dir() else [path, path]
        command = [program, target, *sources]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        target.unlink(missing_ok=True)


# --- the calls


def table_calls(kind: str) -> Iterable[Call]:
    """Of a tree or RNTuple with so many columns."""
    is_tree = kind == "columns"
    method = "mktree" if is_tree else "mkrntuple"
    root = {"open": ROOT_OPEN, "keys": ROOT_NAMES, "all": ROOT_ALL} if is_tree else {}
    yield read(kind, "open", lambda table, _: table.num_entries, root.get("open"))
    yield read(kind, "keys", lambda table, _: table.keys(), root.get("keys"))
    yield read(kind, "typenames", lambda table, _: table.typenames())
    yield read(kind, "show", lambda table, _: table.show(stream=io.StringIO()))
    yield read(kind, "arrays of three", lambda table, size: table.arrays(three(size)))
    yield read(kind, "arrays of all", lambda table, _: table.arrays(), root.get("all"))
    yield read(kind, "arrays of all names", lambda table, size: table.arrays(names(size)))
    yield read(kind, "arrays as NumPy", lambda table, _: table.arrays(library="np"))
    yield read(kind, "arrays as pandas", lambda table, _: table.arrays(library="pd"))
    yield read(kind, "a filter", lambda table, _: table.arrays(filter_name="c*"))
    yield read(kind, "a cut", lambda table, size: table.arrays(names(size), cut="c0 > 0"))
    yield read(kind, "iterate", lambda table, _: list(table.iterate(step_size=2)))
    yield read(kind, "virtual", lambda table, _: table.arrays(virtual=True))
    yield read(
        kind,
        "each column alone",
        lambda table, size: [table[name].array(library="np") for name in names(size)],
        size_max=10_000,
    )
    yield Call(kind, "to_arrow", ours(lambda table, _: table.arrays(library="arrow")))
    yield Call(kind, "plan", ours(lambda table, _: table.plan()))
    yield Call(kind, "chain", chain_of_two)
    yield Call(kind, "iterate files", iterate_two, iterate_two_uproot)
    yield Call(kind, "partitions", partitions_of_two)
    yield Call(
        kind,
        "write",
        *writes(lambda file, size: getattr(file, method)(TREE, growth_files.of_columns(size))),
    )
    yield Call(
        kind,
        "update: extend",
        updates(lambda file, size: file[TREE].extend(growth_files.of_columns(size))),
    )
    add = "add_branches" if is_tree else "add_fields"
    yield Call(
        kind,
        f"update: {add}",
        updates(
            lambda file, size: getattr(file[TREE], add)(
                {f"n{number}": np.arange(3) for number in range(size)}
            )
        ),
    )
    if importlib.util.find_spec("coffea"):
        yield Call(kind, "from_root", from_root("farroot"), from_root("coffea"))
    yield from file_verbs(kind)
    table = f"{{path}}:{TREE}"
    yield Call(kind, "farroot show", ["show", table])
    yield Call(kind, "farroot cat", ["cat", table])
    yield Call(kind, "farroot plan", ["plan", table])
    yield Call(kind, "farroot skim", ["skim", table, "{target}"])
    yield Call(kind, "farroot skim, a cut", ["skim", table, "{target}", "--cut", "c0 > 0"])
    yield Call(kind, "farroot cat --parquet", ["cat", table, "--parquet", "{target}"])


def file_verbs(kind: str) -> Iterable[Call]:
    """The verbs that take any file."""
    yield Call(kind, "farroot ls -r", ["ls", "-r", "{path}"])
    yield Call(kind, "farroot map", ["map", "{path}"])
    yield Call(kind, "farroot map --walk", ["map", "--walk", "{path}"])
    yield Call(kind, "farroot check", ["check", "{path}"])
    yield Call(kind, "farroot merge", ["merge", "{target}", "{path}", "{path}"], root=hadd)


def from_root(package: str) -> Job:
    """The events of a file by coffea itself, or by farroot."""

    def job(path: Path, size: int) -> object:
        from coffea.nanoevents import BaseSchema, NanoEventsFactory
        from farroot import coffea

        made_by = coffea.from_root if package == "farroot" else NanoEventsFactory.from_root
        return made_by({str(path): TREE}, schemaclass=BaseSchema, mode="virtual").events()

    return job


def chain_of_two(path: Path, size: int) -> object:
    import farroot

    return farroot.chain([f"{path}:{TREE}"] * 2).arrays()


def iterate_two(path: Path, size: int) -> object:
    import farroot

    return list(farroot.iterate([f"{path}:{TREE}"] * 2))


def iterate_two_uproot(path: Path, size: int) -> object:
    import uproot

    return list(uproot.iterate([f"{path}:{TREE}"] * 2))


def partitions_of_two(path: Path, size: int) -> object:
    import farroot

    parts = farroot.partitions([f"{path}:{TREE}"] * 2, step_size=2)
    return [part.arrays() for part in parts]


def cluster_calls(kind: str) -> Iterable[Call]:
    """Of a tree or RNTuple in so many clusters."""
    root = (ROOT_OPEN, ROOT_ALL) if kind == "baskets" else (None, None)
    yield read(kind, "open", lambda table, _: table.num_entries, root[0])
    yield read(kind, "arrays of all", lambda table, _: table.arrays(), root[1])
    yield read(kind, "one entry", lambda table, _: table.arrays(entry_start=5, entry_stop=6))
    yield read(kind, "a cut", lambda table, _: table.arrays(["c1"], cut="c0 % 100 == 0"))
    yield read(
        kind,
        "iterate, a cluster a step",
        lambda table, _: sum(1 for _ in table.iterate(["c0"], step_size=10)),
        size_max=10_000,
    )
    yield read(kind, "iterate", lambda table, _: sum(1 for _ in table.iterate(["c0"])))
    yield Call(kind, "virtual", ours(lambda table, _: table.arrays(virtual=True).c1))
    yield Call(kind, "plan", ours(lambda table, _: table.plan()))
    yield Call(kind, "partitions", cluster_partitions)
    yield Call(kind, "farroot plan", ["plan", f"{{path}}:{TREE}"])
    yield from file_verbs(kind)
    yield Call(kind, "farroot skim", ["skim", f"{{path}}:{TREE}", "{target}"])
    cut = ["--cut", "c0 % 20 < 10"]
    yield Call(kind, "farroot skim, a cut", ["skim", f"{{path}}:{TREE}", "{target}", *cut])
    yield Call(
        kind,
        "update: extend",
        updates(
            lambda file, _: file[TREE].extend({name: np.arange(3) for name in ("c0", "c1", "c2")})
        ),
    )
    method = "mktree" if kind == "baskets" else "mkrntuple"
    yield Call(kind, "write", lambda path, size: clustered(path, method, size))
    yield Call(kind, "write, an extend each", lambda path, size: extended(path, method, size))


def cluster_partitions(path: Path, size: int) -> object:
    import farroot

    return farroot.partitions([f"{path}:{TREE}"], ["c0"], step_size=10)


def clustered(path: Path, method: str, size: int) -> None:
    target = target_of(path)
    try:
        growth_files.clusters(method)(target, size)
    finally:
        target.unlink(missing_ok=True)


def extended(path: Path, method: str, size: int) -> None:
    import farroot

    one = {"x": np.arange(3)}

    def put(file: Any) -> None:
        table = getattr(file, method)(TREE, {"x": np.int64})
        for _ in range(size):
            table.extend(one)

    written(farroot, path, put)


def entry_calls(kind: str) -> Iterable[Call]:
    """Of so many entries."""
    yield read(kind, "arrays of all", lambda table, _: table.arrays())
    yield read(
        kind,
        "a cut that half of them pass",
        lambda table, _: table.arrays(["c0", "c2"], cut="c1 < 50"),
    )
    yield read(kind, "arrays as NumPy", lambda table, _: table.arrays(library="np"))
    yield Call(kind, "farroot cat --json", ["cat", "--json", f"{{path}}:{TREE}"])
    yield Call(kind, "farroot cat", ["cat", f"{{path}}:{TREE}"])
    cut = ["--cut", "c1 < 50"]
    yield Call(kind, "farroot skim, a cut", ["skim", f"{{path}}:{TREE}", "{target}", *cut])


def key_calls(kind: str) -> Iterable[Call]:
    """Of a directory with so many keys, or so many directories."""
    yield Call(kind, "open", *both(lambda _, file, size: file.file), ROOT_KEYS)
    yield Call(kind, "keys", *both(lambda _, file, size: file.keys()), ROOT_KEYS)
    yield Call(kind, "classnames", *both(lambda _, file, size: file.classnames()))
    last = (lambda size: f"h{size - 1}") if kind == "keys" else (lambda size: f"d{size - 1}/h")
    one = (lambda at: f"h{at}") if kind == "keys" else (lambda at: f"d{at}/h")
    yield Call(kind, "one object", *both(lambda _, file, size: file[last(size)]))
    yield Call(
        kind,
        "each object",
        *both(lambda _, file, size: [file[one(at)] for at in range(size)]),
        ROOT_ITEMS if kind == "keys" else None,
    )
    yield Call(kind, "items", *both(lambda _, file, size: file.items()))
    yield Call(kind, "in", *both(lambda _, file, size: [one(at) in file for at in range(size)]))
    yield from file_verbs(kind)
    yield Call(
        kind,
        "write",
        *writes(
            lambda file, size: [
                file.__setitem__(one(at), growth_files.histogram(10)) for at in range(size)
            ]
        ),
    )
    yield Call(
        kind,
        "write and read names",
        *writes(
            lambda file, size: [
                (
                    file.__setitem__(one(at), "text"),
                    file.keys() if at % 1000 == 0 else None,
                    one(at) in file,
                )
                for at in range(size)
            ]
        ),
    )
    yield Call(kind, "update: one more", updates(lambda file, _: file.__setitem__("x", "text")))
    yield Call(
        kind,
        "update: all again",
        updates(lambda file, size: [file.__setitem__(one(at), "text") for at in range(size)]),
    )
    yield Call(
        kind,
        "update: remove all",
        updates(lambda file, size: [file.__delitem__(one(at)) for at in range(size)]),
    )
    yield Call(
        kind, "read in update", updates(lambda file, size: [file[one(at)] for at in range(size)])
    )


def cycle_calls() -> Iterable[Call]:
    kind = "cycles"
    yield Call(kind, "keys", *both(lambda _, file, size: file.keys()), ROOT_KEYS, 10_000)
    yield Call(kind, "one object", *both(lambda _, file, size: file["h"]), None, 10_000)
    yield Call(
        kind,
        "each cycle",
        *both(lambda _, file, size: [file[f"h;{at + 1}"] for at in range(size)]),
        None,
        10_000,
    )
    yield from (
        Call(one.kind, one.name, one.farroot, one.uproot, one.root, 10_000)
        for one in file_verbs(kind)
    )
    yield Call(
        kind,
        "write",
        *writes(lambda file, size: [file.__setitem__("h", "text") for _ in range(size)]),
        size_max=10_000,
    )


def tables_calls(kind: str) -> Iterable[Call]:
    """Of so many tables in one file."""
    method = "mktree" if kind == "tables" else "mkrntuple"
    yield Call(kind, "keys", *both(lambda _, file, size: file.keys()))
    yield Call(
        kind,
        "arrays of each",
        *both(lambda _, file, size: [file[f"t{at}"].arrays(library="np") for at in range(size)]),
        size_max=10_000,
    )
    yield from file_verbs(kind)
    yield Call(
        kind,
        "write",
        *writes(
            lambda file, size: [
                getattr(file, method)(f"t{at}", {f"f{at}": np.arange(3)}) for at in range(size)
            ]
        ),
        size_max=10_000,
    )


def file_calls(kind: str) -> Iterable[Call]:
    """Of a folder of so many files."""

    def pattern(path: Path) -> str:
        return f"{path}/*.root:{TREE}"

    def listed(path: Path) -> list[str]:
        return [f"{one}:{TREE}" for one in path.iterdir()]

    def by(package: str, act: Callable[[Any, Any], object], files: Any) -> Job:
        return lambda path, size: act(__import__(package), files(path))

    def pair(act: Callable[[Any, Any], object], files: Any = pattern) -> tuple[Job, Job]:
        return by("farroot", act, files), by("uproot", act, files)

    yield Call(kind, "num_entries", *pair(lambda module, files: list(module.num_entries(files))))
    yield Call(
        kind,
        "num_entries of a list",
        *pair(lambda module, files: list(module.num_entries(files)), listed),
    )
    yield Call(
        kind,
        "iterate",
        *pair(lambda module, files: sum(1 for _ in module.iterate(files, ["c0"]))),
        size_max=10_000,
    )
    yield Call(
        kind,
        "concatenate",
        *pair(lambda module, files: module.concatenate(files, ["c0"])),
        size_max=10_000,
    )
    yield Call(
        kind,
        "chain",
        by("farroot", lambda module, files: module.chain(files).num_entries, pattern),
        size_max=10_000,
    )
    yield Call(
        kind,
        "chain, arrays",
        by("farroot", lambda module, files: module.chain(files).arrays(["c0"]), pattern),
        size_max=10_000,
    )
    yield Call(kind, "chain, each entry", by("farroot", chain_entries, pattern), size_max=3162)
    yield Call(
        kind,
        "partitions",
        by("farroot", lambda module, files: module.partitions(files, ["c0"]), pattern),
        size_max=10_000,
    )
    yield Call(
        kind,
        "partitions, read",
        by(
            "farroot",
            lambda module, files: [part.arrays() for part in module.partitions(files, ["c0"])],
            pattern,
        ),
        size_max=10_000,
    )
    yield Call(kind, "farroot ls", ["ls", "{path}/"])
    yield Call(kind, "farroot cp -r", ["cp", "-r", "{path}/", "{target}/"], size_max=10_000)
    yield Call(
        kind, "farroot merge", ["merge", "{target}", "{path}/*.root"], root=hadd, size_max=10_000
    )
    yield Call(
        kind,
        "farroot skim",
        ["skim", "{path}/*.root:" + TREE, "{target}", "-c", "c0"],
        size_max=10_000,
    )


def chain_entries(module: Any, files: str) -> object:
    table = module.chain(files)
    return [
        table.arrays(["c0"], entry_start=at, entry_stop=at + 1, library="np")
        for at in range(0, table.num_entries, 3)
    ]


def other_calls() -> Iterable[Call]:
    yield read("record", "open", lambda table, _: table.num_entries)
    yield read("record", "keys", lambda table, _: table.keys())
    yield read("record", "arrays of all", lambda table, _: table.arrays())
    yield read(
        "record",
        "arrays of three",
        lambda table, size: table.arrays([f"r.{name}" for name in three(size)]),
    )
    yield Call(
        "record",
        "arrays of all names",
        ours(lambda table, size: table.arrays([f"r.{name}" for name in names(size)])),
    )
    yield Call("record", "write", writes_record)
    yield from file_verbs("record")
    for kind, limit in (("split", 3162), ("leaves", 10_000)):
        yield read(kind, "open", lambda table, _: table.num_entries, ROOT_OPEN, size_max=limit)
        yield read(kind, "keys", lambda table, _: table.keys(), size_max=limit)
        yield read(kind, "arrays of all", lambda table, _: table.arrays(), ROOT_ALL, size_max=limit)
        yield from (
            Call(one.kind, one.name, one.farroot, one.uproot, one.root, limit)
            for one in file_verbs(kind)
        )
        skim = ["skim", f"{{path}}:{TREE}", "{target}"]
        yield Call(kind, "farroot skim", skim, size_max=limit)
    yield read(
        "split",
        "each branch",
        lambda table, size: [table["b"][name].array(library="np") for name in names(size)],
        size_max=3162,
    )
    yield Call("aliases", "open", ours(lambda table, _: len(table.aliases)))
    yield Call(
        "aliases",
        "each in a call",
        ours(lambda table, size: table.arrays([f"a{at}" for at in range(size)])),
    )
    yield Call("aliases", "one", ours(lambda table, size: table.arrays([f"a{size - 1}"])))
    yield from file_verbs("aliases")
    yield Call(
        "columns",
        "so many formulas",
        *of_table(lambda table, size: table.arrays([f"{name} + 1" for name in names(size)])),
    )
    yield Call(
        "columns",
        "so many aliases",
        *of_table(
            lambda table, size: table.arrays(
                [f"a{at}" for at in range(size)],
                aliases={f"a{at}": f"c{at} + 1" for at in range(size)},
            )
        ),
    )
    yield Call("columns", "so many friends", friends, size_max=3162)
    yield from object_calls()


def friends(path: Path, size: int) -> object:
    import farroot

    table = farroot.open(f"{growth_files.path_of('columns', 100)}:{TREE}")
    for number in range(size):
        table.add_friend(f"{growth_files.path_of('columns', 100)}:{TREE}", f"f{number}")
    return table.arrays([f"f{number}.c0" for number in range(size)])


def writes_record(path: Path, size: int) -> None:
    target = target_of(path)
    try:
        growth_files.record(target, size)
    finally:
        target.unlink(missing_ok=True)


def served_calls() -> Iterable[Call]:
    """Of servers: so many requests, clients or files."""
    yield Call("requests", "farroot serve", served.requests_served)
    yield Call("requests", "farroot proxy", served.requests_proxied)
    yield Call("clients", "farroot serve", served.clients_served, size_max=3162)
    yield Call("clients", "farroot proxy", served.clients_proxied, size_max=3162)
    yield Call("files", "farroot proxy", served.files_proxied, size_max=10_000)
    yield Call("files", "num_entries over HTTP", served.files_over_http, size_max=10_000)
    yield Call("files", "a pattern over root://", served.listed_over_root, size_max=10_000)
    for verb in ("ls", "stat", "verify"):
        yield Call("cached", f"farroot cache {verb}", ["cache", verb], size_max=10_000)


def object_calls() -> Iterable[Call]:
    yield Call("bins", "read", *both(lambda _, file, size: file["h"].to_numpy()), ROOT_ITEMS)
    yield Call("bins", "to_hist", *both(lambda _, file, size: file["h"].to_hist()))
    yield Call(
        "bins",
        "write",
        *writes(lambda file, size: file.__setitem__("h", growth_files.histogram(size))),
    )
    yield from file_verbs("bins")
    yield Call("labels", "read", *both(lambda _, file, size: file["h"].axis().labels()), ROOT_ITEMS)
    yield Call("labels", "to_hist", *both(lambda _, file, size: file["h"].to_hist()))
    yield Call("labels", "write again", *both(labels_again))
    yield from file_verbs("labels")
    yield Call("items", "read", *both(lambda _, file, size: list(file["l"])), ROOT_ITEMS)
    yield from file_verbs("items")


def labels_again(module: Any, file: Any, size: int) -> None:
    found = file["h"].to_hist()
    written(module, Path(growth_files.FOLDER / "x"), lambda target: target.__setitem__("h", found))


CALLS: tuple[Call, ...] = (
    *table_calls("columns"),
    *table_calls("fields"),
    *cluster_calls("baskets"),
    *cluster_calls("clusters"),
    *entry_calls("entries"),
    *entry_calls("entries-ntuple"),
    *key_calls("keys"),
    *key_calls("directories"),
    *cycle_calls(),
    *tables_calls("tables"),
    *tables_calls("ntuples"),
    *file_calls("files"),
    *file_calls("files-ntuple"),
    *other_calls(),
    *served_calls(),
)
