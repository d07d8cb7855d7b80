"""Reasons to skip tests: one for each thing that may be missing, printed once."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def corpus_folder() -> Path | None:
    """Where the corpus is, if it is on this machine."""
    given = os.environ.get("FARROOT_CORPUS")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data" / "corpus"
    return folder if folder.is_dir() else None


def has_root() -> bool:
    return importlib.util.find_spec("ROOT") is not None


def need_root() -> None:
    """Skips without ROOT."""
    if not has_root():
        pytest.skip("ROOT IS NOT INSTALLED: not tested against ROOT (make interop installs it)")


def rust_example() -> Path | None:
    """The example `json` of the crate `farroot`, if it is built: a user's program in Rust."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    program = target / "debug" / "examples" / "json"
    return program if program.exists() else None


def need_rust_example() -> None:
    """Skips without it."""
    if rust_example() is None:
        pytest.skip(
            "THE EXAMPLE json IS NOT BUILT: the crate farroot is not compared (make test-python"
            " builds it)"
        )


def need_coffea() -> None:
    """Skips without coffea."""
    if importlib.util.find_spec("coffea") is None:
        pytest.skip(
            "COFFEA IS NOT INSTALLED: farroot.coffea is not tested (make coffea installs it)",
            allow_module_level=True,
        )


def need_dask() -> None:
    """Skips without the arrays of Dask."""
    if importlib.util.find_spec("dask") is None:
        pytest.skip("DASK IS NOT INSTALLED: not tested under it (pip install 'dask[array]')")


def need_dask_awkward() -> None:
    """Skips without dask-awkward, and with a Dask that is too new for it."""
    if importlib.util.find_spec("dask_awkward") is None:
        pytest.skip("DASK-AWKWARD IS NOT INSTALLED: not tested under it (pip install dask-awkward)")
    year, month, *_ = map(int, importlib.metadata.version("dask").split("."))
    if (year, month) >= (2025, 4):
        pytest.skip("THIS DASK IS TOO NEW for dask-awkward 2026.2: not tested under it")


def need_vector() -> None:
    """Skips without vector."""
    if importlib.util.find_spec("vector") is None:
        pytest.skip("VECTOR IS NOT INSTALLED: not tested under it (make coffea installs it)")


def need_graphed() -> None:
    """Skips without graphed."""
    if importlib.util.find_spec("graphed") is None:
        pytest.skip("GRAPHED IS NOT INSTALLED: not tested under it (make coffea installs it)")


def need_corpus() -> Path:
    """The shared corpus of real files; skips without it."""
    folder = corpus_folder()
    if folder is None:
        pytest.skip("THE CORPUS IS NOT HERE: set FARROOT_CORPUS to test against real files")
    return folder


def need_xrootd() -> str:
    """XRootD's server program; skips without it."""
    program = shutil.which("xrootd")
    if program is None:
        pytest.skip("XROOTD IS NOT INSTALLED: not tested against a real server")
    return program


def need_nginx() -> str:
    """The program; skips without it."""
    for folder in (None, "/usr/sbin"):
        if program := shutil.which("nginx", path=folder):
            return program
    pytest.skip("THERE IS NO nginx: its lists of files are not tested (apt install nginx-light)")


def need_versitygw() -> str:
    """A server of S3 that verifies signatures; skips without it."""
    built = REPOSITORY / "build" / "s3" / "versitygw"
    program = str(built) if built.exists() else shutil.which("versitygw")
    if program is None:
        pytest.skip("VERSITYGW IS NOT HERE: not tested against a real S3 (.ci/ensure-s3 builds it)")
    return program
