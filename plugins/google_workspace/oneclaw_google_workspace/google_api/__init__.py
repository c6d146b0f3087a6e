"""The group ``google_api``: every method of Google's APIs, found by words and called by its id."""
