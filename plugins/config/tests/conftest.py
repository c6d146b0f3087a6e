"""Fixtures: a home of the test's own, and running the tools in it."""

from config_talk import home, talk

__all__ = ["home", "talk"]
