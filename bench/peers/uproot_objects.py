"""uproot: from the path to the numbers of objects."""

import contents
import uproot

contents.run(uproot.open)
