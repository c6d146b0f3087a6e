"""What ``oneclaw plugins check`` finds: does a plugin keep to what users, models and providers need?

The plugin's code runs in child processes only (``probe``, and what it starts: ``look``, ``calls``,
``wheel``), which report facts as JSON lines. Every family of checks is a module with pure functions from facts to
findings; :func:`oneclaw_devtools.conformance.check.check_plugin` puts them together.
"""
