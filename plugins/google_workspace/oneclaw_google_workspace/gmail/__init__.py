"""Gmail: the tool group ``google_gmail``."""
