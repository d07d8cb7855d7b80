"""xrdcp of a file of random bytes to a server; the start of the program is on the clock, as its
users wait for it. With `--compare` it asks for the server's checksum at the end.
"""

import subprocess

import clock

args = clock.arguments(
    ("--megabytes", {"type": float, "required": True}), ("--compare", {"action": "store_true"})
)
source = clock.random_file(args.megabytes)
command = ["xrdcp", "-f", "-s", *(["-C", "adler32"] if args.compare else []), source, args.url]

clock.run(
    lambda: subprocess.run(command, check=True),
    lambda _: {"file_bytes": source.stat().st_size},
)
