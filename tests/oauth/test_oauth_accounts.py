"""What is stored of accounts, and how."""

import asyncio
import stat

import pytest

from oneclaw_core import NotFoundError, OneClawError, SettingsError, UsageError
from oneclaw_core.http import OAuthAccount, OAuthAccounts, OAuthService


@pytest.fixture
def service():
    return OAuthService(
        name="notes",
        title="Notes",
        sign_in_command="oneclaw notes login --account {account}",
        authorization_endpoint="https://notes.example/authorize",
        token_endpoint="https://notes.example/token",
        client_id="client",
    )


@pytest.fixture
def accounts(service, folder):
    return OAuthAccounts(service, folder)


@pytest.mark.long
def test_files_and_folders_are_for_their_owner_alone(server, user, client, folder):
    asyncio.run(client.sign_in(**user.options))

    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "locks")} == {0o700}


def test_the_first_account_is_the_default_and_the_next_follows_when_it_goes(accounts):
    for name in ("b", "a"):
        accounts.save(OAuthAccount(name), {"refresh_token": f"refresh-{name}"}, in_file=True)
    assert ([*accounts.list()], accounts.default_name) == (["b", "a"], "b")

    accounts.set_default("a")
    assert accounts.default_name == "a"
    accounts.remove("a")

    assert accounts.default_name == "b"
    with pytest.raises(OneClawError, match="lost or damaged"):
        accounts.secret("a")
    with pytest.raises(NotFoundError, match="there is no Notes account 'a'; signed in are: b"):
        accounts.get("a")


def test_the_lock_file_of_an_account_goes_with_it(accounts, folder):
    async def use(name):
        accounts.save(OAuthAccount(name), {"refresh_token": f"refresh-{name}"}, in_file=True)
        async with accounts.alone(name):
            pass

    for name in ("a", "b"):
        asyncio.run(use(name))
        accounts.remove(name)

    assert not [each.name for each in (folder / "locks").iterdir() if "token" in each.name]


def test_details_of_a_plugin_are_kept(accounts):
    account = OAuthAccount("work", ("read",), "ana@example.com", {"workspace": "T1"})
    accounts.save(account, {"refresh_token": "refresh-x"}, in_file=True)

    accounts.note_scopes("work", ("read", "write"))

    assert accounts.get("work").details == {"workspace": "T1"}
    assert accounts.get("work").scopes == ("read", "write")
    assert accounts.get("work").label == "work (ana@example.com)"


def test_details_of_a_plugin_are_changed_one_by_one(accounts):
    account = OAuthAccount("work", ("read",), "ana@example.com", {"workspace": "T1", "colour": "red"})
    accounts.save(account, {"refresh_token": "refresh-x"}, in_file=True)

    accounts.update_details("work", {"colour": "blue"})

    assert accounts.get("work").details == {"workspace": "T1", "colour": "blue"}
    assert accounts.get("work").scopes == ("read",)
    with pytest.raises(NotFoundError, match="there is no Notes account 'home'"):
        accounts.update_details("home", {"colour": "blue"})


@pytest.mark.parametrize("name", ["", "../up", "a b", "-a", "a" * 101, "a\n"])
def test_names_that_are_no_file_names_are_refused(accounts, name):
    with pytest.raises(UsageError, match="cannot be an account's name"):
        accounts.check_name(name)


def test_names_differ_in_more_than_case(accounts):
    accounts.save(OAuthAccount("Work"), {"refresh_token": "refresh-x"}, in_file=True)

    with pytest.raises(UsageError, match="there is an account Work"):
        accounts.check_name("work")
    assert accounts.check_name("Work") == "Work"


def test_a_damaged_file_is_told_with_what_to_do(accounts, folder):
    accounts.save(OAuthAccount("work"), {"refresh_token": "refresh-x"}, in_file=True)
    (folder / "accounts.json").write_text("{")

    with pytest.raises(OneClawError, match=r"accounts\.json is damaged: .* sign in again with: oneclaw notes login"):
        accounts.list()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "No tes"}, "cannot be the name of an OAuth service"),
        ({"token_endpoint": "http://notes.example/token"}, "give an https URL"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "give an https URL"),
        ({"revocation_endpoint": "https://[broken"}, "give an https URL"),
        ({"redirect_path": "back"}, "must begin with /"),
    ],
)
def test_a_service_that_would_not_be_safe_is_refused(service, change, said):
    from dataclasses import replace

    with pytest.raises(SettingsError, match=said):
        replace(service, **change)
