"""Copies of whole files to a local disk and to servers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from . import _core
from ._credentials import Access
from ._progress import Progress, Telling, Wanted, is_wanted, while_waiting
from ._uproot import taken
from .errors import Error

if TYPE_CHECKING:
    from ._types import Credentials


@dataclass(frozen=True)
class Copied:
    """A file that has been copied; ``target`` is a path, or the address on a server.

    ``resumed`` of its ``size`` bytes were there from an earlier try; ``checksum`` (as in
    ``"adler32 5bdad19a"``) is the one on which file and server agree, where it was requested. With
    ``is_same`` the file was there already, and was not copied.

    Example:
        >>> (copied,) = farroot.copy("more.root", "again.root", overwrite=True)
        >>> copied.source, copied.resumed, copied.is_same
        ('more.root', 0, False)
    """

    source: str
    target: Path | str
    size: int
    resumed: int
    checksum: str | None
    is_same: bool = False


@taken
def copy(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    verify: bool = False,
    in_place: bool = False,
    recursive: bool = False,
    update: bool = False,
    checksum: str | None = None,
    progress: Wanted = None,
    **credentials: Unpack[Credentials],
) -> list[Copied]:
    """Copies files to a local disk or to a server, over many connections.

    The bytes of a file from before a break are used again where its source is still the same.
    Under the final name there is nothing, or the earlier file, until a file is complete.

    Args:
        sources: One or several addresses, which may be globs as for :func:`farroot.iterate`;
            ``"URL1|URL2"`` is one file at two places.
        target: A path for one file, or a directory, which is made where it ends with a ``/``; or
            the address of a file on a server or, ending with a ``/``, of a directory there.
        overwrite: Whether to replace files that are there.
        verify: Whether to compare each file with its server's checksum.
        in_place: Whether a file on a server is written under its final name from the beginning,
            for servers that rename no files; an earlier file is lost at once.
        recursive: Whether directories are copied, with all that is below them, as ``cp -r`` does.
        update: Whether files that are there and the same are left alone, and those that differ
            replaced: by size, then by checksum where both places have one, else by time.
        checksum: The checksum that the copy of one file must have, as ``"adler32:5bdad19a"``; also
            of kind ``crc32``, ``crc32c``, ``md5``, ``sha1``, ``sha256`` and ``sha512``.
        progress: As for :meth:`Tree.arrays`; bytes are those on the disk.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for the sources and for a target on a server. Where
            the two want different ones, that function sets them for each address.

    Raises:
        CorruptError: a file differs from its server's checksum or the one that was given. The
            copy has been thrown away.
        InvalidArgumentError: a target is there already.
        ExceptionGroup: the errors of several files; the other files have been copied.

    Example:
        >>> copies = farroot.copy(["events.root", "more.root"], "copies/", overwrite=True)
        >>> [one.target.name for one in copies]
        ['events.root', 'more.root']
    """
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    access = Access(**credentials)
    names = [access.added_to(os.fspath(source)) for source in several]
    where = access.added_to(os.fspath(target))
    done = _core.CopyProgress()

    def copied() -> list[Any]:
        how = overwrite, verify, in_place, recursive, update, checksum
        return _core.copy(names, where, *how, done)

    if not is_wanted(progress):
        outcomes = copied()
    else:
        telling = Telling(progress, Progress())
        try:
            with while_waiting(lambda: telling.tell(**_so_far(done))):
                outcomes = copied()
            telling.tell(**_so_far(done))
        finally:
            telling.close()
    failed = [outcome for outcome in outcomes if isinstance(outcome, Error)]
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(outcomes)} files are not copied", failed)
    return [_copied(*outcome) for outcome in outcomes if not isinstance(outcome, Error)]


def _copied(source: str, target: str, *figures: Any) -> Copied:
    """An address is no path: it would lose its slashes."""
    return Copied(source, target if "://" in target else Path(target), *figures)


def _so_far(progress: _core.CopyProgress) -> dict[str, int | None]:
    """How far the files are together; their bytes in all are known when each has been begun."""
    files = progress.files()
    begun = [each for each in files if each is not None]
    return {
        "bytes": sum(done for done, _ in begun),
        "bytes_total": sum(size for _, size in begun) if len(begun) == len(files) else None,
        "files": sum(done == size for done, size in begun),
        "files_total": len(files) or None,
    }
