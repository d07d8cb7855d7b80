"""ROOT: a loop over some columns of one file (`root_columns.py`)."""

import clock
import root_columns

args = clock.arguments(*root_columns.OPTIONS)
root_columns.warm_up(args)
clock.run(
    lambda: root_columns.read(args, args.url), lambda result: root_columns.answer(args, result)
)
