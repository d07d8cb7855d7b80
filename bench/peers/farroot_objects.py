"""farroot: from the path to the numbers of objects."""

import clock
import contents
import farroot

args = clock.arguments()


def job():
    file = farroot.open(args.url)
    objects = (
        map(file.__getitem__, args.columns) if args.columns else file.itervalues(**contents.MANY)
    )
    return [contents.numbers(each) for each in objects]


clock.run(job, contents.answer)
