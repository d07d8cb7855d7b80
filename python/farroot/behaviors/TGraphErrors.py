"""Graphs with errors."""

from farroot.graphs import TGraphErrors

__all__ = ["TGraphErrors"]
