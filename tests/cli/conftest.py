"""Fixtures for tests of the command line."""

import socket
from contextlib import ExitStack

import pytest
from model_server import ModelServer
from program import home, install_plugin, ok, oneclaw

__all__ = ["home", "install_plugin", "ok", "oneclaw"]


@pytest.fixture
def all_plugins(home, monkeypatch):
    """Every plugin is loaded that is installed beside the core."""
    monkeypatch.delenv("ONECLAW_DISABLED_PLUGINS")


@pytest.fixture
def unused_port():
    """A port of this machine at which no one answers."""
    with socket.socket() as taken:
        # Bound and not listening: refused, and no one else can take it.
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def serve(home, monkeypatch):
    """Start a model service that answers from a script, and point the program at it: ``serve(text("Hello."))``."""
    with ExitStack() as servers:

        def start(*script):
            server = servers.enter_context(ModelServer(script))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
            return server

        yield start
