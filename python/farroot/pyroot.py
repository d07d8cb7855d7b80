"""Objects of PyROOT as farroot's, and back, through a file in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ._by_root import NAME, written_by_root
from ._imports import package
from ._kinds import is_table
from ._uproot import taken
from .errors import UnsupportedError

__all__ = ["from_pyroot", "to_pyroot"]


@taken
def from_pyroot(obj: Any) -> Any:
    """An object of PyROOT (a histogram, a graph, any other) as farroot reads it from a file.

    Args:
        obj: The object, of a class that ROOT can write.

    Raises:
        NotInstalledError: without ROOT.
        UnsupportedError: for a TTree: give its file to :func:`farroot.open`.

    Example:
        >>> import ROOT
        >>> histogram = ROOT.TH1D("h", "", 2, 0, 1)
        >>> number = histogram.Fill(0.25)
        >>> farroot.from_pyroot(histogram).values()
        array([1., 0.])
    """
    with written_by_root(obj) as file:
        found = file[NAME]
        if is_table(found):
            raise UnsupportedError("trees are read from their own files: farroot.open")
        return found


@taken
def to_pyroot(obj: Any, name: str | None = None) -> Any:
    """An object of PyROOT from anything that :func:`farroot.recreate` writes as a single object.

    Args:
        obj: A histogram of any library, or an object that was read.
        name: The name of the object in ROOT; None keeps its own name, if it has one.

    Raises:
        NotInstalledError: without ROOT.

    Example:
        >>> import ROOT
        >>> histogram = farroot.to_pyroot(np.histogram([0.25], bins=2, range=(0, 1)))
        >>> histogram.GetBinContent(1)
        1.0
    """
    root = package("ROOT")

    from .writing import recreate

    with tempfile.TemporaryDirectory(prefix="farroot-") as folder:
        path = os.path.join(folder, "to.root")
        with recreate(path) as out:
            out[NAME] = obj
        with root.TDirectory.TContext():  # The caller's gDirectory, which files move.
            file = root.TFile(path)
            try:
                found = file.Get(NAME)
                if hasattr(found, "SetDirectory"):
                    found.SetDirectory(root.nullptr)
            finally:
                file.Close()
    root.SetOwnership(found, True)
    own = getattr(obj, "name", None) if name is None else name
    # Writing has given the object the name of its key.
    if isinstance(own, str) and hasattr(found, "SetName"):
        found.SetName(own)
    return found
