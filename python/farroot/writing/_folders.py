"""Folders in which workers write files."""

from __future__ import annotations

from typing import Any

from .._addresses import expanded


class FolderAddress:
    """The address of a folder for workers: pickled without secrets, as they show their own."""

    def __init__(self, folder: str, query: str = "") -> None:
        self.folder = folder
        self.query = query

    def file(self, name: str) -> str:
        """The address of a file in it."""
        return f"{self.folder}/{name}{self.query}"

    def __getstate__(self) -> dict[str, Any]:
        address = self.folder + self.query
        told = expanded(address)
        if "://" not in address or told == address:
            return self.__dict__
        folder, _, query = told.partition("?")
        # The number of this address here is not that of a file.
        said = [each for each in query.split("&") if not each.startswith("farroot.given=")]
        return {"folder": folder, "query": f"?{'&'.join(said)}"}
