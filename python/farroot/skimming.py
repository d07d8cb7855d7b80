"""Some columns and entries of trees and RNTuples as a new file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

from . import _core
from ._credentials import Access
from ._defined import Definition, definition
from ._places import places_of
from ._progress import Wanted
from ._uproot import taken
from .compression import number_and_level
from .errors import InvalidArgumentError
from .merging import told

if TYPE_CHECKING:
    from ._types import Credentials
    from .dataset import Files


@dataclass(frozen=True)
class Skimmed:
    """The file of a skim.

    Attributes:
        target: Its address.
        size: Its bytes.
        table: The path of the tree or RNTuple in it.
        sources: Of each source its address, its entries, and how many of them were kept.
        is_copied: Whether all baskets or pages were copied as they were stored.
        clusters: How many clusters of the sources were copied as they were stored, how many gave
            some of their entries, and how many were left out; None if all columns were encoded
            anew.
        notes: The differences between the sources.
        seconds: From the call to the end.

    Example:
        >>> skimmed = farroot.skim("events.root:Events", "muons.root", cut="nMuon > 0")
        >>> skimmed.entries, skimmed.sources
        (3, [('events.root', 4, 3)])
    """

    target: str
    size: int
    table: str
    sources: list[tuple[str, int, int]]
    is_copied: bool
    clusters: tuple[int, int, int] | None
    notes: list[str]
    seconds: float

    @property
    def entries(self) -> int:
        """How many entries were kept."""
        return sum(kept for _, _, kept in self.sources)


@dataclass(frozen=True)
class _Choice:
    """The columns, the cut and the output's form, as the engine takes them."""

    columns: list[str]
    cut: str | None
    define: list[Definition]
    #: "tree", "rntuple", or None: as the first source.
    format: str | None
    keep_rest: bool
    overwrite: bool
    reproducible: bool
    #: ROOT's number, and the library's level where that is another.
    compression: tuple[int, int | None]


@taken
def skim(
    sources: Files,
    target: str | os.PathLike[str],
    columns: str | Iterable[str] | None = None,
    cut: str | None = None,
    *,
    format: Literal["tree", "rntuple"] | None = None,  # noqa: A002
    define: Mapping[str, str | Callable[..., Any]] | None = None,
    keep_rest: bool = False,
    compression: object = 505,
    overwrite: bool = False,
    reproducible: bool = False,
    progress: Wanted = None,
    **credentials: Unpack[Credentials],
) -> Skimmed:
    """Writes some columns and entries of trees or RNTuples to a new file.

    Baskets of trees and pages of RNTuples are copied as they are stored, as :func:`farroot.merge`
    does. With a cut, other columns than the cut's are fetched only where entries pass (of the
    first remote tree, up to 4 MiB before that is known), and out of baskets, or clusters of
    RNTuples, of which not all entries do, those that do are taken and compressed anew. Entries are
    in the order of the sources. Under the target's name there is nothing, or the earlier file,
    until it is complete.

    New columns are written beside those that are copied, with the same clusters. They are computed
    from the entries that pass the cut, batch by batch on several threads: a function must compute
    each entry independently of the others.

    Args:
        sources: As ``files`` of :func:`farroot.iterate`: ``"FILE:TREE"``, ``{FILE: TREE}``, lists.
        target: A path or an address; a path that ends with ``.parquet`` is written as Parquet, by
            pyarrow, with the columns encoded anew.
        columns: Names, paths and globs such as ``"Jet_*"``; all if None.
        cut: Which entries, as in ``"(MET_pt > 50) & (nMuon >= 2)"``; all if None. It may name new
            columns.
        define: New columns by name, other than the names of existing columns: formulas as for
            :meth:`Tree.arrays`, such as ``"Muon_pt * cos(Muon_phi)"``, or functions. A function's
            parameters without a default name its columns, which need not be kept. The function is
            called with them as Awkward arrays of the same entries, and returns one value an entry,
            as a NumPy or Awkward array or a list. Later definitions may use earlier ones.
        format: The kind of table to write, ``"tree"`` or ``"rntuple"``; that of the first source if
            None.
        keep_rest: Whether to keep other tables and objects, merged; only where columns are copied.
        compression: Of baskets and pages that are compressed anew, as for
            :func:`farroot.recreate`. Parquet files are compressed with ZSTD.
        overwrite: Whether to replace a file that is there.
        reproducible: Whether the same sources are to give the same bytes, without the time.
        progress: As for :meth:`Tree.arrays`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for the sources and for a target on a server.

    Raises:
        InvalidArgumentError: the target exists already, or has been made meanwhile; a formula
            cannot be parsed, or a new column has the name of another one, or not exactly one value
            an entry; ``format`` or ``keep_rest`` with a Parquet file, or one at an address.
        NotInstalledError: a Parquet file without pyarrow.
        NotFoundError: no such file.
        KeyInFileError: no such tree or column in the first source.
        UnsupportedError: a column cannot be written in that way.

    Example:
        >>> skimmed = farroot.skim(
        ...     "events.root:Events", "few.root", ["event", "Muon_*"], "MET_pt > 50", overwrite=True
        ... )
        >>> farroot.open("few.root:Events").arrays("event").tolist()
        [{'event': 1}, {'event': 3}]
    """
    if format not in (None, "tree", "rntuple"):
        raise InvalidArgumentError(f'format={format!r}: it is "tree", "rntuple" or None')
    access = Access(**credentials)
    places = [place.located() for place in places_of(sources, access, each_matches=True)]
    names = [columns] if isinstance(columns, str) else list(columns or ())
    if columns is not None and not names:
        raise InvalidArgumentError("columns=[]: no column is left")
    chosen = number_and_level(compression)
    new = [definition(name, how, format) for name, how in (define or {}).items()]
    choice = _Choice(names, cut, new, format, keep_rest, overwrite, reproducible, chosen)
    now, to = _core.Merging(), access.added_to(os.fspath(target))
    return told(progress, now, lambda: Skimmed(*_core.skim(places, to, choice, now)))
