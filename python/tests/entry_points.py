"""Every way to read a table; each gives the values of a case, where it can express that."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import farroot
from farroot._core import main

from .differential_cases import Case, Values
from .skips import rust_example
from .test_remote import started


class Unexpressed(Exception):  # noqa: N818, it is no error
    """An entry point has no words for a case."""


class CommandError(farroot.Error):
    """The command ended with an error message."""


def to_values(arrays: Any, case: Case) -> Values:
    """Arrays of any library as lists."""
    if not type(arrays).__module__.startswith("pandas"):
        return {name: to_list(arrays[name]) for name in case.columns}
    return regrouped({name: to_list(arrays[name]) for name in arrays.columns}, case)


def regrouped(found: Values, case: Case) -> Values:
    """Branches of branches as one column of records, where their branches are columns."""
    for name in case.columns:
        if name in found:
            continue
        inside = [key for key in found if key.startswith(f"{name}/")]
        parts = {key.removeprefix(f"{name}/"): found[key] for key in inside}
        if parts:
            rows = zip(*parts.values(), strict=True)
            found[name] = [dict(zip(parts, row, strict=True)) for row in rows]
    return {name: found[name] for name in case.columns}


def to_list(array: Any) -> list[Any]:
    if isinstance(array, dict):  # A branch of branches, of NumPy.
        members = [to_list(each) for each in array.values()]
        return [dict(zip(array, entry, strict=True)) for entry in zip(*members, strict=True)]
    if isinstance(array, np.ma.MaskedArray):
        return list(array.tolist())
    if isinstance(array, np.ndarray) and array.dtype == object:
        return [to_list(each) if isinstance(each, np.ndarray) else _plain(each) for each in array]
    listed: list[Any] = array.tolist() if hasattr(array, "tolist") else list(array)
    return [_plain(each) for each in listed]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, np.void):
        return [_plain(each) for each in value.item()]
    if type(value).__module__.startswith("farroot") and hasattr(value, "items"):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, np.ndarray)) or type(value).__name__ == "Series":
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _ranged(case: Case) -> dict[str, Any]:
    return {"entry_start": case.start, "entry_stop": case.stop}


def _named(case: Case) -> dict[str, Any]:
    return {"aliases": dict(case.aliases)} if case.aliases else {}


def _beside(case: Case) -> dict[str, Any]:
    return {"friends": dict(case.table.friends)} if case.table.friends else {}


def _opened(case: Case) -> Any:
    files = case.files
    table = farroot.open(files[0]) if case.table.is_one else farroot.chain(files)
    return _with_friends(case, table)


def _with_friends(case: Case, table: Any) -> Any:
    for name, address in case.table.friends:
        table.add_friend(address, name)
    return table


def _need(can_express: bool) -> None:
    if not can_express:
        raise Unexpressed


# --- Python


def by_array(case: Case) -> Values:
    _need(case.cut is None and case.is_plain)
    table = _opened(case)
    return {name: to_list(table[name].array(**_ranged(case))) for name in case.columns}


def by_arrays(case: Case, library: Any = "ak") -> Values:
    options = _ranged(case) | _named(case)
    found = _opened(case).arrays(case.asked, cut=case.cut, library=library, **options)
    return to_values(found, case)


def by_arrow(case: Case) -> Values:
    options = _ranged(case) | _named(case)
    found = _opened(case).arrays(case.asked, cut=case.cut, library="arrow", **options)
    return _of_arrow(found, case)


def _of_arrow(found: Any, case: Case) -> Values:
    return {name: found.column(name).to_pylist() for name in case.columns}


def by_batches(case: Case) -> Values:
    options = _ranged(case) | _named(case)
    with _opened(case).to_arrow(case.asked, case.cut, step_size=11, **options) as batches:
        return _of_arrow(batches.read_all(), case)


def by_tuple(case: Case) -> Values:
    options = _ranged(case) | _named(case)
    found = _opened(case).arrays(case.asked, cut=case.cut, how=tuple, **options)
    pairs = zip(case.columns, found, strict=True)
    return {name: to_list(array) for name, array in pairs}


def by_iterate(case: Case, step_size: Any, library: Any = "ak") -> Values:
    options = _ranged(case) | _named(case) | {"step_size": step_size, "library": library}
    return _joined(case, _opened(case).iterate(case.asked, cut=case.cut, **options))


def _joined(case: Case, steps: Any) -> Values:
    found: Values = {name: [] for name in case.columns}
    for batch in steps:
        for name, values in to_values(batch, case).items():
            found[name] += values
    return found


def by_iterate_of_files(case: Case) -> Values:
    _need(case.is_whole)
    options = _named(case) | _beside(case)
    return _joined(case, farroot.iterate(case.files, case.asked, case.cut, step_size=13, **options))


def by_concatenate(case: Case) -> Values:
    options = _ranged(case) | _named(case) | _beside(case)
    return to_values(farroot.concatenate(case.files, case.asked, case.cut, **options), case)


def by_chain(case: Case) -> Values:
    options = _ranged(case) | _named(case)
    chain = _with_friends(case, farroot.chain(case.files))
    return to_values(chain.arrays(case.asked, cut=case.cut, **options), case)


def by_virtual(case: Case) -> Values:
    _need(case.cut is None and case.expected is not None and not case.aliases)
    known = case.table.columns
    # It refuses chains, and says so.
    of_file = case.table.virtual if not case.table.friends else frozenset()
    _need(known.keys() - of_file >= set(case.columns) and case.table.is_one)
    found = _opened(case).arrays(case.asked, virtual=True, **_ranged(case))
    return {name: to_list(ak.materialize(found[name])) for name in case.columns}


def by_partitions(case: Case) -> Values:
    _need(case.is_whole and not case.aliases)
    parts = farroot.partitions(case.files, case.asked, case.cut, step_size=17, **_beside(case))
    return _joined(case, farroot.map(lambda part: part.arrays(), parts))


def by_polars(case: Case) -> Values:
    _need(case.cut is None and case.is_plain and not case.table.friends)
    _need(case.expected is not None and "." not in "".join(case.columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", farroot.UnreadableWarning)
        frame = farroot.scan_polars(case.files)
        _need(set(frame.collect_schema().names()) >= set(case.columns))
    start, stop = case.entry_range
    frame = frame.select(*case.columns).slice(start, stop - start).collect()
    return {name: frame[name].to_list() for name in case.columns}


def by_coffea(case: Case) -> Values:
    _need(importlib.util.find_spec("coffea") is not None)
    _need(case.cut is None and case.is_plain and case.expected is not None and case.table.is_one)
    # coffea has no form for what may be missing.
    types = [str(case.table.columns[name].type) for name in case.columns]
    _need(not any("?" in each for each in types))
    from coffea.nanoevents import BaseSchema

    import farroot.coffea

    start, stop = case.entry_range
    file = {str(case.table.paths[0]): case.table.within}
    factory = farroot.coffea.from_root(
        file, schemaclass=BaseSchema, entry_start=start, entry_stop=stop
    )
    events = factory.events()
    return {name: to_list(ak.materialize(events[name])) for name in case.columns}


# --- The command


def by_cat(case: Case, address: str | None = None) -> Values:
    _need(case.table.is_one)
    return _of_rows(command("cat", address or case.files[0], "--json", *_shell(case)), case)


def _of_rows(text: str, case: Case) -> Values:
    """Columns of lines of JSON, one an entry."""
    rows = [json.loads(line) for line in text.splitlines()]
    names = rows[0] if rows else case.columns
    return regrouped({name: [row[name] for row in rows] for name in names}, case)


def by_cat_parquet(case: Case) -> Values:
    _need(case.table.is_one)
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/o.parquet"
        command("cat", case.files[0], "--parquet", target, *_shell(case))
        return _of_parquet(target, case)


def _of_parquet(path: str, case: Case) -> Values:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return regrouped({name: table.column(name).to_pylist() for name in table.column_names}, case)


def _shell(case: Case) -> list[str]:
    _need(case.is_counted_from_the_start and not case.aliases)
    cut = [] if case.cut is None else ["--cut", case.cut]
    friends = [word for name, at in case.table.friends for word in ("--friend", f"{name}={at}")]
    stop = [] if case.stop is None else ["--entry-stop", str(case.stop)]
    words = ["-c", ",".join(case.asked), *cut, *friends]
    return [*words, "--entry-start", str(case.start or 0), *stop]


def command(*words: str) -> str:
    """The output of the command, run in this process; its error as a :class:`CommandError`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        with _redirected(1, out), _redirected(2, errors):
            status = run_here(*words)
        out.seek(0)
        errors.seek(0)
        text, told = out.read().decode(), errors.read().decode()
    if status:
        assert told.startswith("farroot: "), told
        assert "panicked" not in told, told
        raise CommandError(told.strip())
    return text


