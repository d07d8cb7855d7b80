"""The class of every object that is no tree, by the name that uproot has for it."""

from farroot.objects import Object as Model

__all__ = ["Model"]
