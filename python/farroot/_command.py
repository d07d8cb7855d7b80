"""The shell command ``farroot``."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command line that this process was started with; returns its exit code."""
    # The command runs outside of the interpreter, which would keep Ctrl-C to itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(sys.argv)
