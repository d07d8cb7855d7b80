"""Trees and their branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from . import _core, _reinterpreted, baskets
from ._arrays import Readable
from ._classes import make
from ._figures import Stored, of_chain
from ._kinds import makes
from ._leaves import Leaf
from ._locks import cached_property
from ._progress import size
from ._reading import Selection
from ._registry import Decoder, custom_interpretation, opaque, registered
from ._selection import as_registered, one, reinterpret
from ._shown import shown
from ._table import ColumnOf, InFile, warn_if_recovered
from .errors import InvalidArgumentError, KeyInFileError, UnsupportedError
from .friends import Index
from .objects import made

if TYPE_CHECKING:
    from ._types import Filters, LibraryName
    from .baskets import Basket
    from .interpretation import Interpretation


class HasBranches(Readable["Branch"]):
    """A mapping from names to branches that reads many of them at once."""

    _separator = "/"
    _kind = "branch"
    _table: Tree

    def _object(self) -> Any:
        """The TTree or TBranch itself."""
        raise NotImplementedError

    @property
    def classname(self) -> str:
        """Its own class: ``TTree``, ``TChain``, ``TBranchElement``, ..."""
        return str(self._object().classname)

    @property
    def all_members(self) -> dict[str, Any]:
        """Its own members: ``tree.all_members["fUserInfo"]`` has the objects that were put
        there. Of a branch of a chain, those in the first file."""
        return dict(self._object())

    def member(self, name: str) -> Any:
        """One of :attr:`all_members`."""
        return self._object()[name]

    @property
    def _stored(self) -> Stored:
        """How large it is in its files."""
        raise NotImplementedError

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all baskets of a tree, as it keeps them, or of the branch's own; of a chain,
        in all files."""
        return self._stored.compressed

    @property
    def uncompressed_bytes(self) -> int:
        """The same bytes when uncompressed."""
        return self._stored.uncompressed

    @property
    def compression_ratio(self) -> float:
        """Uncompressed by compressed bytes; 1.0 where there are none."""
        return self._stored.ratio

    @property
    def branches(self) -> list[Branch]:
        """The branches directly below, in the order of the file."""
        return self._direct()

    @property
    def tree(self) -> Tree:
        """The tree itself, or the one that the branch is in."""
        return self._table

    def _size_of(self, selection: Selection, start: int, stop: int) -> tuple[int, int]:
        leaves = selection.leaves_with_cut
        own = [self._column(leaf.column.number) for leaf in leaves if leaf.info.friend is None]
        return sum(branch.uncompressed_bytes for branch in own), self.num_entries

    def common_entry_offsets(self, **filters: Unpack[Filters]) -> list[int]:
        """Entries at which baskets of all these branches begin or end, in ascending order.

        The arguments are those of :meth:`items`. Branches without baskets do not count.

        Raises:
            UnsupportedError: of a chain, whose baskets are those of its files.
        """
        branches = self.values(**filters)
        own = [] if self.itself is None else [self.itself]
        offsets = [set(each.entry_offsets) for each in [*own, *branches] if each.num_baskets]
        return sorted(set.intersection(*offsets)) if offsets else [0]


