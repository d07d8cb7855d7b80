"""The package itself: types, stubs, public names."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import farroot

ROOT = Path(__file__).parents[2]


def test_all_that_is_public_exists_and_is_documented() -> None:
    for name in farroot.__all__:
        assert getattr(farroot, name).__doc__, name


def test_the_stub_says_what_the_extension_has() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "farroot._core", "--concise"),
            *("--mypy-config-file", "pyproject.toml", "--ignore-disjoint-bases"),
        ],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_limits_are_in_one_place_with_their_reasons() -> None:
    """Each file had its own, while the documents said that Python decides nothing."""
    package = ROOT / "python" / "farroot"
    named = re.compile(r"^_?[A-Z_]*(MAX|MIN|BYTES|SECONDS|SIZE)\b.* = \(?[\d\"]", re.MULTILINE)
    # Pictures and tables on a screen, and doubles that hold whole numbers.
    shown = {"_draw.py", "_html.py", "_named.py", "_predicates.py"}
    found = {path.name for path in package.rglob("*.py") if named.search(path.read_text())}
    assert found - shown == {"_limits.py"}
    lines = (package / "_limits.py").read_text().splitlines()
    undocumented = [
        line
        for before, line in pairwise(lines)
        if named.match(line) and not before.startswith("#:") and "AHEAD_MAX" not in line
    ]
    assert undocumented == []


def test_the_package_says_what_it_is() -> None:
    told = metadata("farroot")
    assert told["Version"] == farroot.__version__
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert version == farroot.__version__
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    urls = {url.partition(",")[0] for url in told.get_all("Project-URL") or []}
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Security"} <= urls


def project() -> dict[str, Any]:
    content = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())
    return dict(content["project"])


def test_the_extra_all_has_every_other_one() -> None:
    extras = dict(project()["optional-dependencies"])
    (everything,) = extras.pop("all")
    named = everything.removeprefix("farroot[").removesuffix("]").split(",")
    assert sorted(named) == sorted(extras)
    assert {"coffea", "dask", "fsspec", "hist", "pandas", "arrow", "polars"} <= {*extras}


def test_the_recipe_has_the_version_and_the_dependencies() -> None:
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    assert f'version: "{farroot.__version__}"\n' in recipe
    for needed in project()["dependencies"]:
        name, least = needed.split(">=")
        assert f"    - {name} >={least}\n" in recipe


def test_the_first_lines_of_the_readme_are_enough_to_begin() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:10]
    assert "pip install farroot" in "\n".join(first)
    assert first.count("```python") == 1
    assert "import farroot" in first
