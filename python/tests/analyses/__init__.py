"""Analyses as physicists write them for uproot: ``analyse`` of each takes addresses of files."""