def run_here(*words: str) -> int:
    """The exit code of the command, run in this process."""
    status = main(["farroot", *words])
    # The command has handlers of its own, which a child of this process would have, too: a pool of
    # processes then waits without end for children that SIGTERM does not end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.getsignal(number))
    return status


@contextmanager
def _redirected(number: int, file: Any) -> Iterator[None]:
    """Sends the output of a file descriptor to a file."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        os.dup2(before, number)
        os.close(before)


# --- Rust


def by_rust(case: Case, step: str) -> Values:
    """A program of a user of the crate, which has no names for friends and aliases."""
    program = rust_example()
    _need(program is not None and case.is_counted_from_the_start)
    _need(not case.aliases and not case.table.friends)
    # Entries are those of each table of a scan.
    _need(case.table.is_one or (case.is_whole and step != "all"))
    _need(case.cut is None or step != "all")
    start = case.start or 0
    # The crate refuses a range that ends before it begins; elsewhere it is an empty one.
    stop = 2**64 - 1 if case.stop is None else max(case.stop, start)
    words = [step, str(start), str(stop), case.cut or "", *case.asked, "--", *case.files]
    ended = subprocess.run([str(program), *words], capture_output=True, text=True, check=False)
    if ended.returncode:
        assert ended.returncode == 1, ended.stderr
        raise CommandError(ended.stderr.strip())
    return _of_rows(ended.stdout, case)


# --- Written, then read


def by_skim(case: Case, **options: Any) -> Values:
    words = _new_columns(case)
    _need(case.expected is None or _can_be_written(case, options.get("format")))
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.root"
        farroot.skim(case.files, out, _stored(case), case.cut, define=words, **options)
        return _named_again(farroot.open(out)[case.table.within].arrays(), words, case)


def _can_be_written(case: Case, form: str | None) -> bool:
    """Whether such a table can have these columns: fields have no dots, branches no records."""
    if form == "rntuple":
        return not any(letter in name for name in case.columns for letter in ". /[")
    types = [
        str(case.table.columns[name].type) for name in case.columns if name in case.table.columns
    ]
    return form is None or not any(sign in each for each in types for sign in "?{(")


def by_skim_command(case: Case) -> Values:
    words = _new_columns(case)
    defined = [word for name, text in words.items() for word in ("--define", f"{name}={text}")]
    cut = [] if case.cut is None else ["--cut", case.cut]
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.root"
        command("skim", *case.files, out, "-c", ",".join(_stored(case)), *cut, *defined)
        return _named_again(farroot.open(out)[case.table.within].arrays(), words, case)


def by_skim_to_parquet(case: Case) -> Values:
    words = _new_columns(case)
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.parquet"
        farroot.skim(case.files, out, _stored(case), case.cut, define=words)
        import pyarrow.parquet as pq

        found = pq.read_table(out)
        listed = {name: found.column(name).to_pylist() for name in found.column_names}
        return _named_again(listed, words, case)


def _stored(case: Case) -> list[str]:
    """The columns that a skim copies: none of friends, and no formulas."""
    known = case.table.columns.keys() - case.table.virtual
    aliases = dict(case.aliases)
    stored = [name for name in case.asked if name in known or name.endswith("*")]
    if case.expected is None:
        _need(case.is_plain)
        return list(case.asked)
    _need(bool(stored))
    copied = [name for name in case.columns if name not in aliases]
    _need(not case.table.friends and not any("/" in name for name in copied))
    return stored


def _new_columns(case: Case) -> dict[str, str]:
    _need(case.is_whole)
    aliases = dict(case.aliases)
    known = case.table.columns.keys() - case.table.virtual
    if case.expected is None:
        return {}
    new = [name for name in case.columns if name not in known and name not in aliases]
    return aliases | {f"new{at}": text for at, text in enumerate(new)}


def _named_again(found: Any, words: dict[str, str], case: Case) -> Values:
    """Columns by their texts, which skims name otherwise."""
    names = {text: name for name, text in words.items()} | {name: name for name in words}
    return {name: to_list(found[names.get(name, name)]) for name in case.columns}


def by_merge(case: Case) -> Values:
    _need(case.is_whole and case.is_stored and case.cut is None and case.table.is_one)
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.root"
        farroot.merge([str(path) for path in case.table.paths], out)
        found = farroot.open(f"{out}:{case.table.within}").arrays(case.asked)
        return to_values(found, case)


def by_append(case: Case, is_command: bool, is_first: bool) -> Values:
    """A file to which the further ones are added in place; a single one is added to itself, and
    read are the entries that were there, or the new ones."""
    _need(not case.table.friends)
    first, *others = map(str, case.table.paths)
    entries = case.table.entries
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.root"
        shutil.copy(first, out)
        if is_command:
            command("merge", "-a", out, *(others or [first]), "--missing", "filter")
        else:
            farroot.merge(others or [first], out, append=True, missing="filter")
        table = farroot.open(f"{out}:{case.table.within}")
        assert table.num_entries == (entries if others else 2 * entries)
        before = 0 if others or is_first else entries
        start, stop = (before + each for each in case.entry_range)
        options = {"entry_start": start, "entry_stop": stop} | _named(case)
        return to_values(table.arrays(case.asked, cut=case.cut, **options), case)


# --- From afar

#: ``host:port`` of a server of the folders with cases, and of a proxy, while they run.
_hosts: dict[str, str] = {}


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Serves a folder, and runs a proxy, for the entry points that read from afar."""
    with (
        started("serve", str(folder), "--select") as server,
        started("proxy", "--select") as proxy,
    ):
        _hosts.update(server=server, proxy=proxy)
        yield


