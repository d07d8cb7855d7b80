"""The time of one import statement in a fresh interpreter, whose own start is off the clock."""

import importlib
import json
import sys
import time

begun = time.perf_counter()
importlib.import_module(sys.argv[1])
print(json.dumps({"time_s": time.perf_counter() - begun}))
