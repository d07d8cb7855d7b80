"""The package itself: types, stubs, what is public."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import farroot


def test_all_that_is_public_exists_and_is_documented() -> None:
    for name in farroot.__all__:
        assert getattr(farroot, name).__doc__, name


def test_the_stub_says_what_the_extension_has() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "farroot._core", "--concise"),
            *("--mypy-config-file", "pyproject.toml", "--ignore-disjoint-bases"),
            *("--allowlist", "tests/stubtest-allowlist.txt"),
        ],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
