"""JavaScript for OneClaw: evaluate code, and the user's own tools."""
