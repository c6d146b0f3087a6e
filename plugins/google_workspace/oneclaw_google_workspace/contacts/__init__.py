"""Google Contacts: the tool group ``google_contacts``."""
