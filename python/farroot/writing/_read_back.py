"""Objects of a file that is being written, as reading the file will give them."""

from __future__ import annotations

import os
import pickle
import tempfile
from typing import Any

from .. import _core
from .._kinds import as_file
from ._options import Options
from .objects import Writable


def read_back(written: Writable) -> Any:
    """The object with the methods of its class, such as ``to_hist``: the file that it is for
    cannot be read yet, so it goes through one of its own."""
    with tempfile.TemporaryDirectory(prefix="farroot-") as folder:
        path = os.path.join(folder, "object.root")
        output = _core.FileOutput.create(path, True, Options(compression=None, threads=1).core())
        output.put("object", written.core())
        output.finish()
        found = as_file(_core.open_file(path), path)["object"]
        # A copy needs no file any more.
        found = pickle.loads(pickle.dumps(found))
    vars(found).pop("_origin", None) if hasattr(found, "__dict__") else None
    return found
