"""The settings of Gmail: the tool group ``google_gmail_settings``."""
