"""Builds the site: the pages of docs/, its executed notebooks, and a reference of the package.

All output is in build/: a copy of the pages and the pages of the reference in build/site-source,
the site in build/site. Errors are a broken link, a public name without a page, a page without a
link to it, and a notebook that fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import check
import reference
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
BUILD = DOCS.parent / "build"
SOURCE, SITE, DOCTREES = BUILD / "site-source", BUILD / "site", BUILD / "site-doctrees"


def main() -> int:
    """Builds and checks the site; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-notebooks", action="store_true", help="show them without running")
    run = "off" if parser.parse_args().no_notebooks else "force"
    stage()
    options = ["-q", "-W", "--keep-going", "-j", "auto", f"-Dnb_execution_mode={run}"]
    status = sphinx([*options, "-d", str(DOCTREES), "-c", str(HERE), str(SOURCE), str(SITE)])
    if status:
        return status
    faults = check.faults(SITE, reference.names())
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"the site is {os.path.relpath(SITE / 'index.html')}")
    return 1 if faults else 0


def stage() -> None:
    """Removes earlier builds, copies the pages and generates the others."""
    for old in (SOURCE, SITE, DOCTREES):
        shutil.rmtree(old, ignore_errors=True)
    unread = shutil.ignore_patterns("site", "README.md", "__pycache__")
    shutil.copytree(DOCS, SOURCE, ignore=unread)
    (SOURCE / "index.md").write_text(first_page())
    shutil.copy(HERE / "how-it-came-about.md", SOURCE)
    reference.write(SOURCE / "reference")
    shutil.copy(HERE / "types.rst", SOURCE / "reference")


def first_page() -> str:
    """The text of the first page: the list of docs/README.md, and the tables of contents."""
    begin = (HERE / "index.md").read_text()
    _, _, listed = (DOCS / "README.md").read_text().partition("## Contents\n")
    pages = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("notebooks/*.md"))]
    names = (page.relative_to(DOCS).with_suffix("").as_posix() for page in pages)
    others = [name for name in names if name != "README" and f"\n{name}\n" not in begin]
    more = ["```{toctree}", ":caption: More", ":hidden:", "", *others, "```"] if others else []
    return "\n".join([begin.replace("<!-- the list of docs/README.md -->", listed), *more, ""])


if __name__ == "__main__":
    sys.exit(main())
