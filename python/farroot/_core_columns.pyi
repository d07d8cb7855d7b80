"""Columns that the extension module gives and takes."""

from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

@final
class Numbers:
    """Numbers; the array's first dimension is the entry."""

    __match_args__ = ("array",)
    def __new__(cls, array: NDArray[Any]) -> Self: ...
    @property
    def array(self) -> NDArray[Any]: ...

@final
class List:
    """Entry ``i`` is ``content[offsets[i]:offsets[i + 1]]``."""

    __match_args__ = ("offsets", "content")
    def __new__(cls, offsets: NDArray[np.int64], content: Column) -> Self: ...
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def content(self) -> Column: ...

@final
class Strings:
    """Entry ``i`` is ``bytes[offsets[i]:offsets[i + 1]]``, in whatever encoding was written."""

    __match_args__ = ("offsets", "bytes")
    def __new__(cls, offsets: NDArray[np.int64], encoded: NDArray[np.uint8]) -> Self: ...
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def bytes(self) -> NDArray[np.uint8]: ...

@final
class Record:
    """Fields of equal length."""

    __match_args__ = ("name", "length", "fields")
    def __new__(
        cls, name: str | None, length: int, fields: Sequence[tuple[str, Column]]
    ) -> Self: ...
    @property
    def name(self) -> str | None:
        """The class; None for a leaf list."""

    @property
    def length(self) -> int: ...
    @property
    def fields(self) -> list[tuple[str, Column]]: ...

@final
class Regular:
    """Entry ``i`` is ``content[i * size:(i + 1) * size]``."""

    __match_args__ = ("size", "length", "content")
    def __new__(cls, size: int, length: int, content: Column) -> Self: ...
    @property
    def size(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def content(self) -> Column: ...

@final
class Optional:
    """Entry ``i`` is ``content[index[i]]``, or missing where that is -1."""

    __match_args__ = ("index", "content")
    def __new__(cls, index: NDArray[np.int64], content: Column) -> Self: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def content(self) -> Column: ...

@final
class Union:
    """Entry ``i`` is ``contents[tags[i]][index[i]]``, or missing where the tag is -1."""

    __match_args__ = ("tags", "index", "contents")
    def __new__(
        cls, tags: NDArray[np.int8], index: NDArray[np.int64], contents: Sequence[Column]
    ) -> Self: ...
    @property
    def tags(self) -> NDArray[np.int8]: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def contents(self) -> list[Column]: ...

@final
class WithParameter:
    """The same entries as ``content``, with a meaning: Awkward's parameter ``__array__``."""

    __match_args__ = ("parameter", "content")
    @property
    def parameter(self) -> str: ...
    @property
    def content(self) -> Column: ...

@final
class TreeIndex:
    """Which entry has which numbers."""

    @property
    def major_name(self) -> str: ...
    @property
    def minor_name(self) -> str: ...
    @property
    def major(self) -> NDArray[np.int64]: ...
    @property
    def minor(self) -> NDArray[np.int64]: ...
    @property
    def entries(self) -> NDArray[np.int64]: ...

Column = Numbers | List | Strings | Record | Regular | Optional | Union | WithParameter
