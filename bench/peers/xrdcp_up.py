"""xrdcp of a file of random bytes to a server; the start of the program is on the clock, as its
users wait for it.
"""

import subprocess

import clock

args = clock.arguments(("--megabytes", {"type": float, "required": True}))
source = clock.random_file(args.megabytes)

clock.run(
    lambda: subprocess.run(["xrdcp", "-f", "-s", source, args.url], check=True),
    lambda _: {"file_bytes": source.stat().st_size},
)
