"""Objects of PyROOT and of uproot in a file that these write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .file import File

#: The name of the object in the file.
NAME = "object"


def is_pyroot(obj: Any) -> bool:
    """Whether it is an object of PyROOT."""
    return hasattr(type(obj), "__cpp_name__")


def is_uproots(obj: Any) -> bool:
    """Whether it is an object that uproot has read."""
    module = type(obj).__module__
    return module.partition(".")[0] == "uproot" and hasattr(obj, "all_members")


@contextmanager
def written_by_uproot(obj: Any) -> Iterator[File]:
    """A file that uproot has written the object to, until the block ends."""
    import uproot

    with tempfile.TemporaryDirectory(prefix="farroot-") as folder:
        path = os.path.join(folder, "from.root")
        with uproot.recreate(path) as out:
            out[NAME] = obj
        with File(path) as file:
            yield file


@contextmanager
def written_by_root(obj: Any) -> Iterator[File]:
    """A file that ROOT has written the object to, until the block ends."""
    import ROOT

    with tempfile.TemporaryDirectory(prefix="farroot-") as folder:
        path = os.path.join(folder, "from.root")
        with ROOT.TDirectory.TContext():  # The caller's gDirectory, which files move.
            out = ROOT.TFile(path, "RECREATE")
            try:
                out.WriteObject(obj, NAME)
            finally:
                out.Close()
        with File(path) as file:
            yield file
