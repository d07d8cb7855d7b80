"""Names and titles of files on a terminal: control characters are shown as escapes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import farroot

from .damaged import TESTDATA


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A tree with a branch whose name sets the title of the terminal's window."""
    content = (TESTDATA / "plain.root").read_bytes()
    path = tmp_path / "hostile.root"
    path.write_bytes(content.replace(b"fixed", b"f\x1b]0;"))
    return path


def test_names_are_data_and_shown_as_what_can_be_seen(hostile: Path) -> None:
    tree = farroot.open(hostile)["events"]
    assert "f\x1b]0;" in tree.keys()  # noqa: SIM118
    out = io.StringIO()
    tree.show(stream=out)
    assert "f\\x1b]0;" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert "\x1b" not in repr(tree["f\x1b]0;"])
    with pytest.raises(farroot.errors.KeyInFileError) as caught:
        tree["\x1b[2J\u202e"]
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)


def test_warnings_and_errors_of_the_package(recwarn: pytest.WarningsRecorder) -> None:
    farroot.errors.warn("a \x1b[2J name\n", UserWarning)
    assert str(recwarn.pop().message) == "a \\x1b[2J name\\n"
    assert str(farroot.errors.Error("two\nlines \x9b")) == "two\nlines \\x9b"
