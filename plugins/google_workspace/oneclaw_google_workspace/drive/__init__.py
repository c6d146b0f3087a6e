"""Google Drive: the tool group ``google_drive``."""
