"""Limits of the requests of a turn, and their usage."""
