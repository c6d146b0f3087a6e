"""Google Sheets: the tool group ``google_sheets``."""
