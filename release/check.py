"""Checks the wheels and the source distribution of a release.

    python release/check.py FOLDER

FOLDER is where `make wheel` and `make sdist` put them. Checks the tags of each wheel (with
auditwheel and abi3audit), its contents and its metadata (with twine); that the source distribution
has all files that a build needs; that the recipe for conda-forge can be rendered; and that the
wheels install and work without a compiler or Rust.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import clean_root

REPOSITORY = Path(__file__).resolve().parents[1]
#: The oldest glibc that a wheel may need: that of CentOS 7, below EL8's 2.28.
TAG = "manylinux_2_17"
#: Files that a wheel must have besides Python files.
PARTS = ("farroot/_core.abi3.so", "farroot/py.typed", "farroot/_core.pyi")
#: Files that a wheel installs outside of the package: manual pages, completions of shells.
DATA = REPOSITORY / "python" / "wheel" / "data"


class CheckError(Exception):
    """Why a file must not be released."""


def run(*command: str | Path, folder: Path | None = None) -> str:
    """The output of a command; CheckError if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CheckError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def tool(name: str) -> Path:
    """A program beside this Python."""
    return Path(sys.executable).parent / name


def check_tags(wheel: Path) -> None:
    """The name is that of an abi3 wheel for `TAG`, and the symbols in the wheel agree with it."""
    _, _, python, abi, platforms = wheel.stem.split("-")
    if (python, abi) != ("cp311", "abi3"):
        raise CheckError(f"{wheel.name}: not an abi3 wheel of CPython 3.11")
    if not any(each.startswith(TAG + "_") for each in platforms.split(".")):
        raise CheckError(f"{wheel.name}: not tagged {TAG}")
    output = " ".join(run(tool("auditwheel"), "show", wheel).split())
    if f'is consistent with the following platform tag: "{TAG}_{machine_of(wheel)}"' not in output:
        raise CheckError(f"{wheel.name}: auditwheel says otherwise than its name:\n{output}")
    run(tool("abi3audit"), "--strict", wheel)


def machine_of(wheel: Path) -> str:
    """The processor that the wheel's name says."""
    return wheel.stem.rpartition(TAG + "_")[2].partition(".")[0]


def check_contents(wheel: Path) -> None:
    """The wheel has the extension, its types, the licences and the manual pages, and no tests."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in PARTS:
        if part not in names:
            raise CheckError(f"{wheel.name}: {part} is missing")
    installed = {name.partition(".data/data/")[2] for name in names}
    for path in sorted(path for path in DATA.rglob("*") if path.is_file()):
        if path.relative_to(DATA).as_posix() not in installed:
            raise CheckError(f"{wheel.name}: {path.relative_to(DATA)} is missing")
    if sum("/licenses/" in name for name in names) < 2:
        raise CheckError(f"{wheel.name}: a licence is missing")
    if others := [name for name in names if not name.startswith("farroot")]:
        raise CheckError(f"{wheel.name}: holds {others[0]}, which is no part of the package")


def check_source(archive: Path) -> None:
    """Cargo finds each crate of the workspace, and the lock file has every dependency."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as source:
        source.extractall(folder, filter="data")
        (top,) = Path(folder).iterdir()
        page = "python/wheel/data/share/man/man1/farroot.1"
        for name in ("Cargo.lock", "PKG-INFO", "pyproject.toml", page):
            if not (top / name).exists():
                raise CheckError(f"{archive.name}: {name} is missing")
        before = locked(top)
        # Without --locked: Cargo removes crates of the workspace from the lock file that a wheel
        # does not need and the source distribution lacks.
        run("cargo", "metadata", "--format-version=1", folder=top / "python")
        if others := locked(top) - before:
            raise CheckError(f"{archive.name}: {sorted(others)[0]} is not in its lock file")


def locked(folder: Path) -> set[tuple[str, str]]:
    """Names and versions in a lock file."""
    packages = tomllib.loads((folder / "Cargo.lock").read_text())["package"]
    return {(package["name"], package["version"]) for package in packages}


def check_recipe() -> None:
    """The recipe can be rendered, and has the version of the workspace."""
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]
    version = workspace["package"]["version"]
    recipe = REPOSITORY / "recipe" / "recipe.yaml"
    if f'version: "{version}"' not in recipe.read_text():
        raise CheckError(f"{recipe}: not of version {version}")
    from rattler_build import Stage0Recipe, VariantConfig

    # The variants that conda-forge sets for every recipe.
    variants = VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]})
    if not Stage0Recipe.from_file(str(recipe)).render(variants):
        raise CheckError(f"{recipe}: renders to nothing")


def main(arguments: list[str]) -> int:
    (folder,) = map(Path, arguments)
    wheels = sorted(folder.glob("farroot-*.whl"))
    sources = sorted(folder.glob("farroot-*.tar.gz"))
    os.environ.pop("PYTHONPATH", None)
    try:
        if not wheels or not sources:
            raise CheckError(f"{folder}: `make wheel sdist` builds what is checked")
        for wheel in wheels:
            check_contents(wheel)
            check_tags(wheel)
            print(f"{wheel.name}: tags and contents are right")
        run(tool("twine"), "check", "--strict", *wheels, *sources)
        print("PyPI accepts the metadata")
        for source in sources:
            check_source(source)
            print(f"{source.name}: Cargo finds all that it needs")
        check_recipe()
        print("recipe.yaml: can be read, and is of this version")
        for wheel in wheels:
            tries = 0
            for works in clean_root.try_wheel(wheel, machine_of(wheel), run):
                print(f"{wheel.name}: {works}")
                tries += 1
            if tries == 0:
                print(f"{wheel.name}: not tried; docs/release.md says what that takes")
    except CheckError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
