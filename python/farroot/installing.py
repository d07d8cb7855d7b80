"""farroot under everything that reads through fsspec: ``farroot.install()``."""

from __future__ import annotations

from typing import Any

from ._locks import Lock
from ._uproot import taken

#: Protocols that are XRootD's, and those that others read as well.
_XROOTD, _HTTP = ("farroot", "root", "roots", "xroot", "xroots"), ("http", "https")

_lock = Lock()
#: fsspec's class for each protocol that is farroot's now; None where it had not been needed yet.
_before: dict[str, Any] = {}


class Installed:
    """The effect of :func:`install`; :meth:`undo`, and the end of the context manager, undo it.

    Example:
        >>> installed = farroot.install()
        >>> installed.undo()
    """

    def __init__(self, protocols: tuple[str, ...]) -> None:
        #: Protocols that are farroot's now, by this call or by one before it.
        self.protocols = protocols

    def undo(self) -> None:
        """Gives these protocols back to those who had them before the first ``install``."""
        # The registry of fsspec's register_implementation, which has no counterpart that removes
        # one.
        from fsspec.registry import _registry

        with _lock:
            for protocol in self.protocols:
                if protocol not in _before:
                    continue
                if (cls := _before.pop(protocol)) is not None:
                    _registry[protocol] = cls
                else:
                    _registry.pop(protocol, None)

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<farroot reads {', '.join(f'{each}://' for each in self.protocols)} for fsspec>"


@taken
def install(*, http: bool = False) -> Installed:
    """Has all that reads through fsspec (uproot, coffea, pandas, ...) read XRootD by farroot.

    Local paths and file-like objects are read as before. Doing it again changes nothing. It holds
    for this process; workers of Dask do it with ``dask worker --preload farroot.preload``.

    Args:
        http: Whether ``http://`` and ``https://`` are read by farroot, too.

    Returns:
        A handle whose ``undo()`` gives the protocols back.

    Example:
        >>> import uproot
        >>> with farroot.install():
        ...     uproot.open("events.root")["Events"].num_entries
        4
    """
    from fsspec.registry import register_implementation, registry

    from .fsspec import FileSystem

    protocols = _XROOTD + _HTTP * bool(http)
    with _lock:
        for protocol in protocols:
            if registry.get(protocol) is not FileSystem:
                _before[protocol] = registry.get(protocol)
                register_implementation(protocol, FileSystem, clobber=True)
    return Installed(protocols)
