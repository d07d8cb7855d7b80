"""coffea's NanoEvents and Runner, with files opened and read by farroot.

>>> from farroot.coffea import from_root
>>> events = from_root("root://eos.example//store/nano.root:Events").events()  # doctest: +SKIP
"""

from __future__ import annotations

from .._imports import package

package("coffea.nanoevents", "'coffea>=2026.9'")

from ._factory import from_root  # noqa: E402
from ._runner import Runner, work_items  # noqa: E402

__all__ = ["Runner", "from_root", "work_items"]
