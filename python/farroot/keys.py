"""Keys: what directories keep of what is in them (ROOT: ``TKey``)."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from . import _core
from .objects import datetime_of


class Key(NamedTuple):
    """What a directory keeps of an object, by ROOT's names; :meth:`Directory.key` gives it."""

    fName: str
    fTitle: str
    fClassName: str
    #: Which of several objects of one name.
    fCycle: int
    #: Offset of the object's record in the file.
    fSeekKey: int
    #: Offset of the directory's record.
    fSeekPdir: int
    #: Bytes of the whole record.
    fNbytes: int
    #: Bytes of the key in front of it.
    fKeylen: int
    #: Bytes of the object, uncompressed.
    fObjlen: int
    #: When it was written, packed as ROOT does (``TDatime``).
    fDatime: int

    @classmethod
    def of(cls, key: _core.Key) -> Key:
        """What the engine has found."""
        return cls(
            fName=key.name,
            fTitle=key.title,
            fClassName=key.classname,
            fCycle=key.cycle,
            fSeekKey=key.offset,
            fSeekPdir=key.directory_offset,
            fNbytes=key.stored_bytes,
            fKeylen=key.key_bytes,
            fObjlen=key.object_bytes,
            fDatime=key.written,
        )

    @property
    def data_compressed_bytes(self) -> int:
        """Bytes of the object in the file."""
        return self.fNbytes - self.fKeylen

    @property
    def data_uncompressed_bytes(self) -> int:
        """The same bytes when uncompressed."""
        return self.fObjlen

    @property
    def created_on(self) -> datetime.datetime | None:
        """When it was written, in the writer's time zone; None where the file does not say it."""
        try:
            return datetime_of(self.fDatime)
        except ValueError:
            return None