def by_far(case: Case, url: str, near: bool | str | None = None) -> Values:
    urls = [url.format(name=path.name, **_hosts) for path in case.table.paths]
    if near is not None:
        place = near.format(**_hosts) if isinstance(near, str) else near
        urls = [farroot.with_credentials(each, near=place) for each in urls]
    options = _ranged(case) | _named(case)
    if case.table.is_one:
        table = farroot.open({urls[0]: case.table.within})
    else:
        table = farroot.chain([{each: case.table.within} for each in urls])
    table = _with_friends(case, table)
    return to_values(table.arrays(case.asked, cut=case.cut, **options), case)


def by_far_cat(case: Case) -> Values:
    server = _hosts["server"]
    return by_cat(case, f"root://{server}//{case.table.paths[0].name}:{case.table.within}")


def by_proxied_cat(case: Case) -> Values:
    server, proxy = _hosts["server"], _hosts["proxy"]
    name = case.table.paths[0].name
    return by_cat(case, f"http://{proxy}/root://{server}//{name}:{case.table.within}")


def by_uproot_through_farroot(case: Case) -> Values:
    """uproot itself, whose reads of bytes farroot answers."""
    _need(case.cut is None and case.is_plain and case.table.is_one and case.expected is not None)
    import uproot

    with uproot.open(case.table.paths[0], handler=farroot.Source) as file:
        table = file[case.table.within]
        return {name: to_list(table[name].array(**_ranged(case))) for name in case.columns}


