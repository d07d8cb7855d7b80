"""Settings of the engine, of which none is needed for good speed."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._uproot import taken


@taken
def config(
    *,
    memory: int | str | None = None,
    decode_threads: int | None = None,
    connections: int | None = None,
    connections_max: int | None = None,
    opens_max: int | None = None,
    store: int | str | None = None,
    store_folder: str | os.PathLike[str] | None = None,
    connect_timeout: float | None = None,
    silence_timeout: float | None = None,
    patience: float | None = None,
    outage_timeout: float | None = None,
    sources: int | None = None,
    checksums: str | None = None,
    user: str | None = None,
) -> dict[str, Any]:
    """Changes settings of this process before its first read, and returns all of them.

    Each has a ``FARROOT_*`` environment variable of its name, which is the default.

    Args:
        memory: Bytes held at one time, in flight, waiting or decoded and not yet handed out, as
            a number or ``"2 GB"``. Arrays in the caller's hands are the caller's.
        decode_threads: Threads that decompress and decode.
        connections: Connections to a server that are begun at the first moment.
        connections_max: Connections to one server at the most.
        opens_max: Files being opened at one time, by those who read many.
        store: Bytes of metadata of remote files that are remembered on disk for other processes;
            0 remembers nothing.
        store_folder: Where; by default in the platform's cache folder.
        connect_timeout: Seconds to wait for a TCP connection.
        silence_timeout: Seconds that a connection which owes data may stay silent.
        patience: Seconds that a server may owe data in silence before its work goes to another
            source, or another connection shows whether it still answers.
        outage_timeout: Seconds that a server which has answered before may be unreachable.
        sources: Sources of one file that are read from at the same time, unless there is much
            to read.
        checksums: Whether bytes come with a checksum of every 4 KiB, from XRootD servers that
            offer it: ``"auto"``, of copies; ``"always"``, of all that is read, and nothing is
            read where it cannot be; ``"never"``. What comes damaged is asked for again.
        user: The name sent at login.

    Raises:
        InvalidArgumentError: for a value that makes no sense, and once reading has begun.
    """
    settings = {
        "memory": _core.parse_bytes(memory) if isinstance(memory, str) else memory,
        "decode_threads": decode_threads,
        "connections": connections,
        "connections_max": connections_max,
        "opens_max": opens_max,
        "store": _core.parse_bytes(store) if isinstance(store, str) else store,
        "store_folder": None if store_folder is None else os.fspath(store_folder),
        "connect_timeout": connect_timeout,
        "silence_timeout": silence_timeout,
        "patience": patience,
        "outage_timeout": outage_timeout,
        "sources": sources,
        "checksums": checksums,
        "user": user,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    return _core.configure(**given)
