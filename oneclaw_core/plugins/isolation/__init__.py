"""Time limits for foreign code."""
