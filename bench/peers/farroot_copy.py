"""farroot cp of the whole file to a disk; the program's own start is on the clock, as for its
users.
"""

import subprocess
import sys

import clock

args = clock.arguments()
target = clock.target()
command = [sys.executable, "-m", "farroot", "cp", args.url, target]

clock.run(
    lambda: subprocess.run(command, check=True),
    lambda _: clock.copied(target),
)
