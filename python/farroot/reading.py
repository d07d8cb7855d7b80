"""Files and directories by the names that uproot has for them: for ``isinstance``."""

from farroot.file import Directory as ReadOnlyDirectory
from farroot.file import File as ReadOnlyFile
from farroot.file import open  # noqa: A004

__all__ = ["ReadOnlyDirectory", "ReadOnlyFile", "open"]
