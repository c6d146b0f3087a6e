"""Fixtures: a stand-in for Google, a home that is signed in to it, and running the tools in that home."""

from __future__ import annotations

import asyncio

import pytest
from google_oauth import CLIENT_ID, CLIENT_SECRET
from google_server import GoogleServer
from oneclaw_google_workspace import retrying
from oneclaw_google_workspace.accounts import USER, Account, AccountBook
from oneclaw_google_workspace.scopes import SERVICES, consent_scopes

from oneclaw_core import OneClaw, PermissionAnswer, find_home


@pytest.fixture
def google(monkeypatch):
    """The stand-in; a test in which a request does not fit Google's description fails."""
    monkeypatch.setattr(retrying, "FIRST_PAUSE_SECONDS", 0.001)
    with GoogleServer() as server:
        monkeypatch.setenv("ONECLAW_GOOGLE_API_BASE", server.url)
        monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")  # the stand-in speaks no TLS
        yield server
    assert not server.misfits, "\n".join(server.misfits)


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    """A home in which nobody is signed in."""
    for name in ("ONECLAW_MODEL", "ONECLAW_GOOGLE_ACCOUNT", "ONECLAW_GOOGLE_CLIENT_ID", "ONECLAW_GOOGLE_CLIENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return find_home()


def sign_in(google, home, *, name="work", services=tuple(SERVICES), is_read_only=False, extra=(), user=None):
    """Sign in without a browser; gives the account."""
    scopes = consent_scopes(services, is_read_only=is_read_only, extra=extra)
    grant = google.oauth.grant(*scopes, user=user)
    account = Account(name, USER, grant.user, tuple(scopes), tuple(services), is_read_only)
    secret = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "refresh_token": grant.refresh_token}
    AccountBook(home).save(account, secret, in_file=True)
    return account


@pytest.fixture
def home(google, empty_home):
    """A home in which ana@example.com is signed in for everything, as the account "work"."""
    sign_in(google, empty_home)
    return empty_home


class Desk:
    """Calls tools in a home, and notes what the user is asked.

    Attributes:
        asked: permission and detail of every question but those for the network.
        answer: what the user answers.
    """

    def __init__(self, home, start_directory):
        self.home = home
        self.start_directory = start_directory
        self.asked = []
        self.answer = PermissionAnswer.ONCE

    def __call__(self, tool, **arguments):
        """Run a tool that is to succeed; gives its value."""
        result = self.result(tool, **arguments)
        assert result.is_success, f"{result.error_type}: {result.error_message}"
        return result.result

    def error(self, tool, **arguments):
        """Run a tool that is to fail; gives error type and message."""
        result = self.result(tool, **arguments)
        assert not result.is_success, result.result
        return result.error_type, result.error_message

    def result(self, tool, **arguments):
        """Run a tool; gives its result."""
        return self.results([(tool, arguments)])[0]

    def results(self, calls):
        """Run ``(tool, arguments)`` calls in parallel in one open home; gives their results."""

        async def ask(request):
            self.asked.append((request.permission, request.detail))
            return self.answer

        async def run():
            async with OneClaw.open(
                self.home.path, ask=ask, allow=("network.private",), start_directory=self.start_directory
            ) as claw:
                return await asyncio.gather(*(claw.call_tool(tool, arguments) for tool, arguments in calls))

        return [outcome.result for outcome in asyncio.run(run())]


@pytest.fixture
def desk(home, tmp_path):
    """Runs the tools as ana@example.com; she agrees to everything."""
    (tmp_path / "project").mkdir()
    return Desk(home, tmp_path / "project")
