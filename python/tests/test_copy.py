"""Copies of whole files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import farroot

from .test_remote import serving


def test_copies_are_the_files_and_agree_with_the_server(
    several: list[Path], tmp_path: Path
) -> None:
    with serving(several[0].parent) as address:
        [copied] = farroot.copy(f"root://{address}//{several[0].name}", tmp_path / "f", verify=True)
        assert (tmp_path / "f").read_bytes() == several[0].read_bytes()
        assert (copied.target, copied.resumed) == (tmp_path / "f", 0)
        assert copied.checksum is not None
        assert copied.checksum.startswith("adler32 ")
        names = ",".join(path.name for path in several)
        copies = farroot.copy(f"root://{address}//{{{names}}}", tmp_path)
        assert [copy.target.name for copy in copies] == [path.name for path in several]
        for path in several:
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_what_is_there_stays(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "f"
    target.write_text("precious")
    with pytest.raises(farroot.InvalidArgumentError, match="there already"):
        farroot.copy(made, target)
    assert target.read_text() == "precious"
    farroot.copy(made, target, overwrite=True)
    assert target.read_bytes() == made.read_bytes()


def test_a_tilde_is_the_home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It made a directory that was called ``~``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    farroot.copy(made, "~/data/")
    assert (tmp_path / "data" / made.name).read_bytes() == made.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    with farroot.open(f"~/data/{made.name}") as file:
        assert "events" in file
        file.timeline("~/read.svg")
    assert (tmp_path / "read.svg").read_text().startswith("<svg")
    parts = farroot.partitions({made: "events"})
    parts.save("~/parts.json")
    assert len(farroot.Partitions.load("~/parts.json")) == len(parts)
    assert (tmp_path / "parts.json").exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/no/such/folder/f", "the target's directory is not there"),
        ("", "no name"),
    ],
)
def test_targets_that_cannot_be_written_are_refused(made: Path, target: str, said: str) -> None:
    with pytest.raises(farroot.InvalidArgumentError, match=said) as raised:
        farroot.copy(made, target)
    assert not raised.value.retryable


def test_hints_are_those_of_python(made: Path, tmp_path: Path) -> None:
    farroot.copy(made, tmp_path / "f")
    with pytest.raises(farroot.InvalidArgumentError, match="overwrite=True replaces it") as raised:
        farroot.copy(made, tmp_path / "f")
    assert " -f" not in str(raised.value)


def test_errors_of_several_files_come_together(made: Path, tmp_path: Path) -> None:
    sources = [tmp_path / "no", made, tmp_path / "none"]
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(ExceptionGroup, match="2 of 3 files") as raised:
        farroot.copy(sources, target)
    assert all(isinstance(error, farroot.NotFoundError) for error in raised.value.exceptions)
    assert [path.name for path in target.iterdir()] == [made.name]


@pytest.mark.parametrize(
    "words",
    [
        "map FILE --svg=~/out",
        "cat FILE --csv --timeline=~/out",
        "cat FILE -c int32 --parquet=~/out",
        "run --quiet --access-log=~/out true",
        "man ~/out",
    ],
)
def test_the_home_is_meant_where_a_shell_leaves_it_to_us(
    words: str, made: Path, tmp_path: Path
) -> None:
    """A shell expands no `~` behind `=`: the options made folders of that name, or none."""
    command = [sys.executable, "-m", "farroot", *words.replace("FILE", f"{made}:events").split()]
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    environment = os.environ | {"HOME": str(home)}
    done = subprocess.run(
        command, cwd=here, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (home / "out").exists()
    assert not list(here.iterdir())
