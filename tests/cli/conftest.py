"""Fixtures for tests of the command line."""

import socket

import pytest
from program import all_plugins, home, install_plugin, ok, oneclaw, serve

__all__ = ["all_plugins", "home", "install_plugin", "ok", "oneclaw", "serve"]


@pytest.fixture
def unused_port():
    """A port of this machine at which no one answers."""
    with socket.socket() as taken:
        # Bound and not listening: refused, and no one else can take it.
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
