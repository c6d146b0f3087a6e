"""The web server that plugins are tested with, for the tests of the core."""

from oneclaw_core.testing.web_server import ReceivedRequest, WebServer, response

__all__ = ["ReceivedRequest", "WebServer", "response"]
