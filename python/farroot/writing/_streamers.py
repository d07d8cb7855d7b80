"""Descriptions of classes, from the files that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError

if TYPE_CHECKING:
    from ..file import File


def described(streamers: Any) -> Iterator[tuple[File, list[tuple[str, int]] | None]]:
    """Files, and the chosen ones of their descriptions; None for all.

    Args:
        streamers: As for :meth:`WritableFile.update_streamers`.

    Raises:
        ArgumentTypeError: for descriptions that do not name the file they are of.
    """
    from ..file import Directory, File

    if isinstance(streamers, Directory):
        yield streamers.file, None
        return
    by_path: dict[str, list[tuple[str, int]]] = {}
    for each in streamers if isinstance(streamers, Iterable) else [streamers]:
        path = getattr(getattr(each, "file", None), "file_path", None)
        if path is None:
            known = "a file that farroot has opened, or what uproot has read"
            raise ArgumentTypeError(f"a {type(each).__name__}, where descriptions are {known}")
        by_path.setdefault(path, []).append((each.name, each.class_version))
    for path, classes in by_path.items():
        with File(path) as file:
            yield file, classes
