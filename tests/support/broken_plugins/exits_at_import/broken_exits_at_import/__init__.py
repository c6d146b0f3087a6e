"""It ends the program if it misses something."""

import sys

sys.exit("no licence")
