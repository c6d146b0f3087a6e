"""``oneclaw plugins check``: find what users, models and providers would stumble over in a plugin.

The plugin's code runs in child processes only (``inspect``, ``calls`` and the build of its wheel), which report facts
as JSON lines. Every family of checks is a module with pure functions from facts to findings, and
:func:`oneclaw_devtools.conformance.check.check_plugin` puts them together.
"""
