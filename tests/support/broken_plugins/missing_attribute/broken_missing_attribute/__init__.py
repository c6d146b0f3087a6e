"""The entry point names an attribute that is not here."""
