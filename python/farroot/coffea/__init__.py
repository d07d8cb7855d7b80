"""coffea's NanoEvents and Runner, with files opened and read by farroot.

>>> from farroot.coffea import from_root
>>> events = from_root("root://eos.example//store/nano.root:Events").events()  # doctest: +SKIP
"""

from __future__ import annotations

try:
    import coffea.nanoevents  # noqa: F401
except ImportError as error:
    raise ImportError(
        "farroot.coffea is for coffea 2026.9: pip install 'coffea>=2026.9'"
    ) from error

from ._factory import from_root
from ._runner import Runner, work_items

__all__ = ["Runner", "from_root", "work_items"]
