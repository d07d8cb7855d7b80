"""Addresses of files, and of the objects in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from . import _core
from ._credentials import Access
from .errors import ArgumentTypeError, InvalidArgumentError

Address = str | os.PathLike[str]


def split(address: Address | Mapping[Any, str | None]) -> tuple[str, str | None]:
    """The file and the path in it that an address means."""
    if isinstance(address, str):
        url, path = _core.split_object(address)
        return expanded(url), path
    if isinstance(address, os.PathLike) or hasattr(address, "storage_options"):
        return path_text(address), None
    if isinstance(address, Mapping) and len(address) == 1:
        ((url, path),) = address.items()
        if path is not None and not isinstance(path, str):
            raise ArgumentTypeError(f"the path of something in a file is a string, not {path!r}")
        return path_text(url), path
    raise ArgumentTypeError(
        f"a file is a URL, a path or a dict of one file and the path in it, not {address!r}"
    )


def path_text(url: Any) -> str:
    """A file's address as text.

    Raises:
        ArgumentTypeError: for anything but a text or a path.
        InvalidArgumentError: for a path of universal_pathlib, as :func:`_access`.
    """
    if (options := getattr(url, "storage_options", None)) is not None:
        # A path of universal_pathlib: only its text has the protocol.
        address = expanded(str(url))
        return address if is_local(address) else _access(address, options).added_to(address)
    if not isinstance(url, (str, os.PathLike)):
        raise ArgumentTypeError(f"a file is a URL or a path, not {url!r}")
    return expanded(os.fspath(url))


def _access(address: str, options: Mapping[str, Any]) -> Access:
    """The credentials that options for fsspec name: a bearer token, or a profile of S3.

    Raises:
        InvalidArgumentError: for any other option, which would change the bytes that fsspec reads.
    """
    said: dict[str, Any] = {}
    for name, value in options.items():
        match name, value:
            case "headers", {"Authorization": str(text), **others} if (
                text.startswith("Bearer ") and not others
            ):
                said["token"] = text.removeprefix("Bearer ")
            case "profile", str():
                said["s3_profile"] = value
            case _:
                raise InvalidArgumentError(
                    f"{address} has an option for fsspec that farroot does not take: {name}; "
                    "farroot.open and farroot.config have settings and credentials"
                )
    return Access(**said)


def expanded(url: str) -> str:
    """As it is opened: a path from the user's home, an address without secrets."""
    return _core.for_others(url) if "://" in url else os.path.expanduser(url)


def is_local(url: str) -> bool:
    """Whether a file's address is that of a path on a disk."""
    return "://" not in url or url.startswith("file:")


def absolute(url: str) -> str:
    """The same address for processes that have another working directory."""
    if not is_local(url):
        return url
    return os.path.abspath(os.path.expanduser(url.removeprefix("file://")))


def uncycled(path: str) -> str:
    """A path in a file without cycles and outer slashes: ``/one;1/two;1`` is ``one/two``."""
    return "/".join(re.sub(r";\d+$", "", part) for part in path.strip("/").split("/"))
