"""A home that is signed in to the stand-in for Google, and running the tools in it."""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

from google_oauth import CLIENT_ID, CLIENT_SECRET
from google_server import GoogleServer
from oneclaw_google_workspace import failures
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT, USER, Account, AccountBook
from oneclaw_google_workspace.scopes import SERVICES, consent_scopes

from oneclaw_core import OneClaw, PermissionAnswer, find_home
from oneclaw_core.manifests.manifest import load_manifest
from oneclaw_core.plugins import registrars
from oneclaw_core.plugins.loading import discover

# What the tests of one process read but once, for it takes longer than most of them: manifests, which no one changes.
_load_manifest_once = cache(load_manifest)


@contextmanager
def stand_in(monkeypatch):
    """Google for as long as the context lasts; a request that does not fit Google's description fails it at its end."""
    monkeypatch.setattr(failures, "FIRST_PAUSE_SECONDS", 0.001)
    with GoogleServer() as server:
        monkeypatch.setenv("ONECLAW_GOOGLE_API_BASE", server.url)
        yield server
    assert not server.misfits, "\n".join(server.misfits)


@cache
def plugins():
    """What homes of the tests have: this plugin alone, for the built-in tools have no part in what is tested here."""
    return [point for point in discover() if point.name == "google_workspace"]


def open_home(home, **options):
    """Open a home with :func:`plugins`, allowing what the stand-in on loopback needs."""
    return OneClaw.open(home.path, allow=("network.private",), plugins=plugins(), **options)


@cache
def _database():
    """The database of a home in which nothing has happened yet."""

    async def run(path):
        async with OneClaw.open(path, environ={}, plugins=()):
            pass

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))
        (database,) = Path(folder).glob("*.db*")
        return database.name, database.read_bytes()


def give_database(home):
    """Give a home the database that it would make itself when it is first opened."""
    name, content = _database()
    home.create()
    path = home.path / name
    path.touch(0o600)
    path.write_bytes(content)


def make_home(path, monkeypatch):
    """Make a home in which no one is signed in the current one."""
    monkeypatch.setattr(registrars, "load_manifest", _load_manifest_once)
    for name in ("ONECLAW_MODEL", "ONECLAW_GOOGLE_ACCOUNT", "ONECLAW_GOOGLE_CLIENT_ID", "ONECLAW_GOOGLE_CLIENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    # Other plugins of the work tree would only slow the tests down.
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "config,js_tool_management,pdf,scheduled_tasks")
    monkeypatch.setenv("ONECLAW_HOME", str(path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return find_home()


def sign_in(google, home, *, name="work", services=tuple(SERVICES), is_read_only=False, extra=(), user=None):
    """Sign in without a browser; gives the account."""
    read_only = tuple(services) if is_read_only else ()
    scopes = consent_scopes(services, read_only=read_only, extra=extra)
    grant = google.oauth.grant(*scopes, user=user)
    account = Account(name, USER, grant.user, tuple(scopes), tuple(services), read_only)
    secret = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "refresh_token": grant.refresh_token}
    AccountBook(home).save(account, secret, in_file=True)
    return account


def sign_in_service_account(google, home, service_key, *scopes, name="work"):
    """Sign in a service account that acts for ana@example.com, whose scopes are given."""
    email = "robot@project.iam.gserviceaccount.com"
    private, google.oauth.service_keys[email] = service_key
    google.oauth.delegated[email] = ("ana@example.com", frozenset(scopes))
    secret = {
        "type": "service_account",
        "client_email": email,
        "private_key": private,
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    account = Account(name, SERVICE_ACCOUNT, "ana@example.com", scopes, ("gmail_settings",))
    AccountBook(home).save(account, secret, in_file=True)


@cache
def _permissions():
    """What each tool may ask for, by its manifest."""
    entries = (
        entry
        for each in files("oneclaw_google_workspace").joinpath("manifests").iterdir()
        for entry in json.loads(each.read_text(encoding="utf-8"))
        if "_meta" not in entry
    )
    return {entry["name"]: entry.get("required_permissions", ()) for entry in entries}


class Desk:
    """Calls tools in a home, and notes what the user is asked.

    As a context manager it keeps the home open from the first call on; else each call opens it.

    Attributes:
        asked: permission and detail of every question but those for the network.
        subjects: what the permissions of these questions are for.
        answer: what the user answers.
    """

    def __init__(self, home, start_directory):
        self.home = home
        self.start_directory = start_directory
        self.asked = []
        self.subjects = []
        self.answer = PermissionAnswer.ONCE
        self._misasked = []
        self._kept_open = None
        self._is_context = False

    def __enter__(self):
        self._is_context = True
        return self

    def __exit__(self, *_):
        if self._kept_open is not None:
            self._kept_open.close()

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

        async def run(claw):
            return await asyncio.gather(*(claw.call_tool(tool, arguments) for tool, arguments in calls))

        if self._is_context:
            if self._kept_open is None:
                self._kept_open = _OpenHome(self._open())
            outcomes = self._kept_open.run(run)
        else:
            with closing(_OpenHome(self._open())) as home:
                outcomes = home.run(run)
        assert self._misasked == []
        return [outcome.result for outcome in outcomes]

    def _open(self):
        return open_home(self.home, ask=self._ask, start_directory=self.start_directory)

    async def _ask(self, request):
        is_google = request.permission.startswith("google.")
        if is_google and request.permission not in _permissions().get(request.tool_name, ()):
            self._misasked.append(f"{request.tool_name} asks for {request.permission}")
        self.asked.append((request.permission, request.detail))
        self.subjects.append(request.subject)
        return self.answer


class _OpenHome:
    """A home that stays open while the event loop, which belongs to it, does not run."""

    def __init__(self, opening):
        self._opening = opening
        self._runner = asyncio.Runner()
        self._claw = self._runner.run(opening.__aenter__())

    def run(self, work):
        return self._runner.run(work(self._claw))

    def close(self):
        try:
            self._runner.run(self._opening.__aexit__(None, None, None))
        finally:
            self._runner.close()