@makes("tree")
class Tree(InFile["Branch"], HasBranches):  # type: ignore[override]
    """A TTree of an open file: a mapping from names to branches, with entries to be read.

    It survives ``pickle`` and ``os.fork`` by its address: in another process, it is opened again
    when first used.

    A TChain is one too, with the branches of its first tree and the entries of all.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree.keys(filter_name="Muon_*")
        ['Muon_pt', 'Muon_charge']
        >>> tree.arrays(["event", "Muon_pt"], "nMuon > 0", entry_stop=3).tolist()
        [{'event': 0, 'Muon_pt': [30.0, 12.0]}, {'event': 2, 'Muon_pt': [45.0]}]
    """

    _called, _parts = "Tree", "branches"

    def __init__(
        self,
        core: _core.Table | None,
        url: str,
        object_path: str,
        again: Callable[[], _core.Table] | None = None,
    ) -> None:
        super().__init__(core, url, object_path, again)
        self._known_index: Index | None = None
        self._known_object: Any = None
        if core is not None:
            warn_if_recovered(core.file)

    def _made_of(self, number: int) -> Branch:
        return Branch(self, number)

    @property
    def title(self) -> str:
        """The title of the tree."""
        return self._live().title

    @property
    def class_version(self) -> int:
        """The version of its class that wrote it."""
        return int(self._object().class_version)

    def member(self, name: str) -> Any:
        """One of :attr:`all_members`.

        Raises:
            UnsupportedError: of a chain, whose files have a tree each.
        """
        return self._members()[name]

    @property
    def all_members(self) -> dict[str, Any]:
        """Its own members: ``tree.all_members["fUserInfo"]`` has the objects that were put
        there. A chain has none."""
        return dict(self._members())

    def _members(self) -> Any:
        if not self.is_chain:
            return self._object()
        trees = [f"{link.file_path}:{link.object_path}" for link in self.links]
        named = ", ".join(trees[:5]) + (f" and {len(trees) - 5} more" if len(trees) > 5 else "")
        raise UnsupportedError(f"the trees of a chain have members of their own: {named}")

    def _object(self) -> Any:
        """The TTree itself; of a chain, the first one."""
        if self._known_object is None:
            found = self._live().file.object(self._object_path, make, opaque())
            self._known_object = made(found)
        return self._known_object

    @cached_property
    def _stored_in_files(self) -> tuple[Stored, dict[str, Stored]]:
        """Of a chain, in all of its files."""
        return of_chain([link[:2] for link in self.links])

    @property
    def _stored(self) -> Stored:
        return self._stored_in_files[0] if self.is_chain else Stored.of(self._live().stored())

    @property
    def index(self) -> Index | None:
        """Which entry has which numbers (``TTree::BuildIndex``); None where the file has none.

        Of a chain, whose files are all opened for it, it is that of all of them; where several
        have the same numbers, the first file counts.

        Raises:
            UnsupportedError: where only some files of a chain have an index.
        """
        return Index.of(self._live())

    def entry_with(self, major: int, minor: int = 0) -> int:
        """The entry that has these numbers in the tree's index.

        Raises:
            KeyInFileError: where none has, or the tree has no index.
        """
        if self._known_index is None:
            self._known_index = self.index
        if self._known_index is None:
            raise KeyInFileError(f"the tree has no index: {self.address}")
        return self._known_index.entry_with(major, minor)


