"""A service on loopback, and a client that signs in to it as a user with a browser."""

from __future__ import annotations

import pytest
from pytest_oneclaw import AuthorizationServer
from user_at_browser import UserAtBrowser

from oneclaw_core.http import OAuthAccounts, OAuthClient


@pytest.fixture
def server():
    with AuthorizationServer() as server:
        yield server


@pytest.fixture
def user(server, monkeypatch):
    """A user whose browser opens; what is shown is in ``user.shown``, and ``user.typed`` is what is typed."""
    user = UserAtBrowser(server)
    monkeypatch.setenv("BROWSER", "a browser")
    monkeypatch.setattr("webbrowser.open", user.open_browser)
    monkeypatch.setattr("oneclaw_core.http.oauth.consent.WAIT_SECONDS", 60.0)
    return user


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "notes"


@pytest.fixture
def make_client(server, folder):
    """Make a client of the service, as a plugin gets it; each call is like another process."""

    def make(*, renewal=None, **changes):
        service = server.service(**changes)
        return OAuthClient(service, OAuthAccounts(service, folder), renewal=renewal)

    return make


@pytest.fixture
def client(make_client):
    return make_client()
