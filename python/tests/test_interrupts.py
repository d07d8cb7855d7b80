"""Ctrl-C while a package is imported for the first time.

It once broke reading for the rest of the process: Python forgets a package whose import is broken
off, but not its modules, and each later import of Awkward failed with an AttributeError.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import farroot

_SCRIPT = """
import os, signal, sys

class Interrupting:
    '''Has the user press Ctrl-C when a module is looked for.'''

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
import farroot
first = None
try:
    first = farroot.open(sys.argv[1])["t"].arrays(library=sys.argv[3])
except KeyboardInterrupt:
    print("interrupted")
print(len(farroot.open(sys.argv[1])["t"].arrays(library=sys.argv[3])))
"""


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("awkward._nplikes", "ak"),
        ("awkward.operations", "ak"),
        ("numpy.linalg", "np"),
        ("pandas.core.api", "pd"),
        ("pyarrow.types", "pa"),
    ],
)
def test_a_package_can_be_imported_after_an_interrupt(
    tmp_path: Path, module: str, library: str
) -> None:
    path = tmp_path / "f.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": [1.0, 2.0, 3.0]})
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, path, module, library],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "interrupted"
    assert done.stdout.splitlines()[1] in ("3", "1")
