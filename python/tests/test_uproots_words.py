"""Words of uproot's users: taken, or refused by an error that names the words to write.

A parameter, an attribute or a name of the installed uproot that farroot neither has nor explains
fails here.
"""

from __future__ import annotations

import inspect
import io
import socket
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import uproot
from uproot.behaviors.RNTuple import HasFields, RNTuple
from uproot.behaviors.TBranch import HasBranches, TBranch
from uproot.behaviors.TTree import TTree
from uproot.models.RNTuple import RField
from uproot.reading import ReadOnlyDirectory, ReadOnlyFile

import farroot
from farroot import _uproot, exceptions

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"

#: Classes of uproot and those that stand for them here.
CLASSES = [
    (HasBranches, farroot.Tree),
    (HasBranches, farroot.Branch),
    (TTree, farroot.Tree),
    (TBranch, farroot.Branch),
    (HasFields, farroot.RNTuple),
    (HasFields, farroot.Field),
    (RNTuple, farroot.RNTuple),
    (RField, farroot.Field),
    (ReadOnlyDirectory, farroot.Directory),
    (ReadOnlyFile, farroot.File),
]
#: Names that only uproot's own machinery calls.
INSIDE = ("hook_", "class_", "base_names", "behaviors", "cursor", "chunk", "parents", "encoded_")


#: Functions whose arguments have another order.
OTHER_ORDER = ("File.show_streamers",)
#: The package without its types.
API: Any = farroot


def pairs() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Every function that both have: its name, uproot's and ours."""
    for name in ("open", "iterate", "concatenate", "num_entries"):
        yield name, getattr(uproot, name), getattr(farroot, name)
    for theirs, mine in CLASSES:
        for name, function in vars(theirs).items():
            if inspect.isfunction(function) and not name.startswith("_") and hasattr(mine, name):
                yield f"{mine.__name__}.{name}", function, getattr(mine, name)


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_uproot, "_warned", set())


@pytest.mark.parametrize(
    ("name", "theirs", "mine"), list(pairs()), ids=[name for name, *_ in pairs()]
)
def test_every_parameter_is_taken_or_explained(
    name: str, theirs: Callable[..., Any], mine: Callable[..., Any]
) -> None:
    own = inspect.signature(mine).parameters
    passes_on = any(each.kind is each.VAR_KEYWORD for each in own.values())
    known = {*own, *_uproot.ARGUMENTS}
    for position, (parameter, each) in enumerate(inspect.signature(theirs).parameters.items()):
        if each.kind is each.VAR_KEYWORD:
            if name == "open":
                assert known.issuperset(uproot.reading.open.defaults)
            continue
        if parameter in own and each.kind is each.POSITIONAL_OR_KEYWORD:
            assert own[parameter].kind is each.kind, parameter
            assert list(own).index(parameter) == position or name in OTHER_ORDER, parameter
        assert parameter in known or passes_on, parameter


def test_help_names_each_argument() -> None:
    """They stand once, as a type of several functions, and ``help`` spells them out."""
    for function in (farroot.iterate, farroot.concatenate, farroot.Tree.iterate, farroot.Tree.keys):
        parameters = inspect.signature(function).parameters
        assert {"filter_name", "filter_branch"} <= parameters.keys()
        assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())
    parameters = inspect.signature(farroot.iterate).parameters
    assert parameters["step_size"].default == "100 MB"
    assert parameters["library"].default == "ak"
    assert str(parameters["aliases"]) == "aliases: 'Mapping[str, str] | None' = None"
    with pytest.raises(farroot.ArgumentTypeError, match="did you mean step_size"):
        API.iterate("f.root:t", step_sise=3)
    with pytest.raises(farroot.ArgumentTypeError, match=r"no num_entries_for\(library="):
        farroot.Tree.num_entries_for(MagicMock(), 10, library="np")  # type: ignore[call-arg]


def test_uproots_defaults_are_taken_in_silence(made: Path) -> None:
    tree = farroot.open(made)["events"]
    for function, theirs, before in (
        (tree.arrays, HasBranches.arrays, (["int32"],)),
        (tree.iterate, HasBranches.iterate, (["int32"],)),
        (tree["int32"].array, TBranch.array, ()),
        (tree.keys, HasBranches.keys, ()),
        (tree.iterkeys, HasBranches.iterkeys, ()),
        (tree.itervalues, HasBranches.itervalues, ()),
        (tree.num_entries_for, HasBranches.num_entries_for, ("1 kB", ["int32"])),
    ):
        for name, parameter in inspect.signature(theirs).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                function(*before, **{name: parameter.default})
    for name, value in uproot.reading.open.defaults.items():
        assert farroot.open(made, **{name: value}).keys()


