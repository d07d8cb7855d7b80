"""Limits of this package, each with its reason. The engine has all others, and its settings.

They bound objects that only Python holds or starts: open files, arrays on their way into the engine
or to another library, and threads that wait. None decides how the engine reads or writes a file.
"""

from __future__ import annotations

#: Files that are held for fsspec and coffea although no program has them open: each costs a file
#: descriptor or a connection.
FILES_MAX = 64
#: Seconds for which such a file is held: it could be replaced meanwhile, and its server likes to
#: be rid of it.
SECONDS_MAX = 60.0
#: Tables that a process keeps open between partitions.
TABLES_MAX = 32
#: Partitions of a file whose entries are not known: more than anybody shares its entries among.
BLIND_MAX = 1_000_000
#: Decoded bytes of a step, where the caller does not say: as in uproot.
STEP_SIZE = "100 MB"
#: Decoded bytes that ``concatenate(on_error="report")`` leaves out where a part of them cannot be
#: read: large enough to read fast, small enough to lose little.
GAP_SIZE = "10 MB"
#: Seconds between two tries of a partition, for servers that request hours.
PAUSE_MAX = 60.0
#: Files that are opened at a time, each by a thread that waits.
OPENS_MAX = 16
#: Calls of asyncio and ``open_many`` at a time, each of a thread that waits: a server that takes
#: seconds for an open has that many to do.
CALLS_MAX = 128
#: How far the prefetch for coffea goes beyond the present chunk: stored bytes, if all chunks have
#: its size, and chunks.
AHEAD_BYTES = 64 << 20
AHEAD_MAX = 32
#: Forms of tables, and schemas, that are kept for coffea.
KEPT_MAX = 32
#: Bytes of a run, the part of a batch that NumPy copies at a time, where no value can be refused.
#: Small runs let the compressing threads start early, and need little memory.
RUN_BYTES = 8 << 20
#: The least bytes of a run for each column, since each column of a run costs a call of NumPy.
COLUMN_RUN_BYTES = 16 << 10
#: The most such bytes where many columns enlarge a run.
WIDE_RUN_BYTES = 32 << 20
#: Bytes of a row group of Parquet before pyarrow encodes it: the writer holds so much, and readers
#: skip by it.
GROUP_BYTES = 128 << 20
#: Bins of a sparse histogram that are laid out: 1 GiB of doubles.
DENSE_MAX = 1 << 27
#: Aliases within each other, as deep as Python's own functions may be; the engine refuses fewer.
DEPTH_MAX = 100
#: Bytes of a basket that others may be joined to, as for ``farroot merge --basket-size``.
BASKET_MIN, BASKET_MAX = 1 << 10, 16 << 20
