"""It waits for something that never comes."""

import time

time.sleep(3600)
