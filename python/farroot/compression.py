"""Compression of files that are written, in uproot's words.

ROOT's number (``505``) means the size that ROOT reaches with it. ``ZSTD(5)`` means, as in uproot,
the size that level 5 of Zstandard itself reaches; ROOT uses a higher one for its level 5. Each
column of a table is compressed at the lowest level that reaches that size within 0.5 % on its first
entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from .errors import InvalidArgumentError

__all__ = ["LZ4", "LZMA", "ZLIB", "ZSTD", "Compression"]


@dataclass(frozen=True)
class Compression:
    """An algorithm and its level, 0 (none) to 9."""

    level: int
    #: Whether the level is ROOT's, which means others of the algorithm's.
    is_root_level: bool = field(default=False, compare=False, repr=False, kw_only=True)

    #: ROOT's number of the algorithm.
    algorithm: ClassVar[int]

    def __post_init__(self) -> None:
        if not hasattr(self, "algorithm"):
            raise InvalidArgumentError("a compression is one of ZLIB, LZMA, LZ4 and ZSTD")
        if isinstance(self.level, bool) or not isinstance(self.level, int):
            raise InvalidArgumentError(f"a level is a number, not {self.level!r}")
        if not 0 <= self.level <= 9:
            raise InvalidArgumentError(f"levels go from 0 to 9, and {self.level} is none")

    @property
    def name(self) -> str:
        """The algorithm: ``ZLIB``, ``LZMA``, ``LZ4`` or ``ZSTD``."""
        return type(self).__name__

    @property
    def code(self) -> int:
        """ROOT's number for algorithm and level."""
        return self.algorithm * 100 + self.level

    @property
    def codec_level(self) -> int | None:
        """The level of Zstandard itself whose size is meant; None with ROOT's number, and for other
        algorithms."""
        is_own = self.algorithm == ZSTD.algorithm and not self.is_root_level
        return self.level if is_own else None


class ZLIB(Compression):
    """``deflate``, which every version of ROOT reads.

    Example:
        >>> with farroot.recreate("new.root", compression=farroot.ZLIB(6)) as file:
        ...     file["x"] = "a text"
    """

    algorithm = 1


class LZMA(Compression):
    """Small and slow.

    Example:
        >>> with farroot.recreate("new.root", compression=farroot.LZMA(6)) as file:
        ...     file["x"] = "a text"
    """

    algorithm = 2


class LZ4(Compression):
    """Large and fast; read by ROOT 6.10 and later.

    Example:
        >>> with farroot.recreate("new.root", compression=farroot.LZ4(4)) as file:
        ...     file["x"] = "a text"
    """

    algorithm = 4


class ZSTD(Compression):
    """Small and fast; read by ROOT 6.20 and later.

    Example:
        >>> with farroot.recreate("new.root", compression=farroot.ZSTD(5)) as file:
        ...     file["x"] = "a text"
    """

    algorithm = 5


_ALGORITHMS: dict[int, type[Compression]] = {
    each.algorithm: each for each in (ZLIB, LZMA, LZ4, ZSTD)
}


def of(compression: object) -> Compression | None:
    """The compression that a user means: one of the classes above, of uproot's, ROOT's number, or
    None.

    Raises:
        InvalidArgumentError: for anything else.
    """
    if compression is None or isinstance(compression, Compression):
        return compression
    is_number = isinstance(compression, int)
    code = getattr(compression, "code", compression)
    if isinstance(code, int) and not isinstance(code, bool):
        number, level = divmod(code, 100)
        if code == 0:
            return None
        if number in (0, *_ALGORITHMS):
            return _ALGORITHMS[number or 1](level, is_root_level=is_number)
    said = "farroot.ZLIB(1), LZMA, LZ4 or ZSTD, ROOT's number (505), or None"
    raise InvalidArgumentError(f"a compression is {said}, not {compression!r}")


def code(compression: object) -> int:
    """ROOT's number; 0 for none."""
    chosen = of(compression)
    return 0 if chosen is None or chosen.level == 0 else chosen.code


def number_and_level(compression: object) -> tuple[int, int | None]:
    """ROOT's number, and the level of the algorithm itself where another is meant."""
    chosen = of(compression)
    return code(chosen), None if chosen is None else chosen.codec_level
