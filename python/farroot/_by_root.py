"""Objects of PyROOT in a file that ROOT writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .file import File

#: The name of the object in the file.
NAME = "object"


def is_pyroot(what: Any) -> bool:
    """Whether it is an object of PyROOT."""
    return hasattr(type(what), "__cpp_name__")


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
