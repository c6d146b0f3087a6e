"""The program in the test's own process."""

from program import all_plugins, home, install_plugin, ok, oneclaw, serve

__all__ = ["all_plugins", "home", "install_plugin", "ok", "oneclaw", "serve"]
