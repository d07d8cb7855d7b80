"""Texts that name a column in one way or another, for `names.py` and its test."""

TEXTS = ("w", "j", "m.w", "z.w", "again.w", "only", "z.only", "half", "more", "j+1", "m.j*2")
