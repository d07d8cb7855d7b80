"""farroot: arrays() of one file from one or several sources, while things happen to these."""

import json
import sys
import time
import zlib

import awkward as ak
import clock
import farroot

args = clock.arguments()
before = clock.link()
print("begin", flush=True)
begun = time.perf_counter()
try:
    arrays = farroot.open(f"{args.url}:{args.tree}").arrays(args.columns or None, library="ak")
except (farroot.Error, OSError) as error:
    print(json.dumps({"time_s": time.perf_counter() - begun, "failed": str(error)}))
    sys.exit(0)
time_s = time.perf_counter() - begun
after = clock.link()
digest = 0
for name in sorted(arrays.fields):
    digest = zlib.adler32(ak.to_numpy(ak.flatten(arrays[name], axis=None)).tobytes(), digest)
answer = {"time_s": time_s, "entries": len(arrays), "digest": digest}
print(json.dumps(answer | {key: after[key] - before[key] for key in after}))
