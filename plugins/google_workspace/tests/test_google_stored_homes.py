"""Homes in which version 0.1 has stored sign-ins."""

import json
import time

import pytest
from click.testing import CliRunner
from google_desk import Desk
from google_oauth import CLIENT_ID, CLIENT_SECRET
from oneclaw_google_workspace import commands
from oneclaw_google_workspace.accounts import AccountBook
from oneclaw_google_workspace.scopes import consent_scopes


@pytest.fixture
def stored_home(google, empty_home):
    """A home as version 0.1 has left it: an account, its refresh token and a client in files, byte for byte."""
    scopes = consent_scopes(("tasks",))
    grant = google.oauth.grant(*scopes)
    account = {
        "name": "work",
        "kind": "user",
        "email": "ana@example.com",
        "scopes": scopes,
        "services": ["tasks"],
        "is_read_only": False,
    }
    secret = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "refresh_token": grant.refresh_token}
    client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    documents = {
        "accounts.json": {"default": "work", "accounts": {"work": account}},
        "google_sign_ins.json": {"google_sign_ins": {"work": {"key": json.dumps(secret)}}},
        "google_client.json": {"google_client": {"client": {"key": json.dumps(client)}}},
        "access_token-work.json": {"token": "ya29.of-last-week", "expires_at": time.time() - 600_000},
    }
    folder = empty_home.path / "google_workspace"
    folder.mkdir(parents=True, mode=0o700)
    for name, document in documents.items():
        (folder / name).touch(0o600)
        (folder / name).write_text(json.dumps(document, indent=2))
    return empty_home


def test_its_tools_work(google, stored_home, tmp_path):
    assert Desk(stored_home, tmp_path)("tasks_list")["tasks"] == []
    assert google.oauth.refreshes == 1


def test_its_access_token_is_used_while_it_lasts(google, stored_home, tmp_path):
    google.oauth.token({"grant_type": "refresh_token", "refresh_token": next(iter(google.oauth.grants))} | _client())
    (token,) = google.oauth.tokens
    path = stored_home.path / "google_workspace" / "access_token-work.json"
    path.write_text(json.dumps({"token": token, "expires_at": time.time() + 600}))

    assert Desk(stored_home, tmp_path)("tasks_list")["tasks"] == []
    assert google.called("token") == []


def test_its_accounts_are_shown_checked_and_signed_out(google, stored_home):
    shown = CliRunner().invoke(commands.google, ["status", "--json"]).output
    assert json.loads(shown) == [
        {
            "name": "work",
            "email": "ana@example.com",
            "kind": "user",
            "is_default": True,
            "is_released": False,
            "services": ["tasks"],
            "access": {"tasks": "write"},
            "is_read_only": False,
            "scopes": ["tasks"],
            "stored": "file",
        }
    ]
    assert "checked: Google gives access" in CliRunner().invoke(commands.google, ["status", "--check"]).output

    assert CliRunner().invoke(commands.google, ["logout"]).output == "work (ana@example.com) is signed out\n"
    assert [grant.is_revoked for grant in google.oauth.grants.values()] == [True]


@pytest.mark.long
def test_what_is_changed_can_still_be_read_by_version_0_1(google, stored_home, tmp_path):
    google.oauth.rotates = True
    Desk(stored_home, tmp_path)("tasks_list")

    folder = stored_home.path / "google_workspace"
    entry = json.loads((folder / "accounts.json").read_text())["accounts"]["work"]
    assert sorted(entry) == ["email", "is_read_only", "kind", "name", "scopes", "services"]
    secret = json.loads(json.loads((folder / "google_sign_ins.json").read_text())["google_sign_ins"]["work"]["key"])
    assert secret == _client() | {"refresh_token": next(iter(google.oauth.grants))}


@pytest.mark.parametrize(
    ("stored", "access"),
    [
        ({"is_read_only": True, "scopes": ["tasks", "contacts"]}, {"tasks": "read", "contacts": "read"}),
        ({"is_read_only": False, "scopes": ["tasks.readonly", "contacts"]}, {"tasks": "read", "contacts": "write"}),
    ],
)
def test_its_services_for_reading_stay_so(google, stored_home, tmp_path, stored, access):
    path = stored_home.path / "google_workspace" / "accounts.json"
    document = json.loads(path.read_text())
    document["accounts"]["work"] |= {"services": ["tasks", "contacts"], **stored}
    path.write_text(json.dumps(document))

    assert AccountBook(stored_home).get("work").access == access
    assert Desk(stored_home, tmp_path).error("tasks_create", title="x")[0] == "not_available"


@pytest.mark.long
def test_a_service_account_is_signed_in_by_its_key(google, empty_home, tmp_path, service_key):
    private, google.oauth.service_keys["robot@project.example"] = service_key
    google.oauth.delegated["robot@project.example"] = ("ana@example.com", frozenset({"tasks"}))
    key = {"type": "service_account", "client_email": "robot@project.example", "client_id": "7", "private_key": private}
    (tmp_path / "key.json").write_text(json.dumps(key))
    options = ["login", "--services", "tasks", "--subject", "ana@example.com", "--service-account"]

    done = CliRunner().invoke(commands.google, [*options, str(tmp_path / "key.json")])

    assert done.exit_code == 0, done.output
    assert AccountBook(empty_home).get("default").kind == "service_account"
    assert Desk(empty_home, tmp_path)("tasks_list")["tasks"] == []
    assert google.oauth.refreshes == 1


@pytest.mark.parametrize(
    ("private_key", "said"),
    [
        (None, "The service account default may not act for ana@example.com. An administrator of the domain can allow"),
        ("-----BEGIN PRIVATE KEY-----", "The key of the service account default is damaged"),
    ],
)
def test_a_service_account_that_is_not_let_in_is_not_stored(
    google, empty_home, tmp_path, service_key, private_key, said
):
    private, google.oauth.service_keys["robot@project.example"] = service_key
    key = {"type": "service_account", "client_email": "robot@project.example", "client_id": "7"}
    (tmp_path / "key.json").write_text(json.dumps(key | {"private_key": private_key or private}))
    options = ["login", "--services", "tasks", "--subject", "ana@example.com", "--service-account"]

    failed = CliRunner().invoke(commands.google, [*options, str(tmp_path / "key.json")])

    assert said in str(failed.exception)
    assert AccountBook(empty_home).list() == {}


def _client():
    return {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
