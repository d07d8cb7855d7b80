"""Python and the command line mean the same columns, whatever is asked for.

`tree.plan` and `farroot plan` say of each column that would be fetched where it is. Both get
names, paths, globs and typing errors that a seeded generator makes of the names in the files.
Filters, which only Python has, are compared with a few lines that try each name of the list.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import farroot

from .entry_points import run_here
from .skips import corpus_folder

ROOT = Path(__file__).parents[2]
TESTDATA = ROOT / "crates" / "rootfile" / "testdata"
#: Trees with branches in branches, with friends in their file and in others, chains, RNTuples with
#: records, collections and variants.
TABLES = [
    f"{TESTDATA}/split.root:events",
    f"{TESTDATA}/plain.root:events",
    f"{TESTDATA}/members.root:events",
    f"{TESTDATA}/friends.root:events",
    f"{TESTDATA}/chain.root:series",
    f"{TESTDATA}/chain.root:counted",
    f"{TESTDATA}/ntuple_fields.root:events",
    f"{TESTDATA}/ntuple_records.root:events",
    f"{ROOT}/sim/testdata/small_groups.root:Events",
    f"{ROOT}/sim/testdata/small_ntuple.root:Events",
]
#: Of the corpus: two branches of one path, dots in names, a thousand branches, objects.
OF_CORPUS = [
    "uproot-issue443.root:muonDataTree",
    "uproot-HZZ-objects.root:events",
    "uproot-issue513.root:Delphes",
    "Run2012BC_DoubleMuParked_Muons_1000evts_rntuple_v1-0-0-0.root:Events",
]
#: Texts that are asked for of each table.
QUERIES = 60


def addresses() -> list[str]:
    folder = corpus_folder()
    found = [] if folder is None else [f"{folder}/{name}" for name in OF_CORPUS]
    return TABLES + [each for each in found if Path(each.rpartition(":")[0]).exists()]


def opened(address: str) -> Any:
    return farroot.open(address)


def columns_of(table: Any) -> list[tuple[str, str]]:
    """Path and last name of every branch or field, also of friends with their name in front."""
    found = [(path, column.name) for path, column in table.items()]
    for name, friend in table.friends.items():
        found += [(f"{name}.{path}", f"{name}.{column.name}") for path, column in friend.items()]
    return found


def queries(table: Any, seed: int) -> Iterator[str]:
    """Texts of every kind, made of the names that there are."""
    rng = random.Random(seed)
    known = columns_of(table)
    kinds: list[Callable[[str, str], str]] = [
        lambda path, _: path,
        lambda _, name: name,
        lambda path, _: path.replace("/", "."),
        lambda path, _: path.replace(".", "/"),
        lambda path, _: "/" + path,
        lambda _, name: "/" + name,
        lambda path, _: path[: rng.randint(0, len(path))] + "*",
        lambda _, name: "*" + name[rng.randint(0, len(name)) :],
        lambda _, name: _with(name, rng, "?"),
        lambda path, _: _with(path, rng, "*"),
        lambda path, _: path[:-1] + f"[{path[-1]}z]*" if path[-1] not in "[]" else path,
        lambda path, _: path[:-1] + f"[!{path[-1]}]*" if path[-1] not in "[]" else path,
        lambda _, name: name.upper(),
        lambda _, name: name + "q",
        lambda _, name: name[1:] if len(name) > 1 else "zz",
        lambda path, _: path.rpartition("/")[0] or path,
        lambda path, _: path.rpartition(".")[0] or path,
    ]
    for number in range(QUERIES):
        yield kinds[number % len(kinds)](*rng.choice(known))


def _with(text: str, rng: random.Random, letter: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + letter + text[at + 1 :]


def meant_in_python(table: Any, text: str) -> list[Any]:
    """The reads of each table: columns of trees, ranges of bytes of RNTuples.

    Nothing where the text means nothing: an error, since nobody asks for that.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plan = table.plan(text)
        except (farroot.KeyInFileError, farroot.InvalidArgumentError):
            return []
    if isinstance(table, farroot.Tree):
        return sorted({(p.file_path, p.object_path, each.name) for p in plan for each in p.columns})
    return [(p.file_path, p.object_path, list(map(list, p.ranges))) for p in plan if p.ranges]


