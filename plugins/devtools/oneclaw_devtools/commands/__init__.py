"""The commands that the plugin adds to ``oneclaw plugins``."""
