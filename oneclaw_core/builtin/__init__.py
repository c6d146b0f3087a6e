"""The core tools, a plugin like any other."""
