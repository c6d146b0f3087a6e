"""Google Calendar: the tool group ``google_calendar``."""