def test_what_changes_nothing_is_taken_and_said_once(made: Path) -> None:
    with pytest.warns(farroot.IgnoredArgumentWarning, match=r"timeout=.*read_timeout") as told:
        file = API.open(path=made, timeout=300, object_cache=None)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        API.open(made, timeout=300)
    with pytest.warns(farroot.IgnoredArgumentWarning, match="decode_threads"):
        got = file["events"].arrays(["int32"], decompression_executor=object(), array_cache=None)
    assert len(got) == 1000


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda file: API.open(file, custom_classes={"A": int}), r"farroot\.register"),
        (lambda file: API.open(), "missing 1 required"),
        (lambda file: API.iterate(file, step_sise=3), "step_size"),
        (lambda file: API.concatenate(file, language="root"), "formulas are Python's"),
        (lambda file: API.open(file, handler="fsspec"), "handler=...\\) is a type, not 'fsspec'"),
        (lambda file: API.open(file, headers={"Authorization": "Bearer x"}), "bearer token"),
        (lambda file: API.open(io.BytesIO()), "a file is a URL, a path or a dict"),
        (lambda file: farroot.open(file)["events"].arrays("a", "b", "c"), "its arguments are"),
        (lambda file: farroot.open(file)["events"].arrays(cut=5), "a cut is"),
        (lambda file: farroot.open(file)["events"].arrays(5), "expressions are"),
        (lambda file: farroot.open(file)["events"].arrays(aliases=5), "aliases are"),
        (lambda file: farroot.open(file)["events"].arrays(entry_stop="x"), "an entry is"),
        (lambda file: farroot.open(file)["events"].arrays(library=5), "library is"),
        (lambda file: farroot.open(file)["events"].arrays(how=5), "how is"),
        (lambda file: farroot.open(file)["events"].arrays(filter_name=5), "a filter is"),
        (lambda file: farroot.open(file)["events"].iterate(step_size=None), "a step is"),
        (lambda file: farroot.open(file)["events"]["int8"].array(0, 1, 2, 3), "its arguments are"),
        (lambda file: farroot.open(file)["events"]["int8"].array("u4"), "has 1 bytes, not the 4"),
        (lambda file: farroot.open(file)["events"]["int8", "int16"], r'arrays\(\["a", "b"\]\)'),
        (lambda file: farroot.open(file)["events"][1.5], "its name or its position"),
        (lambda file: farroot.open(file)["events"][99], "there is no branch 99 of"),
        (lambda file: API.open(file)[0], r"keys\(\)"),
        (lambda file: API.open(file).classname_of(0), r"keys\(\)"),
        (lambda file: API.open(file).classname_of("events", True), "names that the file"),
        (lambda file: API.config(memroy=3), "memory"),
        (lambda file: API.copy(file), "target"),
        (lambda file: farroot.open(file)["events"].to_arrow(5), "expressions are"),
    ],
)
def test_what_makes_no_sense_is_an_error_of_ours(
    made: Path, call: Callable[[Path], Any], says: str
) -> None:
    with pytest.raises(farroot.Error, match=says):
        call(made)


def test_any_argument_of_any_type_gives_an_error_of_ours_or_a_result(made: Path) -> None:
    tree = farroot.open(made)["events"]
    odd: tuple[Any, ...] = (
        5,
        1.5,
        b"x",
        "x",
        [],
        [5],
        {},
        {"a": 5},
        {5: "a"},
        object(),
        lambda *_: None,
    )
    calls = [
        (tree.arrays, {"expressions", "cut", "aliases", "entry_start", "library", "how"}),
        (tree.iterate, {"expressions", "cut", "aliases", "step_size", "library", "how"}),
        (tree.keys, {"filter_name", "filter_typename"}),
        (tree.num_entries_for, {"memory_size", "expressions", "entry_stop"}),
        (tree["int32"].array, {"entry_start", "entry_stop", "library"}),
        (farroot.open, {"path"}),
        (farroot.num_entries, {"paths"}),
        (farroot.iterate, {"files"}),
        (tree.get, {"where"}),
        (tree.__getitem__, {"where"}),
        (farroot.open(made).__getitem__, {"where"}),
        (tree.add_friend, {"other"}),
    ]
    for function, names in calls:
        for name in sorted(names):
            for value in odd:
                given = {"memory_size": "1 kB"} if function == tree.num_entries_for else {}
                is_open = function.__name__ in ("__getitem__",)
                try:
                    done = function(value) if is_open else function(**{**given, name: value})
                    if function in (tree.iterate, farroot.iterate, farroot.num_entries):
                        next(done, None)
                except farroot.Error:
                    continue
                except Exception as error:
                    raise AssertionError(f"{function.__name__}({name}={value!r})") from error


def test_every_attribute_is_there_or_explained(made: Path, corpus: Path) -> None:
    file, ntuple = farroot.open(made), farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")
    staff = ntuple["Staff"]
    objects = [file, farroot.Directory(file, "one"), file["events"], file["events"]["int8"]]
    by_class = {type(each): each for each in [*objects, staff, staff["Age"]]}
    for theirs, mine in CLASSES:
        one = by_class[mine]
        for name in vars(theirs):
            if name.startswith(("_", *INSIDE)) or hasattr(type(one), name):
                continue
            with pytest.raises(farroot.NoAttributeError) as told:
                getattr(one, name)
            assert name in _uproot.ATTRIBUTES, (mine.__name__, name, str(told.value))
    assert not hasattr(file, "mktree")