ENTRY_POINTS: dict[str, Callable[[Case], Values]] = {
    "array": by_array,
    "arrays": by_arrays,
    "arrays, np": functools.partial(by_arrays, library="np"),
    "arrays, pd": functools.partial(by_arrays, library="pd"),
    "arrays, arrow": by_arrow,
    "arrays, how=tuple": by_tuple,
    "to_arrow": by_batches,
    "iterate, 7 entries": functools.partial(by_iterate, step_size=7),
    "iterate, 1 entry, np": functools.partial(by_iterate, step_size=1, library="np"),
    "iterate, 1 kB": functools.partial(by_iterate, step_size="1 kB"),
    "farroot.iterate": by_iterate_of_files,
    "concatenate": by_concatenate,
    "chain": by_chain,
    "virtual": by_virtual,
    "partitions and map": by_partitions,
    "scan_polars": by_polars,
    "cat --json": by_cat,
    "cat --json of a server": by_far_cat,
    "cat --parquet": by_cat_parquet,
    "Rust, Table::read": functools.partial(by_rust, step="all"),
    "Rust, Engine::scan": functools.partial(by_rust, step="7"),
    "skim": by_skim,
    "skim to RNTuple": functools.partial(by_skim, format="rntuple"),
    "skim to tree": functools.partial(by_skim, format="tree"),
    "skim to Parquet": by_skim_to_parquet,
    "farroot skim": by_skim_command,
    "merge": by_merge,
    "merge, append=True": functools.partial(by_append, is_command=False, is_first=True),
    "farroot merge -a": functools.partial(by_append, is_command=True, is_first=False),
    "served, root://": functools.partial(by_far, url="root://{server}//{name}"),
    "served, http://": functools.partial(by_far, url="http://{server}/{name}"),
    "through the proxy": functools.partial(by_far, url="root://{proxy}//root://{server}//{name}"),
    "through the proxy, http://": functools.partial(
        by_far, url="http://{proxy}/http://{server}/{name}"
    ),
    "selected by the server, root://": functools.partial(
        by_far, url="root://{server}//{name}", near=True
    ),
    "selected by the server, http://": functools.partial(
        by_far, url="http://{server}/{name}", near=True
    ),
    "selected by the proxy": functools.partial(
        by_far, url="root://{server}//{name}", near="http://{proxy}"
    ),
    "selected through the proxy": functools.partial(
        by_far, url="http://{proxy}/root://{server}//{name}", near=True
    ),
    "cat --json through the proxy": by_proxied_cat,
    "uproot over farroot.Source": by_uproot_through_farroot,
}
if importlib.util.find_spec("coffea") is not None:
    ENTRY_POINTS["coffea"] = by_coffea


def read(entry_point: Callable[[Case], Values], case: Case) -> Values | farroot.Error | None:
    """The values, or an error of farroot's; None where the entry point cannot express the case."""
    with contextlib.suppress(Unexpressed):
        try:
            return entry_point(case)
        except farroot.Error as error:
            return error
    return None
