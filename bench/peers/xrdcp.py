"""xrdcp of the whole file, to nowhere or to a disk; the program's own start is on the clock, as for
its users.
"""

import subprocess
from pathlib import Path

import clock

args = clock.arguments(
    ("--streams", {"type": int, "default": 1}),
    ("--sources", {"type": int}),
    ("--to-disk", {"action": "store_true"}),
)
target = clock.target() if args.to_disk else Path("/dev/null")
command = ["xrdcp", "-f", "-s", "-S", str(args.streams)]
if args.sources:
    command += ["-y", str(args.sources)]

clock.run(
    lambda: subprocess.run([*command, args.url, target], check=True),
    lambda _: clock.copied(target) if args.to_disk else {},
)
