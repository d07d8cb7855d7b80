"""Graphs."""

from farroot.objects import Graph as TGraph

__all__ = ["TGraph"]
