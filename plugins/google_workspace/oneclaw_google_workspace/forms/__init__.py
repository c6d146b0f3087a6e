"""Google Forms: the tool group ``google_forms``."""
