"""Trees."""

from farroot.tree import Tree as TTree

__all__ = ["TTree"]
