"""Plugins at work in an open home: hooks, gates, observers, and their time limits."""
