"""``python -m farroot`` is the shell command ``farroot``."""

import sys

from ._command import main

sys.exit(main())
