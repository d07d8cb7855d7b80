"""Addresses of files, and of what is in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core
from .errors import ArgumentTypeError, InvalidArgumentError

Address = str | os.PathLike[str]


def split(address: Address | Mapping[Any, str | None]) -> tuple[str, str | None]:
    """The file and the path in it that an address means."""
    if isinstance(address, str):
        url, path = _core.split_tree(address)
        return expanded(url), path
    if isinstance(address, os.PathLike) or hasattr(address, "storage_options"):
        return path_text(address), None
    if isinstance(address, Mapping) and len(address) == 1:
        ((url, path),) = address.items()
        if path is not None and not isinstance(path, str):
            raise ArgumentTypeError(f"the path of something in a file is a string, not {path!r}")
        return path_text(url), path
    raise InvalidArgumentError(
        f"a file is a URL, a path or a dict of one file and the path in it, not {address!r}"
    )


def path_text(url: Any) -> str:
    """A file's address as text.

    Raises:
        ArgumentTypeError: for what is neither a text nor a path.
        InvalidArgumentError: for a path of universal_pathlib with options for fsspec.
    """
    if (options := getattr(url, "storage_options", None)) is not None:
        # A path of universal_pathlib: only its text has the protocol.
        if options:
            raise InvalidArgumentError(
                f"{url} has options for fsspec ({', '.join(sorted(options))}), which farroot does "
                "not take: give the address as text, and credentials as farroot.open has them"
            )
        return expanded(str(url))
    if not isinstance(url, (str, os.PathLike)):
        raise ArgumentTypeError(f"a file is a URL or a path, not {url!r}")
    return expanded(os.fspath(url))


def expanded(url: str) -> str:
    return url if "://" in url else os.path.expanduser(url)


def is_local(url: str) -> bool:
    """Whether a file's address is that of a path on a disk."""
    return "://" not in url or url.startswith("file:")
