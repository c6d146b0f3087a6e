"""Which model answers a turn, which one instead if it fails, and requests in the way of each."""
