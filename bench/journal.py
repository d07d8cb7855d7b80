"""The runs of an experiment that are done, so that an interrupted one goes on where it ended."""

from __future__ import annotations

import json
from pathlib import Path

from model import Cell


class Journal:
    """A file with a line for each run: its number, its cell, and its rows.

    The runs are those of one commit; a journal of another commit lies in another folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[tuple[int, Cell], list[dict]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            one = json.loads(line)
        except ValueError:
            # The last line of a process that was killed: that run is made again.
            return
        self.runs[one["run"], Cell(**one["cell"])] = one["rows"]

    def has(self, run: int, cell: Cell) -> bool:
        return (run, cell) in self.runs

    def add(self, run: int, cell: Cell, rows: list[dict]) -> None:
        self.runs[run, cell] = rows
        self.path.parent.mkdir(parents=True, exist_ok=True)
        one = {"run": run, "cell": {"link": cell.link, "peer": cell.peer}, "rows": rows}
        # A line that was cut off must not swallow this one.
        with self.path.open("a") as file:
            file.write(("" if ends_with_a_line(self.path) else "\n") + json.dumps(one) + "\n")

    def rows(self) -> list[dict]:
        """All rows, in the order of runs."""
        return [row for key in sorted(self.runs, key=lambda key: key[0]) for row in self.runs[key]]

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.runs.clear()


def ends_with_a_line(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"
