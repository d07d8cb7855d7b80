"""farroot cp of the whole file to a disk; the program's own start is on the clock, as for its
users.
"""

import subprocess
import sys

import clock

args = clock.arguments(("--connections", {"type": int}))
target = clock.target()
command = [sys.executable, "-m", "farroot", "cp"]
if args.connections:
    command += ["--connections", str(args.connections)]

clock.run(
    lambda: subprocess.run([*command, args.url, target], check=True),
    lambda _: clock.copied(target),
)
