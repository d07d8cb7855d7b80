"""Keys: how directories list their objects (ROOT: ``TKey``)."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from . import _core
from ._uproot import public
from .objects import datetime_of


@public
class Key(NamedTuple):
    """An object in the list of its directory, by ROOT's names; from :meth:`Directory.key`.

    Example:
        >>> key = farroot.open("events.root").key("Events")
        >>> key.fName, key.fCycle, key.fClassName, key.fTitle
        ('Events', 1, 'TTree', 'muons and jets')
    """

    fName: str
    fTitle: str
    fClassName: str
    #: Number among objects of one name; the newest has the highest.
    fCycle: int
    #: Offset of the object's record in the file.
    fSeekKey: int
    #: Offset of the directory's record.
    fSeekPdir: int
    #: Bytes of the whole record.
    fNbytes: int
    #: Bytes of the key at the beginning of the record.
    fKeylen: int
    #: Bytes of the object, uncompressed.
    fObjlen: int
    #: Time of writing, packed as in ROOT's ``TDatime``.
    fDatime: int

    @classmethod
    def of(cls, key: _core.Key) -> Key:
        """The engine's key, by ROOT's names."""
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
        """Bytes of the object, uncompressed."""
        return self.fObjlen

    @property
    def created_on(self) -> datetime.datetime | None:
        """Time of writing, in the writer's time zone; None where the file has no valid time."""
        try:
            return datetime_of(self.fDatime)
        except ValueError:
            return None
