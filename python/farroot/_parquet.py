"""The Parquet files of ``farroot cat --parquet`` and of skims, by pyarrow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._imports import package
from ._limits import GROUP_BYTES
from .errors import UnsupportedError

if TYPE_CHECKING:
    from ._core import Column


class ParquetWriter:
    """A Parquet file of batches, whose types are those of the first one."""

    def __init__(self, path: Path) -> None:
        """Creates the file.

        Raises:
            NotInstalledError: without pyarrow.
            OSError: where the file cannot be created.
        """
        pa = package("pyarrow", "'farroot[arrow]'")
        self._file = pa.OSFile(os.fsencode(path), "wb")
        self._writer: Any = None
        self._group: list[Any] = []
        self._group_bytes = 0

    def write(self, columns: list[tuple[str, Column]]) -> None:
        """Writes a batch, which has at least one column.

        Raises:
            UnsupportedError: for objects of other classes than in the first batch, and for
                variants.
        """
        import pyarrow as pa

        from ._libraries.arrow import to_arrow

        arrays = [to_arrow(column) for _, column in columns]
        table = pa.table(arrays, names=[name for name, _ in columns])
        if self._writer is None:
            self._writer = self._begun(table.schema)
        for known, found in zip(self._writer.schema, table.schema, strict=True):
            if known.type != found.type:
                raise UnsupportedError(
                    f"{found.name} holds objects of other classes than before: a column of Parquet "
                    "has one type; leave the column out"
                )
        self._group.append(table)
        self._group_bytes += table.nbytes
        if self._group_bytes >= GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        """Writes the rest, and the footer."""
        if self._writer is not None:
            self._write_group()
            self._writer.close()
        self._file.close()

    def _begun(self, schema: Any) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetWriter(self._file, schema, compression="zstd")
        except pa.ArrowNotImplementedError as error:
            named = ", ".join(schema.names)
            raise UnsupportedError(f"Parquet cannot hold one of {named}: {error}") from error

    def _write_group(self) -> None:
        import pyarrow as pa

        if not self._group:
            return
        table = pa.concat_tables(self._group)
        self._group, self._group_bytes = [], 0
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
