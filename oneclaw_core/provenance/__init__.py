"""Marks of what a session holds: texts that others wrote, private data, and links."""
