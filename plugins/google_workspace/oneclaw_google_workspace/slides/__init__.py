"""Google Slides: the tool group ``google_slides``."""
