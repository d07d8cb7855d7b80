"""farroot: from the path to the numbers of objects."""

import contents
import farroot

contents.run(farroot.open)
