"""Settings of the engine, of which none is needed for good speed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core
from ._credentials import near_text
from ._numbers import without_point
from ._uproot import taken


@taken
def config(
    *,
    memory: int | str | None = None,
    decode_threads: int | None = None,
    connections: int | None = None,
    connections_shared: int | None = None,
    store: int | str | None = None,
    store_folder: str | os.PathLike[str] | None = None,
    cache: int | str | None = None,
    cache_folder: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    cache_mode: str | None = None,
    cache_check: str | None = None,
    cache_form: str | None = None,
    cache_local: str | None = None,
    cache_free: int | str | None = None,
    connect_timeout: float | None = None,
    read_timeout: float | None = None,
    retry_timeout: float | None = None,
    discovery: bool | None = None,
    checksums: str | None = None,
    plain_redirects: bool | None = None,
    http_proxy: str | None = None,
    near: bool | str | None = None,
    redirect_credentials: str | None = None,
    token_file: str | None = None,
    x509_proxy: str | None = None,
    ticket_cache: str | None = None,
    s3_profile: str | None = None,
    auth: str | None = None,
) -> dict[str, Any]:
    """Changes settings of this process, and returns all of them.

    Each has a ``FARROOT_*`` environment variable of its name, which is the default. All but
    ``decode_threads`` can be changed at any time, for later requests; timeouts, checksums and the
    settings of the store for files that are opened afterwards. ``docs/settings.md`` has the table
    of all of them, with their limits.

    Args:
        memory: Bytes held at one time, in flight, waiting or decoded and not yet handed out, as
            a number or ``"2 GB"``. Arrays in the caller's hands are the caller's.
        decode_threads: Threads that decompress and decode; fixed once reading has begun.
        connections: Connections to one server at the most. Up to 16 of them are begun at once.
            Unless it is set, small requests of many files over HTTP have up to 48.
        connections_shared: Connections to one server, at most, of all processes of this user on
            this machine together; more processes than that take turns, and 0 sets no limit.
        store: Bytes of metadata of remote files that are remembered on disk for other processes;
            0 remembers nothing.
        store_folder: Where, an absolute path or one that begins with ``~/``; by default in the
            platform's cache folder. Nothing else in that folder is touched.
        cache: Bytes of remote files that are kept on a disk of this machine, as a number or
            ``"20 GB"``, so that bytes that were read once are read from there; 0 keeps none.
        cache_folder: Where, an absolute path or one that begins with ``~/``, on no network file
            system; by default in the platform's cache folder. Several, on disks of their own,
            are a list, or stand with colons between them; each takes as much as ``cache`` says.
        cache_mode: Which parts of a file are cached: ``"touched"``, the wanted ones; ``"whole"``,
            all of it; ``"auto"``, all of small files and of those of which more than half is
            wanted; ``"off"``, nothing.
        cache_check: When cached bytes are trusted: ``"verify"``, when the file's server confirms
            in each open that it is still the same; ``"trust=7d"``, when it has confirmed so within
            this time; ``"immutable"``, always.
        cache_form: The codec of cached baskets and pages that a read has decompressed with
            LZMA: ``"recompressed"``, a fast one in place of it; ``"original"``, that of the file;
            ``"both"``.
        cache_local: Which files of this machine's file systems are cached: ``"off"``, none;
            ``"network"``, those on a mount of NFS, Lustre, GPFS, CephFS, FUSE and others that
            machines share; ``"all"``.
        cache_free: Bytes that the cache leaves free on its disk, or a tenth of the disk where
            that is less.
        connect_timeout: Seconds to wait for a TCP connection.
        read_timeout: Seconds that bytes which the servers of a file owe are waited for in all,
            whether nothing of them comes or less than 1 kB for each second of this time.
        retry_timeout: Seconds that a server which has answered before is tried again.
        discovery: Whether redirectors are asked for other locations of a file.
        checksums: Whether bytes come with a checksum of every 4 KiB, from XRootD servers that
            offer it: ``"auto"``, of copies outside TLS; ``"always"``, of all that is read, and
            nothing is read where it cannot be; ``"never"``. Damaged bytes are requested again.
        plain_redirects: Whether an ``https`` server may send on to an ``http`` one.
        http_proxy: The proxy for http, https, s3 and osdf, or ``"none"``; by default as the
            variables that curl reads have it.
        near: Where entries are selected: ``"off"``, here; ``"on"``, at the file's own server;
            ``"auto"``, there if it takes less time; or the address of a proxy that selects, as
            ``"https://HOST:PORT"``.
        redirect_credentials: Hosts, with commas, that are shown a token or a proxy over ``https``
            also when another server sends there; ``".site.org"`` are all in that domain.
        token_file: A file with a bearer token, in place of the usual ones.
        x509_proxy: A file with an X.509 proxy, or with a certificate and its key.
        ticket_cache: A cache of Kerberos tickets, as ``KRB5CCNAME`` names one.
        s3_profile: A profile of the files in ``~/.aws``.
        auth: The kinds of credentials that may be used, the first one first, as
            ``"token,x509"``.

    Raises:
        InvalidArgumentError: for a value that makes no sense, and for a setting that cannot be
            changed any more; nothing is changed then.

    Example:
        >>> before = farroot.config()["memory"]
        >>> farroot.config(memory="1 GB")["memory"]
        1000000000
        >>> settings = farroot.config(memory=before)
    """
    near = near_text(near)
    if isinstance(cache_folder, Sequence) and not isinstance(cache_folder, str):
        cache_folder = ":".join(os.fspath(folder) for folder in cache_folder)
    settings = {name: without_point(value) for name, value in locals().items() if value is not None}
    return _core.configure(**settings)