def meant_in_the_shell(table: Any, text: str, capfd: pytest.CaptureFixture[str]) -> list[Any]:
    """The same of ``farroot plan``."""
    status = run_here("plan", table.address, "--json", "--columns", text)
    out, error = capfd.readouterr()
    if status:
        assert re.search(
            "is called|cannot be read|matches the pattern|without a column|has no member", error
        ), error
        return []
    plan = json.loads(out)["tables"]
    if isinstance(table, farroot.Tree):
        return sorted({(p["url"], p["path"], each["name"]) for p in plan for each in p["columns"]})
    return [(p["url"], p["path"], p["ranges"]) for p in plan if p["ranges"]]


@pytest.mark.parametrize("address", addresses(), ids=lambda address: Path(address).name)
def test_names_mean_the_same_everywhere(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Names were looked up twice, in Rust and in Python, each by rules of its own: ``/x`` was a
    path here and a last name there, and fields had last names in Python only."""
    table = opened(address)
    texts = [text for text in queries(table, seed=len(Path(address).name)) if "," not in text]
    assert len(texts) > QUERIES // 2
    meant = {text: meant_in_python(table, text) for text in texts}
    assert sum(map(bool, meant.values())) > len(meant) // 4
    for text, columns in meant.items():
        shell = meant_in_the_shell(table, text, capfd)
        # Python takes a text that is no column's name for a formula.
        assert columns == shell or (not shell and _is_division(text)), text


def _is_division(text: str) -> bool:
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.BinOp)
    except SyntaxError:
        return False


def accepts(filter_: Any) -> Callable[[str], bool]:
    """A filter, spelled out once more."""
    if filter_ is None:
        return lambda _: True
    if callable(filter_):
        return lambda name: bool(filter_(name))
    if not isinstance(filter_, str):
        return lambda name: any(accepts(each)(name) for each in filter_)
    # As in uproot, the member `x` of a branch, with a slash before it, is a regex with a flag.
    if regex := re.fullmatch(r"/(.*)/([iLmsux]*)", filter_):
        pattern = re.compile(f"(?{regex[2]})" + regex[1] if regex[2] else regex[1])
        return lambda name: pattern.match(name) is not None
    if re.search(r"[*?\[]", filter_):
        return lambda name: fnmatch.fnmatchcase(name, filter_)
    return lambda name: name == filter_


def filters(table: Any, seed: int) -> Iterator[Any]:
    rng = random.Random(seed)
    known = [(path, column.name) for path, column in table.items()]
    for path, name in rng.choices(known, k=8):
        yield path
        yield "/" + path
        yield name[:2] + "*"
        yield _with(path, rng, "?")
        yield f"/.*{re.escape(name[-2:])}$/"
        yield f"/{re.escape(name.upper())}/i"
        yield [name, path[:1] + "*", lambda text, name=name: len(text) == len(name)]
        yield lambda text, name=name: text > name
    yield from ([], "nothing", None)


# Regression: the seed was the length of the whole path, so that the filters were others in another
# folder; from a path of some lengths they had "/event/x" among them.
@pytest.mark.parametrize("address", addresses(), ids=lambda address: Path(address).name)
def test_filters_accept_names_paths_and_paths_from_the_top(address: str) -> None:
    table = opened(address)
    separator = "/" if isinstance(table, farroot.Tree) else "."
    everything = table.items()
    for each in filters(table, seed=len(Path(address).name)):
        test = accepts(each)
        expected = [
            path
            for path, column in everything
            if test(column.name) or test(path) or test(separator + path)
        ]
        assert table.keys(filter_name=each) == expected, each
    for typename in {column.typename for _, column in everything[:40]}:
        expected = [path for path, column in everything if column.typename == typename]
        assert table.keys(filter_typename=lambda text, t=typename: text == t) == expected
        chosen = table.keys(filter_branch=lambda column, t=typename: column.typename == t)
        assert chosen == expected


@pytest.mark.parametrize("address", addresses(), ids=lambda address: Path(address).name)
def test_what_filters_accept_is_what_its_paths_mean(address: str) -> None:
    """A filter and the list of the columns that it accepts read the same."""
    table = opened(address)
    for each in filters(table, seed=len(Path(address).name) + 1):
        paths = table.keys(filter_name=each)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            filtered = table.plan(filter_name=each)
            readable = [path for path in paths if _is_readable(table, path)]
            named = table.plan(readable) if readable else []
        columns = [
            {each.name for one in plan for each in one.columns} for plan in (filtered, named)
        ]
        assert columns[0] == columns[1], each


def _is_readable(table: Any, path: str) -> bool:
    try:
        table.plan(path)
    except farroot.UnsupportedError:
        return False
    return True
