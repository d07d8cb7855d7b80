"""Arrays that are read when they are computed: Dask's, as uproot makes them, and graphed's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack, cast

from . import _libraries
from ._addresses import path_text
from ._credentials import Access
from ._imports import package
from ._numbers import whole
from ._parts import Lacking, there
from ._places import Place, beside, places_of
from ._reading import ReadRequest
from ._selection import ColumnQuery
from ._types import FILTERS, StepSize
from ._uproot import taken
from .errors import InvalidArgumentError
from .scaleout import Division, Measure, Partition, Partitions, planned

if TYPE_CHECKING:
    from ._types import ColumnOptions, DaskOptions, FilterOptions, LibraryName
    from .dataset import Files


@dataclass(frozen=True)
class _Names:
    """The columns in the words of the call; the first file decides the meaning of filters."""

    expressions: str | Iterable[str] | None
    options: FilterOptions

    def found(self, places: list[Place]) -> tuple[tuple[str, ...] | None, list[Place]]:
        """The names, and the places, of which the first is open where it had to be."""
        if isinstance(self.expressions, str):
            return (self.expressions,), places
        if self.expressions is not None:
            return tuple(self.expressions), places
        if not _filters_of(self.options):
            return None, places
        table = places[0].opened()
        chosen = ColumnQuery.of(None, None, cast("ColumnOptions", self.options))
        query = ReadRequest(chosen, _libraries.named("np"), None)
        names = tuple(each.name for each in query.of(table).chosen)
        if not names:
            raise InvalidArgumentError(f"the filters let no column of {table.address} through")
        # Its friends are among what it has.
        return names, [replace(places[0], table=table, friends=()), *places[1:]]


def _filters_of(options: FilterOptions) -> list[str]:
    """The filters that a call has set."""
    return [name for name in FILTERS if options.get(name) is not None]


@taken
def dask(
    files: Files | Partitions,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    *,
    library: LibraryName = "ak",
    awkward: bool | None = None,
    step_size: StepSize | None = None,
    steps_per_file: float | None = None,
    measure: Measure = "stored",
    open_files: bool = True,
    allow_missing: bool = False,
    friends: Mapping[str, Files] | None = None,
    **options: Unpack[DaskOptions],
) -> Any:
    """Arrays of Dask, as ``uproot.dask`` gives them: names and types are known at once, and entries
    are read where and when Dask computes something.

    Args:
        files: As for :func:`farroot.iterate`, or a fileset of coffea with ``steps``; or the
            partitions of :func:`farroot.partitions`, which have the other arguments already, but
            for ``library`` and ``awkward``.
        expressions, cut: As for :meth:`Tree.arrays`.
        filter_name, filter_typename, filter_branch, filter_field: As for :meth:`Tree.items`, only
            without ``expressions``; the first file decides.
        library: With ``"ak"``, one ``dask_awkward.Array``, of which only the columns in use are
            read; the package dask-awkward 2026.2 is for Dask before 2025.4. With ``"np"``, a dict
            of ``dask.array.Array``. With others, and of partitions, a list with a ``dask.delayed``
            for each partition.
        awkward: True makes the one array of partitions, too; False makes the list of all.
        step_size, measure: As for :func:`farroot.partitions`.
        steps_per_file: Parts of each file, in place of ``step_size``.
        open_files: With False only the first file is opened, for names and types; how many entries
            there are is not known then.
        allow_missing: Whether files that are not there, or have no such tree, are left out.
        friends: As for :func:`farroot.iterate`.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Raises:
        InvalidArgumentError: for files without entries, and with ``awkward=True`` for another
            library than ``"ak"``.

    Example:
        >>> arrays = farroot.dask("events.root:Events", library="np", filter_name="MET_*")
        >>> float(arrays["MET_pt"].sum().compute())
        165.0
    """
    name = type(_libraries.named(library)).__name__
    if awkward and name != "Awkward":
        raise InvalidArgumentError(f"awkward=True is for library='ak', not {library!r}")
    is_planned = isinstance(files, Partitions)
    makes_one = (awkward is None and not is_planned and name == "Awkward") or awkward
    if makes_one:
        # A missing package is an error before anything is opened.
        package("dask_awkward")
    if isinstance(files, Partitions):
        _refuse_columns(expressions, cut, *_filters_of(options))
        partitions = files
    else:
        names = _Names(expressions, options)
        division = _division(step_size, steps_per_file, measure, open_files)
        partitions = _planned(
            files, names, cut, division, allow_missing, friends, Access.among(options)
        )
    if makes_one:
        from . import _dask_awkward

        return _dask_awkward.array_of(_some(partitions))
    if name == "NumPy" and awkward is None and not is_planned:
        from . import _dask_numpy

        return _dask_numpy.arrays_of(_some(partitions))
    delayed = package("dask.delayed", "'farroot[dask]'").delayed
    read = delayed(_arrays, name="farroot.arrays", pure=True)
    return [read(one, library) for one in partitions]


def _division(
    step_size: StepSize | None, steps_per_file: float | None, measure: Measure, open_files: bool
) -> Division:
    if step_size is not None and (steps_per_file is not None or not open_files):
        raise InvalidArgumentError(
            "step_size= goes without steps_per_file=, and with open_files=True"
        )
    parts = None if steps_per_file is None else whole(steps_per_file, "steps_per_file")
    if not open_files:
        return Division(blind=parts or 1)
    if parts is not None:
        return Division(parts=parts)
    return Division(measure=measure) if step_size is None else Division(step_size, measure)


def _refuse_columns(*given: Any) -> None:
    if any(each is not None for each in given):
        raise InvalidArgumentError("partitions have their columns and cut: only library= is new")


def _planned(
    files: Files,
    names: _Names,
    cut: str | None,
    division: Division,
    allow_missing: bool,
    friends: Mapping[str, Files] | None,
    access: Access,
) -> Partitions:
    files, steps = _with_steps(files)
    places = beside(places_of(files, access), friends, access)
    if allow_missing:
        skipped = Lacking(unreadable=False, missing=True)
        places = there(places, skipped)
        if not places:
            raise skipped[0].error
    found, places = names.found(places)
    made = planned(places, found, cut, division if steps is None else Division(parts=1))
    return made if steps is None else Partitions(_stepped(made, steps))


#: Ranges of entries by the address of their file.
_Steps = Mapping[str, list[tuple[int, int]]]


def _with_steps(files: Any) -> tuple[Any, _Steps | None]:
    """Files without the ``steps`` that a fileset of coffea names, and these."""
    if not isinstance(files, Mapping) or not any(isinstance(v, Mapping) for v in files.values()):
        return files, None
    steps, paths = {}, {}
    for file, said in files.items():
        if not isinstance(said, Mapping) or "steps" not in said:
            raise InvalidArgumentError("either each file of a dict has steps, or none has")
        paths[file] = said.get("object_path")
        bounds = list(said["steps"])
        if bounds and not isinstance(bounds[0], Iterable):
            bounds = list(pairwise(bounds))
        steps[path_text(file)] = [
            (whole(start, "a step's start"), whole(stop, "a step's stop")) for start, stop in bounds
        ]
    return paths, steps


def _stepped(whole_files: Partitions, steps: _Steps) -> Iterable[Partition]:
    for one in whole_files:
        if one.url not in steps:
            raise InvalidArgumentError(f"steps are those of one file, not of a pattern: {one.url}")
        for entries in steps[one.url]:
            yield replace(one, entries=entries, stored_bytes=None, decoded_bytes=None)


@taken
def graphed(
    files: Files | Partitions,
    expressions: str | Iterable[str] | None = None,
    cut: str | None = None,
    **options: Any,
) -> Any:
    """A deferred ``graphed.Array`` of Awkward's kind, as ``uproot.graphed`` makes it.

    Its source has the protocol ``graphed.write.PartitionedSource``: plans of graphed read the
    partitions in the processes in which they run, and only the columns that the plan uses.

    Args:
        files, expressions, cut, options: As for :func:`farroot.partitions`; or its partitions. All
            plans use these partitions, so they must have ``steps_per_file=1``.

    Raises:
        InvalidArgumentError: for files without entries.

    Example:
        >>> events = farroot.graphed("events.root:Events", ["MET_pt"])
        >>> type(events).__name__
        'AwkwardArray'
    """
    package("graphed", "'graphed[awkward]'")
    from . import _graphed
    from .scaleout import partitions

    if not isinstance(files, Partitions):
        return _graphed.array_of(_some(partitions(files, expressions, cut, **options)))
    _refuse_columns(expressions, cut, *options.values())
    return _graphed.array_of(_some(files))


def _some(partitions: Partitions) -> Partitions:
    """The partitions, of which there must be at least one, since it has the arrays' type."""
    if not partitions:
        raise InvalidArgumentError("the files have no entries, so that they have no partitions")
    return partitions


def _arrays(partition: Partition, library: LibraryName) -> Any:
    return partition.arrays(library=library)
