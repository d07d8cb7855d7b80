"""One file that several workers write, each a part of it."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any

from .. import _core
from .._addresses import absolute, expanded, is_local
from .._ours import ours
from .._shown import shown
from ..errors import Error, InvalidArgumentError, UnfinishedWarning, warn
from ..merging import Merged, merge
from ._arguments import count
from ._folders import FolderAddress
from ._options import Options
from .writable import begin_shared

if TYPE_CHECKING:
    from .._addresses import Address
    from .directories import WritableDirectory

#: Digits of a part's number in the name of its file, so that a listing is in order.
_DIGITS = 6


class SharedOutput:
    """One file that several workers write, each a part of it.

    A part is a file of its own, in a folder beside the place of the whole file. A part that is
    written again, because its worker was lost or was only slow, takes the place of the earlier one:
    each number counts once. :meth:`commit` merges the parts in the order of their numbers without
    decoding them, and removes them.

    Workers on other machines get it as an argument: it is pickled as a path and options, without
    secrets, as workers show credentials of their own. The path must be a place that all of them can
    write to.

    Args:
        path: Of the whole file: a path or an address. Workers may have another working directory.
        overwrite: Whether :meth:`commit` replaces a file that is there.
        options: Those of :func:`farroot.recreate` but ``title``, for each part.

    Example:
        >>> output = farroot.SharedOutput("shared.root")
        >>> for number in (2, 0, 1, 0):  # on any worker, in any order, and again
        ...     with output.part(number) as file:
        ...         file["Events"] = {"x": np.array([number, number + 0.5])}
        >>> output.commit(3).tables
        {'Events': 6}
        >>> farroot.open("shared.root:Events")["x"].array().tolist()
        [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    """

    @ours
    def __init__(self, path: Address, *, overwrite: bool = False, **options: Any) -> None:
        if Options.of(options).title:
            text = "title: the parts are merged into a file without one"
            raise InvalidArgumentError(text)
        self._path = absolute(os.fspath(path))
        self._overwrite = overwrite
        self._options = options
        is_here = is_local(self._path)
        address, mark, query = (self._path, "", "") if is_here else self._path.partition("?")
        # Files of an earlier run must not be taken for parts.
        self._folder = FolderAddress(f"{address}.parts-{secrets.token_hex(8)}", mark + query)

    def __getstate__(self) -> dict[str, Any]:
        """Without secrets: a worker shows its own."""
        return {**self.__dict__, "_path": expanded(self._path)}

    def __repr__(self) -> str:
        return f"<SharedOutput {shown(self._path)!r}>"

    @property
    def path(self) -> str:
        """Of the whole file; without secrets."""
        return expanded(self._path)

    @ours
    def part(self, number: int) -> WritableDirectory:
        """Begins a part, as :func:`farroot.recreate` begins a file. Use it in ``with``.

        Args:
            number: Of the part, from 0: that of the partition whose events it has.
        """
        place = self._place(count(number, "number", 0))
        return begin_shared(place, Options.of(self._options))

    def _place(self, number: int) -> str:
        return self._folder.file(f"{number:0{_DIGITS}}.root")

    @ours
    def commit(self, parts: int, **options: Any) -> Merged:
        """Merges the parts into the whole file, and removes them.

        Args:
            parts: How many there are: those of the numbers below it.
            options: Those of :func:`farroot.merge`, such as ``missing="union"`` for parts with
                different branches.

        Raises:
            NotFoundError: a part has not been written. The others are kept: write it, and commit
                again.
        """
        if count(parts, "parts", 0) < 1:
            raise InvalidArgumentError("an output of no parts")
        places = [self._place(number) for number in range(parts)]
        reproducible = self._options.get("reproducible", False)
        options = {"overwrite": self._overwrite, "reproducible": reproducible, **options}
        merged = merge(places, self._path, **options)
        self._remove(places)
        return merged

    @ours
    def abandon(self, parts: int) -> None:
        """Removes the parts; the whole file stays as it was.

        Args:
            parts: As for :meth:`commit`. Some may not have been written.
        """
        self._remove([self._place(number) for number in range(count(parts, "parts", 0))])

    def _remove(self, places: list[str]) -> None:
        for place in places:
            try:
                _core.remove(place)
            except FileNotFoundError:
                continue
        try:
            _core.remove_folder(self._folder.folder + self._folder.query)
        except FileNotFoundError:
            pass
        except Error as error:
            # A worker that is still writing, or was killed while it wrote.
            warn(f"{self._folder.folder} is left: {error}", UnfinishedWarning)
