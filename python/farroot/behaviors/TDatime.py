"""Days and times."""

from farroot.objects import Datime as TDatime

__all__ = ["TDatime"]
