"""farroot reads ROOT data that is far away as if it were near.

>>> import farroot
>>> tree = farroot.open("events.root:Events")
>>> tree.arrays(["Muon_pt", "Jet_*"], entry_stop=10).fields
['Muon_pt', 'Jet_pt']

The names are uproot's. Each is imported when it is first used, as are NumPy, Awkward and pandas.
"""

from __future__ import annotations

from os.path import dirname, join


def _listed() -> dict[str, tuple[str, str]]:
    """The public names, each with its module and its name there, as the stub lists them."""
    found = {}
    with open(join(dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        for line in stub:
            match line.split():
                case ["from", module, "import", name, "as", public, *_]:
                    found[public] = module, name
                case [public, "=", name]:
                    found[public] = found[name]
    return found


_LISTED = _listed()
__all__ = sorted(_LISTED)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in _LISTED:
        module, there = _LISTED[name]
        if module == ".":
            return _module(f".{there}")
        # The next use finds it without this function.
        return globals().setdefault(name, getattr(_module(module), there))
    if name.startswith("_"):
        # `from . import _core` asks for it before it imports the module.
        raise AttributeError(name)
    from ._uproot import no_name

    raise no_name(name, __all__)


def _module(name: str) -> object:
    from importlib import import_module

    from ._imports import uninterrupted

    try:
        with uninterrupted():
            return import_module(name, __name__)
    except ImportError as error:
        if "interpreter" not in str(error):
            raise
        from .errors import UnsupportedError

        message = "farroot works in a process's main interpreter only; use processes, or threads"
        raise UnsupportedError(message) from error
