"""Google Tasks: the tool group ``google_tasks``."""
