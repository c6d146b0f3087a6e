"""Homes in which a service at the test's server searches."""

from __future__ import annotations

import pytest


@pytest.fixture
def oneclaw_plugins():
    return ["search"]


@pytest.fixture
def home_with(oneclaw_factory, oneclaw_plugins, web_server):
    """Make a home that searches with a service, at the address of the test's server."""

    def make(backend, **settings):
        given = {"backend": backend, "url": web_server.url_of().rstrip("/"), "api_key": "the-key-of-a-test", **settings}
        environ = {f"ONECLAW_SEARCH_{name.upper()}": value for name, value in given.items()}
        return oneclaw_factory(plugins=oneclaw_plugins, allow=["network.private"], environ=environ)

    return make


@pytest.fixture
def search_with(home_with):
    """Make a search with a service."""

    def make(backend, **settings):
        home = home_with(backend, **settings)
        return lambda **arguments: home.call_tool("web_search", **arguments)

    return make
