"""Graphs with two errors of each point."""

from farroot.graphs import TGraphAsymmErrors

__all__ = ["TGraphAsymmErrors"]
