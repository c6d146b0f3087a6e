"""Fixtures: a home of the test's own, and running the tools in it beside other plugins."""

from config_talk import denied_talk, home, talk

__all__ = ["denied_talk", "home", "talk"]