class Branch(ColumnOf["Branch"], HasBranches):
    """A branch of a tree; itself a mapping to the branches below it.

    Example:
        >>> branch = farroot.open("events.root:Events")["Muon_pt"]
        >>> branch.typename, branch.num_baskets
        ('double[]', 1)
        >>> branch.array(entry_stop=2)
        <Array [[30, 12], []] type='2 * var * float64'>
    """

    _known_object: Any = None

    @property
    def number(self) -> int:
        """Position among all branches of the tree, depth first."""
        return self._number

    @property
    def title(self) -> str:
        """The title of the branch; often the comment on the member in the C++ class."""
        return self._info.title

    def _object(self) -> Any:
        if self._known_object is None:
            self._known_object = self.parent._object()["fBranches"][self.index]
        return self._known_object

    @property
    def aliases(self) -> dict[str, str]:
        """Those of the tree."""
        return self._table.aliases

    @property
    def object_path(self) -> str:
        """Path of the tree in the file, and of the branch in the tree."""
        return f"{self._table.object_path}:{self.path}"

    @property
    def cache_key(self) -> str:
        """A text that identifies the branch: that of its parent, its name and its position."""
        separator = ":" if self.top_level else "/"
        return f"{self.parent.cache_key}{separator}{self.name}({self.index})"

    @property
    def num_entries(self) -> int:
        """Number of entries, which differs from the tree's where filling was not finished."""
        if self.is_group or self._table.is_chain:
            return self._table.num_entries
        return self._info.num_entries

    @property
    def interpretation(self) -> Interpretation:
        """How the bytes are read, by uproot's names: ``AsDtype('>f4')``, ``AsJagged(...)``, ..."""
        from .interpretation.identify import interpretation_of

        return interpretation_of(self)

    @property
    def decoder(self) -> Decoder | None:
        """The decoder that was registered for the branch's type, or None."""
        return registered(lambda: self.typename)

    @property
    def is_group(self) -> bool:
        """Whether the branch only groups those below it, and has no entries of its own."""
        return self._info.is_group

    @property
    def is_readable(self) -> bool:
        """Whether this version can read the branch's own entries, as far as its type shows.

        A list of a class that the file does not describe is readable where it is empty: that it
        is not shows when it is read.
        """
        return Leaf(self._info).is_readable or custom_interpretation(self) is not None

    @property
    def _stored(self) -> Stored:
        if self._table.is_chain:
            return self._table._stored_in_files[1].get(self.path, Stored())
        return Stored.of(self._info.stored())

    def _facts(self) -> list[tuple[str, Any]]:
        facts = super()._facts()
        if self.is_group:
            return facts
        stored = self._stored
        text = f"{size(stored.compressed)} in {stored.baskets:,} baskets"
        return [
            *facts,
            ("read as", str(self.interpretation)),
            ("stored", f"{text}, compressed {stored.ratio:.2f} times"),
        ]

    @property
    def num_baskets(self) -> int:
        """Number of the branch's own baskets."""
        return self._stored.baskets

    def _baskets(self) -> list[_core.Basket]:
        if self._table.is_chain:
            raise UnsupportedError(
                "the baskets of a chain are those of its files: open one of chain.links"
            )
        return self._info.baskets()

    @property
    def entry_offsets(self) -> list[int]:
        """Where baskets begin, in entries of the tree, and where the last one ends.

        Raises:
            UnsupportedError: of a chain, whose baskets are those of its files.
        """
        baskets = self._baskets()
        return [0, *(basket.entry_stop for basket in baskets)]

    def basket_entry_start_stop(self, basket_num: int) -> tuple[int, int]:
        """First and last entry (half open) of a basket.

        Raises:
            InvalidArgumentError: where there are not so many.
        """
        basket = self._basket(basket_num)
        return basket.entry_start, basket.entry_stop

    def basket_record(self, basket_num: int) -> tuple[int, int] | None:
        """First and last byte (half open) of a basket in the file, its key included.

        None of one in the tree's own record.

        Raises:
            InvalidArgumentError: where there are not so many.
        """
        return self._basket(basket_num).record

    def basket(self, basket_num: int) -> Basket:
        """The bytes of a basket's entries, uncompressed.

        Raises:
            InvalidArgumentError: the branch has no basket of that number.
        """
        return baskets.read(self, basket_num, *self.basket_entry_start_stop(basket_num))

    def _basket(self, number: int) -> _core.Basket:
        baskets = self._baskets()
        if not 0 <= number < len(baskets):
            raise InvalidArgumentError(f"there is no basket {number} of {len(baskets)}")
        return baskets[number]

    def array(
        self,
        interpretation: Interpretation | str | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
        *,
        library: LibraryName = "ak",
        ak_add_doc: bool = False,
    ) -> Any:
        """Reads the branch.

        Args:
            interpretation: How its bytes are read, where not as its type says: as numbers of
                another type (see :mod:`farroot.interpretation.numerical`) or of that dtype.
            entry_start, entry_stop: Half-open range of entries; None is the beginning and the
                end, negative numbers count from the end.
            library: ``"ak"`` for an Awkward array, ``"np"`` for a NumPy array whose first
                dimension is the entry, ``"pd"`` for a Series indexed by entry. A branch that
                only groups others gives a record array, a dict, or a DataFrame.
            ak_add_doc: Whether an Awkward array has the branch's title as its ``__doc__``.

        Raises:
            UnsupportedError: for a type that cannot be read yet, naming branch and type.
        """
        wanted = _reinterpreted.asked(interpretation)
        column = one(self.name, self._info)
        if wanted is None:
            column = as_registered(self._table, column)
        else:
            column = reinterpret(self, column, wanted)
        return self._alone(column, entry_start, entry_stop, library, ak_add_doc)

    async def aarray(
        self,
        interpretation: Interpretation | str | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
        *,
        library: LibraryName = "ak",
        ak_add_doc: bool = False,
    ) -> Any:
        """As :meth:`array`, with its arguments, to be awaited in a program of asyncio.

        Cancelling the task ends the read.
        """
        from ._awaited import awaited

        entries = entry_start, entry_stop
        read = partial(self.array, interpretation, *entries, library=library, ak_add_doc=ak_add_doc)
        return await awaited(read)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        return np.asarray(self.array(library="np"), dtype=dtype)

    def __repr__(self) -> str:
        return shown(f"<Branch {self.path!r} ({self.typename}) of {self._table!r}>")
