"""Google Docs: the tool group ``google_docs``."""
