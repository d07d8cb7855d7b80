"""For workers of Dask: ``dask worker --preload farroot.preload``, and others who import by name.

Importing it calls :func:`farroot.install`.
"""

from __future__ import annotations

from typing import Any

from .installing import install

_installed = install()


def dask_setup(worker: Any) -> None:
    """Called by Dask when a worker begins: all is done by the import."""


def dask_teardown(worker: Any) -> None:
    """Called by Dask when a worker ends."""
    _installed.undo()
