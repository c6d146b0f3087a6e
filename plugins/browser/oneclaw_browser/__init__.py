"""A browser for OneClaw: open pages that need JavaScript."""
