"""What the entry point names is None."""

plugin = None
