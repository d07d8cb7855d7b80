"""ROOT: some columns of several files with the same branches, one after the other; the clock starts
with the second file, and the figures are means per file."""

import clock
import root_columns

args = clock.many_files(*root_columns.OPTIONS)
root_columns.warm_up(args)
first, *others = args.urls
root_columns.read(args, first)[0].Close()


def read_others():
    *before, last = others
    for url in before:
        root_columns.read(args, url)[0].Close()
    return root_columns.read(args, last)


clock.run(read_others, lambda result: root_columns.answer(args, result), 1 / len(others))