def test_what_the_page_says_is_not_there_is_refused(made: Path) -> None:
    """Attributes that docs/python.md lists as absent: parts of uproot that its own tests use."""
    file = farroot.open(made)
    tree = file["events"]
    ntuple = farroot.open(TESTDATA / "ntuple_fields.root")["events"]
    names = [(tree["int32"], "basket_key"), (tree["int32"].interpretation, "_complete_forth_code")]
    names += [(ntuple, name) for name in ("header", "footer")]
    for one, name in names:
        with pytest.raises(AttributeError, match=name):
            getattr(one, name)


def test_a_pattern_on_a_server_that_cannot_be_reached_is_an_error() -> None:
    """uproot matches no file instead."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        pattern = f"root://127.0.0.1:{closed.getsockname()[1]}//folder/*.root:tree"
        with pytest.raises(farroot.ConnectionFailedError):
            farroot.iterate(pattern, "x")


def test_only_public_names_are_suggested(made: Path) -> None:
    """``tree.num_bytes`` said: did you mean _numbers or num_entries or _num_entries?"""
    tree: Any = farroot.open(made)["events"]
    with pytest.raises(farroot.NoAttributeError, match=r"'num_bytes'; did you mean num_entries\?"):
        _ = tree.num_bytes
    for name in ("base", "closed", "members", "parent"):
        with pytest.raises(farroot.NoAttributeError) as caught:
            getattr(tree, name)
        assert " _" not in str(caught.value)


def test_an_attribute_of_what_has_no_items(tmp_path: Path) -> None:
    """``hasattr(file.file, "x")`` was a TypeError: it looked for an item of that name."""
    with farroot.recreate(tmp_path / "f.root") as file:
        tree = file.mktree("t", {"x": "int32"})
        for one in (file, file.file, tree, tree["x"]):
            assert not hasattr(one, "nothing")


def test_a_column_is_no_attribute(made: Path) -> None:
    file = farroot.open(made)
    with pytest.raises(farroot.NoAttributeError, match=r'under \["int32"\]'):
        _ = file["events"].int32
    with pytest.raises(AttributeError, match=r'under \["events"\]'):
        _ = file.events  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="did you mean arrays"):
        _ = file["events"].arays


def test_every_name_is_there_or_explained() -> None:
    for name in dir(uproot):
        if name.startswith("_") or name in ("uproot", "annotations"):
            continue
        if not hasattr(farroot, name):
            assert name in _uproot.NAMES, name
            with pytest.raises(farroot.NoAttributeError, match="farroot has no"):
                getattr(farroot, name)
    assert farroot.__version__.count(".") == 2
    assert farroot.TTree is farroot.Tree
    assert issubclass(farroot.exceptions.KeyInFileError, KeyError)
    with pytest.raises(farroot.NoAttributeError, match="graphed_head"):
        _ = farroot.graphed_head  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="NotThere"):
        _ = exceptions.NotThere  # type: ignore[attr-defined]
    assert {*exceptions.__all__} == {
        name for name in dir(farroot.errors) if name.endswith(("Error", "Warning"))
    }


def test_files_and_trees_that_are_missing_may_be_left_out(several: list[Path], made: Path) -> None:
    files = [several[0].parent / "none.root", several[0], made, several[2]]
    listed = [{file: "events"} for file in files]
    listed[2] = {made: "nothing"}
    for call in (farroot.iterate, farroot.concatenate):
        with pytest.raises(farroot.NotFoundError):
            list(call(listed, "int32"))
    steps = farroot.iterate(listed, "int32", allow_missing=True, report=True)
    offsets = [(len(part), report.global_offset) for part, report in steps]
    assert offsets == [(300, 0), (500, 300)]
    assert [Path(one.file_path) for one in steps.skipped] == [files[0], made]
    both = [{several[0]: "events"}, {several[2]: "events"}]
    expected = uproot.concatenate(both, "int32", library="np")["int32"]
    entries: dict[str, Any]
    for entries in ({}, {"entry_start": 250, "entry_stop": 400}):
        got = API.concatenate(listed, "int32", library="np", allow_missing=True, **entries)
        start, stop = entries.get("entry_start"), entries.get("entry_stop")
        np.testing.assert_array_equal(got["int32"], expected[start:stop])
    with pytest.raises(farroot.NotFoundError):
        farroot.concatenate(listed[:1], "int32", allow_missing=True)


def test_what_cannot_be_read_is_not_missing(several: list[Path], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.root"
    content = bytearray(several[2].read_bytes())
    content[1000:-3000] = bytes(len(content) - 4000)
    damaged.write_bytes(content)
    listed = [{several[0]: "events"}, {damaged: "events"}]
    with pytest.raises(farroot.CorruptError):
        farroot.concatenate(listed, "float64", allow_missing=True)
