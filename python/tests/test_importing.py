"""Imports of `import farroot`, and that every name is there all the same."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

import farroot


def modules_after(statement: str) -> set[str]:
    """The modules of a fresh interpreter after a statement."""
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_package_alone_imports_none_of_its_modules() -> None:
    modules = modules_after("import farroot")
    assert not [name for name in modules if name.startswith("farroot.")]
    assert not modules & {"numpy", "awkward", "pandas", "fsspec"}
    # `typing` alone took ten times as long as the rest.
    assert modules - modules_after("pass") <= {"farroot", "__future__"}


def test_the_command_imports_the_extension_alone() -> None:
    ours = {name for name in modules_after("import farroot._command") if "farroot." in name}
    assert ours == {"farroot._command", "farroot._core"}


def test_opening_a_file_needs_no_arrays(made: Path) -> None:
    modules = modules_after(f"import farroot; farroot.open({str(made)!r})")
    assert not modules & {"awkward", "pandas"}


def test_the_engine_imports_nothing_while_it_waits() -> None:
    """Regression: a process was aborted that ended while the first read of another thread had the
    engine import ``farroot._log``."""
    assert {"farroot._log", "farroot.errors"} <= modules_after("import farroot; farroot.open")


def test_every_public_name_is_there() -> None:
    assert all(hasattr(farroot, name) for name in farroot.__all__)
    names: dict[str, object] = {}
    exec("from farroot import *", names)
    assert set(farroot.__all__) <= names.keys()
    assert names["TTree"] is farroot.Tree
    assert dir(farroot) == farroot.__all__
    assert {"AsJagged", "STLVector", "ZSTD", "behaviors", "as_TGraph"} <= {*dir(farroot)}


@pytest.mark.parametrize("name", ["errors.NotFoundError", "exceptions.KeyInFileError", "writing"])
def test_a_module_is_there_at_its_first_use(name: str) -> None:
    """``except farroot.errors.NotFoundError`` failed unless a module had been imported before."""
    done = subprocess.run(
        [sys.executable, "-c", f"import farroot; print(farroot.{name})"],
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(("<class", "<module")), done.stderr


def test_a_module_does_not_stand_in_for_a_function() -> None:
    """Regression: a module of reports would be `farroot.report` as soon as one is imported."""
    script = "import farroot, farroot.reports, farroot.file; print(callable(farroot.report))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_other_processes_have_all_names(method: str) -> None:
    pool = multiprocessing.get_context(method).Pool(1)
    try:
        version, error = pool.apply(_of_process)
    finally:
        pool.close()
        pool.join()
    assert version == farroot.__version__
    assert error is farroot.NotFoundError


def _of_process() -> tuple[str, type]:
    return farroot.__version__, farroot.NotFoundError
