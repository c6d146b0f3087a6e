"""The model that answers a turn, the one that answers instead if it fails, and requests in the way of each."""
