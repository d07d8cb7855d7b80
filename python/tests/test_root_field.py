"""Trees of the shapes that experiments write, with classes in two versions, and with streamers
that are written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

import farroot

from .root import written_by
from .same import same_awkward

pytestmark = pytest.mark.interop

#: Split level, and whether collections are streamed member by member.
KINDS = [(split, memberwise) for split in (0, 1, 99) for memberwise in (False, True)]
ENTRIES = range(60)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `field.py`."""
    folder = tmp_path_factory.mktemp("field")
    for arguments in (("field",), ("evolved", 1), ("evolved", 2), ("custom",), ("merge",)):
        written_by("field", folder, *arguments)
    return folder


def opened(written: Path, name: str, kind: tuple[int, bool]) -> farroot.Tree:
    tree = farroot.open(f"{written}/{name}_{kind[0]}_{kind[1]}.root:tree")
    assert isinstance(tree, farroot.Tree)
    return tree


def column(tree: farroot.Tree, path: str) -> list[Any]:
    """A member, from the deepest branch that has it on."""
    names = path.split(".")
    for depth in range(len(names), -1, -1):
        branch = ".".join(names[:depth]) or path
        found = [each for each in tree.values() if each.name.split("[")[0].rstrip(".") == branch]
        if found and not found[0].is_group:
            array = found[0].array()
            for name in names[depth:]:
                array = array[name]
            return list(array.to_list())
    raise AssertionError(f"no {path} in {tree.keys()}")


@pytest.mark.parametrize("kind", KINDS)
def test_products_in_wrappers(written: Path, kind: tuple[int, bool]) -> None:
    """`edm::Wrapper`, a template whose base class has no members, as CMS writes all products."""
    tree = opened(written, "products", kind)
    assert column(tree, "double_rho__RECO.obj") == [0.5 * i for i in ENTRIES]
    assert column(tree, "string_label__RECO.obj") == ["s" * (i % 3) for i in ENTRIES]
    assert column(tree, "floats_weights__RECO.obj") == [[i] * (i % 4) for i in ENTRIES]
    assert column(tree, "floats_weights__RECO.present") == [bool(i % 2) for i in ENTRIES]
    track = "recoTracks_general__RECO.obj"
    members: dict[str, Callable[[int], Any]] = {
        "pdgId_": lambda i: 13,
        "pt_": lambda i: 2.0 * i,
        "covariance_": lambda i: [0.0, i, 0.0],
        "vertex_.y": lambda i: -i / 4,
        "hits_": lambda i: [7] * (i % 4),
        "links_.id.productIndex_": lambda i: i,
        "links_.keys": lambda i: [i] * (i % 2),
    }
    for name, value in members.items():
        got = column(tree, f"{track}.{name}")
        assert got == [[value(i)] * (i % 3) for i in ENTRIES], name


@pytest.mark.parametrize("kind", KINDS)
def test_objects_that_refer_to_others(written: Path, kind: tuple[int, bool]) -> None:
    """`TRef` and `TRefArray` in the objects of a `TClonesArray`, as Delphes writes them; behind
    the bits of a referenced object is a number."""
    tree = opened(written, "references", kind)
    assert column(tree, "Particle.PID") == [[i, i + 1, i + 2] for i in ENTRIES]
    assert column(tree, "Tower.Edges") == [[[0, 0, 0, k] for k in range(i % 3)] for i in ENTRIES]
    assert column(tree, "Muon.PT") == [[i] * (i % 3) for i in ENTRIES]
    energies = [[vectors[1]["fE"] for vectors in entry] for entry in column(tree, "Muon.Trimmed")]
    assert energies == [[i] * (i % 3) for i in ENTRIES]
    particles = column(tree, "Tower.Particles")
    muons = column(tree, "Muon.Particle")
    for i in ENTRIES:
        assert [len(each["refs"]) for each in particles[i]] == [1, 2][: i % 3]
        assert [each["refs"][-1] for each in particles[i]] == [each["ref"] for each in muons[i]]


@pytest.mark.parametrize(("name", "kind"), [("products", (99, True)), ("references", (99, False))])
def test_the_field_is_read_as_uproot_reads_it(
    written: Path, name: str, kind: tuple[int, bool]
) -> None:
    theirs = uproot.open(f"{written}/{name}_{kind[0]}_{kind[1]}.root:tree")
    for ours in opened(written, name, kind).values():
        # uproot takes the numbers behind bits for bits.
        if not ours.is_group and ours.name != "Particle.fBits":
            assert ours.typename == theirs[ours.path].typename
            assert same_awkward(ours.array(), theirs[ours.path].array()), ours.path


@pytest.mark.parametrize("memberwise", [False, True])
@pytest.mark.parametrize("first", [1, 2])
def test_two_versions_of_a_class_in_one_branch(written: Path, first: int, memberwise: bool) -> None:
    """The baskets of two files, copied as they are: each object has its version. The fields are
    those of one version; fields that the other lacks are zero or empty."""
    tree = opened(written, f"merged{first}{3 - first}", (0, memberwise))
    entries = ak.flatten(tree["list"].array(), axis=1).to_list()
    once = [i for i in range(30) for _ in range(i % 3)]
    assert len(entries) == 2 * len(once)
    for number, (i, got) in enumerate(zip(once * 2, entries, strict=True)):
        version = first if number < len(once) else 3 - first
        assert (got["kept"], got["number"], got["last"]) == (i, 2 * i, 3 * i)
        assert got["plain"]["first"] == i
        assert [each["first"] for each in got["plains"]] == [i] * (i % 3)
        if "come" in got:
            assert got["come"] == ([i] * (i % 3) if version == 2 else [])
            assert got["added"] == (i if version == 2 else 0)
            assert got["plain"]["second"] == (-i if version == 2 else 0)
        else:
            assert got["gone"] == ("g" * (i % 3) if version == 1 else "")


@pytest.mark.parametrize("kind", KINDS)
def test_streamers_written_by_hand(written: Path, kind: tuple[int, bool]) -> None:
    """The file has a streamer info of `Custom`, which its objects do not follow. They were called
    corrupt; a class that nobody can read says so by its name, and leaves its neighbours alone."""
    tree = opened(written, "custom", kind)
    readable = {"owner.before": 1, "owner.after": -1, "owner.derived.own": 3}
    names = [branch.name for branch in tree.values() if not branch.is_group]
    assert len(names) == {0: 3, 1: 7, 99: 8}[kind[0]]
    for name in names:
        if name in readable:
            assert tree[name].array().to_list() == [readable[name] * i for i in range(30)]
        else:
            with pytest.raises(farroot.UnsupportedError, match=r"Custom: .*streamer of their own"):
                tree[name].array()
