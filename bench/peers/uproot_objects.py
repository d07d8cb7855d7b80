"""uproot: from the path to the numbers of objects."""

import clock
import contents
import uproot

args = clock.arguments()


def job():
    file = uproot.open(args.url)
    # Of many objects, directories are not listed anew for each.
    objects = (
        map(file.__getitem__, args.columns) if args.columns else file.itervalues(**contents.MANY)
    )
    return [contents.numbers(each) for each in objects]


clock.run(job, contents.answer)
