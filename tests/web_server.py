"""The web server that plugins are tested with, for the tests of the core."""

from oneclaw_core.testing.web_server import WebRequest, WebServer, response

__all__ = ["WebRequest", "WebServer", "response"]
