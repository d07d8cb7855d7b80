"""The check of a release refuses a wrong one, and its files agree on versions."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import farroot._core

ROOT = Path(__file__).parents[2]
TAGS = "cp311-abi3-manylinux_2_17_x86_64"
PACKAGE = ("farroot/_core.abi3.so", "farroot/py.typed", "farroot/_core.pyi")
LICENCES = tuple(f"farroot-0.dist-info/licenses/LICENSE-{name}" for name in ("MIT", "APACHE"))
DATA = ROOT / "python" / "wheel" / "data"
#: Manual pages and completions of shells: their paths below `DATA`, and in a wheel.
SHARED = tuple(path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file())
INSTALLED = tuple(f"farroot-0.data/data/{path}" for path in SHARED)
PARTS = (*PACKAGE, *LICENCES, *INSTALLED)


def refused(folder: Path, tags: str, names: tuple[str, ...], extension: bytes = b"") -> str:
    """Why `make release-check` refuses a wheel with these files."""
    (folder / "farroot-0.tar.gz").touch()
    with zipfile.ZipFile(folder / f"farroot-0-{tags}.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, extension if name.endswith(".so") else b"")
        wheel.writestr("farroot-0.dist-info/RECORD", "".join(f"{name},,\n" for name in names))
    command = [sys.executable, str(ROOT / "release" / "check.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


@pytest.mark.parametrize("part", [*PACKAGE, *LICENCES, INSTALLED[0]])
def test_a_wheel_without_a_part_or_a_licence_is_refused(tmp_path: Path, part: str) -> None:
    others = tuple(name for name in PARTS if name != part)
    why = refused(tmp_path, TAGS, others)
    name = part.removeprefix("farroot-0.data/data/")
    assert ("a licence is missing" if part in LICENCES else f"{name} is missing") in why


def test_a_wheel_with_tests_is_refused(tmp_path: Path) -> None:
    assert "holds tests/__init__.py" in refused(tmp_path, TAGS, (*PARTS, "tests/__init__.py"))


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ("cp312-cp312-manylinux_2_17_x86_64", "not an abi3 wheel of CPython 3.11"),
        ("cp311-abi3-linux_x86_64", "not tagged manylinux_2_17"),
        ("cp311-abi3-manylinux_2_28_x86_64", "not tagged manylinux_2_17"),
    ],
)
def test_a_wheel_for_fewer_machines_is_refused(tmp_path: Path, tags: str, why: str) -> None:
    assert why in refused(tmp_path, tags, PARTS)


@pytest.mark.skipif(
    tuple(map(int, (platform.libc_ver()[1] or "0").split("."))) < (2, 34),
    reason="what is compiled here needs no newer glibc than a wheel may",
)
def test_an_extension_that_needs_a_newer_glibc_is_refused(tmp_path: Path) -> None:
    """The extension of the tests is compiled for the glibc of this machine, not for 2.17."""
    extension = Path(farroot._core.__file__).read_bytes()
    tags = TAGS.replace("x86_64", platform.machine())
    assert "auditwheel says otherwise than its name" in refused(tmp_path, tags, PARTS, extension)


def test_what_is_built_and_tried_is_what_the_package_promises() -> None:
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    pythons = re.findall(r":: Python :: (3\.\d+)\b", "\n".join(project["classifiers"]))
    assert project["requires-python"] == f">={pythons[0]}"
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    oldest = pythons[0].replace(".", "")
    assert workspace["dependencies"]["pyo3"]["features"] == [f"abi3-py{oldest}"]
    assert f'python_min: "{pythons[0]}"\n' in (ROOT / "recipe" / "recipe.yaml").read_text()
    assert "--compatibility manylinux_2_17 " in (ROOT / "Makefile").read_text()
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    listed = re.search(r"python-version: \|\n((?: +3\.\d+\n)+)", workflow)
    assert listed is not None
    assert listed[1].split() == pythons
