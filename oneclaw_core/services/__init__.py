"""Long-running services of plugins, for ``oneclaw serve`` and ``oneclaw chat``."""
