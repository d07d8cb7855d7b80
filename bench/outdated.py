"""Records that are older than the code that they measure. tables.py marks them.

    python bench/outdated.py          # looks into the history, and writes bench/outdated.json

The marks depend on the history, which a shallow clone lacks. So they are a file of the repository:
each outdated record with its commit. A mark for another commit than the record's does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RECORD = BENCH / "record"
MARKS = BENCH / "outdated.json"

PYTHON = ("python/farroot/", "python/src/")
LOCAL = ("crates/rootfile/src/", "crates/engine/src/read/", *PYTHON)
CONNECTIONS = ("crates/xrootd/src/", "crates/scheduler/src/", "crates/remote/src/")
WRITING = ("crates/rootfile/src/write/", "crates/engine/src/write/", *PYTHON)
COPIES = (*WRITING, "crates/rootfile/src/", "crates/remote/src/")
#: Measured code by the beginning of a record's name; other records measure reads.
MEASURED: dict[str, tuple[str, ...]] = {
    "copy": CONNECTIONS,
    "growth": ("crates/", "python/"),
    "import": PYTHON,
    "led": (*CONNECTIONS, "crates/engine/src/read/", "crates/serve/src/", "crates/cli/src/"),
    "merge": COPIES,
    "near": (*LOCAL, *CONNECTIONS, "crates/serve/src/"),
    "sites": (*CONNECTIONS, "crates/credentials/src/"),
    "soak": (*CONNECTIONS, "crates/serve/src/"),
    "skim": (*COPIES, *CONNECTIONS, *LOCAL),
    "streams": CONNECTIONS,
    "upload": (*WRITING, *CONNECTIONS),
    "write": WRITING,
}


@dataclass(frozen=True)
class Change:
    """One commit of the history: its author's day, and the files that it changes."""

    commit: str
    day: str
    paths: tuple[str, ...]


def measured_by(name: str, record: dict) -> tuple[str, ...]:
    """The folders whose code a record measures, most of them through a link."""
    for beginning, paths in MEASURED.items():
        if name == beginning or name.startswith(f"{beginning}-"):
            return paths
    is_local = not any("connections" in line for line in record["table"])
    return LOCAL if is_local else (*LOCAL, *CONNECTIONS)


def is_code(path: str) -> bool:
    """Whether a file is compiled into what is measured: tests and documents are not."""
    parts = path.split("/")
    is_test = "tests" in parts or parts[-1] in ("tests.rs", "test.rs")
    return not is_test and not path.endswith(".md")


def found(history: list[Change], records: dict[str, dict], since: dict[str, set[str]]) -> dict:
    """The outdated records, each with its commit.

    `since` has the later commits of each commit that belongs to the history. A commit that does
    not, for example after a rebase, stands for its day: changes of later days are later.
    """
    outdated = {}
    for name, record in records.items():
        commit, day = record["machine"]["commit"], record["machine"]["date"]
        folders = measured_by(name, record)
        later = since.get(commit)
        for change in history:
            is_later = change.day > day if later is None else change.commit in later
            if is_later and any(p.startswith(folders) and is_code(p) for p in change.paths):
                outdated[name] = commit
                break
    return outdated


def refresh(root: Path = ROOT, records: Path = RECORD, marks: Path = MARKS) -> bool:
    """Writes the marks again. Returns false, and changes nothing, without a whole history."""
    if git(root, "rev-parse", "--is-shallow-repository") != "false":
        return False
    texts = {path.stem: json.loads(path.read_text()) for path in sorted(records.glob("*.json"))}
    commits = {record["machine"]["commit"] for record in texts.values()}
    since = {one: later for one in commits if (later := later_than(root, one)) is not None}
    outdated = found(history_of(root), texts, since)
    marks.write_text(json.dumps(outdated, indent=1, sort_keys=True) + "\n")
    return True


def is_outdated(name: str, record: dict, marks: dict[str, str]) -> bool:
    return marks.get(name) == record["machine"]["commit"]


def read(marks: Path = MARKS) -> dict[str, str]:
    return json.loads(marks.read_text()) if marks.exists() else {}


def history_of(root: Path) -> list[Change]:
    """Every commit, newest first; merges have no files of their own."""
    log = git(root, "log", "--format=%x00%H %as", "--name-only") or ""
    changes = []
    for text in log.split("\0")[1:]:
        head, _, files = text.partition("\n")
        commit, _, day = head.partition(" ")
        changes.append(Change(commit, day.strip(), tuple(files.split("\n"))))
    return changes


def later_than(root: Path, commit: str) -> set[str] | None:
    """The commits of the history after one of them; None of any other."""
    if git(root, "merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    return set((git(root, "rev-list", f"{commit}..HEAD") or "").split())


def git(root: Path, *words: str) -> str | None:
    """The output of git, or None if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip("\n") if done.returncode == 0 else None


if __name__ == "__main__":
    if not refresh():
        sys.exit("the history of this checkout is not whole: nothing is written")
