"""Making the package of a new plugin."""
