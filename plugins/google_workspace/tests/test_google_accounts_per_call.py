"""The account that a call names: only those that the user has released, and shown in every question."""

import json
from importlib.resources import files

import pytest
from click.testing import CliRunner
from google_desk import Desk, give_database, sign_in
from oneclaw_google_workspace import GROUPS
from oneclaw_google_workspace.accounts import AccountBook
from oneclaw_google_workspace.commands import google as command

from oneclaw_core.manifests.manifest import load_manifest

MANIFESTS = files("oneclaw_google_workspace") / "manifests"


@pytest.fixture
def two(google, empty_home, tmp_path):
    """Runs tools in a home with the accounts "work", which they use, and "private" of bo@example.com."""
    give_database(empty_home)
    sign_in(google, empty_home)
    sign_in(google, empty_home, name="private", user="bo@example.com")
    return Desk(empty_home, tmp_path)


def use(*arguments):
    return CliRunner().invoke(command, ["use", *arguments])


@pytest.mark.parametrize("group", GROUPS)
def test_every_tool_takes_an_account(group):
    for tool in load_manifest(MANIFESTS / f"{group}.json").tools:
        account = tool.definition.parameters["properties"]["account"]
        assert account == {"type": "string", "description": "If not the usual account."}
        assert "account" not in tool.definition.parameters.get("required", ())


def test_an_account_that_is_not_released_is_refused(two, google):
    error_type, message = two.error("tasks_create", title="Milk", account="private")
    assert error_type == "not_available"
    assert message == (
        "Tools may not use an account 'private'. They may use: work (ana@example.com). The user can release another "
        "one with: oneclaw google use --also NAME"
    )
    assert (google.requests, two.asked) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("name", ["private", "bo@example.com", "Private"])
def test_a_released_account_is_used_and_shown_in_the_question(two, google, name):
    assert use("--also", "private").output == "tools may use the Google account private when a model names it\n"
    two("tasks_create", title="Milk", account=name)
    ((_, detail),) = two.asked
    assert detail.endswith(", as private (bo@example.com)")
    token = google.requests[-1].headers["authorization"].removeprefix("Bearer ")
    assert google.oauth.holder(token).user == "bo@example.com"


@pytest.mark.long
def test_without_a_name_the_usual_account_is_used(two):
    use("--also", "private")
    two("tasks_create", title="Milk")
    two("tasks_create", title="Milk", account="work")
    assert [detail.rpartition(", as ")[2] for _, detail in two.asked] == ["work (ana@example.com)"] * 2


@pytest.mark.long
def test_google_call_takes_the_account_too(two):
    use("--also", "private")
    two("google_call", method="tasks.tasklists.insert", body={"title": "x"}, account="private")
    assert two.asked[0][1].endswith(", as private (bo@example.com)")


@pytest.mark.long
def test_calls_for_two_accounts_at_once_do_not_mix(two):
    use("--also", "private")
    calls = [("tasks_create", {"title": "Milk", "account": name}) for name in ("work", "private") * 3]
    assert all(result.is_success for result in two.results(calls))
    assert sorted(detail.rpartition(", as ")[2] for _, detail in two.asked) == (
        ["private (bo@example.com)"] * 3 + ["work (ana@example.com)"] * 3
    )


def test_what_was_released_can_be_taken_back(two, empty_home):
    use("--also", "private")
    assert use("--not-also", "private").exit_code == 0
    assert AccountBook(empty_home).get("private").is_released is False
    assert two.error("tasks_list", account="private")[0] == "not_available"


def test_the_default_account_stays_what_it_is(two, empty_home):
    use("--also", "private")
    assert AccountBook(empty_home).default_name == "work"


def test_an_account_that_there_is_not_cannot_be_released(two):
    result = use("--also", "nobody")
    assert result.exit_code != 0


def test_status_says_which_accounts_can_be_named(two):
    use("--also", "private")
    documents = json.loads(CliRunner().invoke(command, ["status", "--json"]).output)
    assert {each["name"]: each["is_released"] for each in documents} == {"work": False, "private": True}
    assert (
        "private: bo@example.com (used by tools when a model names it)"
        in CliRunner().invoke(command, ["status"]).output
    )


def test_a_released_account_with_reading_only_writes_nothing(google, empty_home, tmp_path):
    give_database(empty_home)
    sign_in(google, empty_home)
    sign_in(google, empty_home, name="private", user="bo@example.com", services=("tasks",), is_read_only=True)
    use("--also", "private")
    error_type, message = Desk(empty_home, tmp_path).error("tasks_create", title="Milk", account="private")
    assert error_type == "not_available"
    assert "--account private" in message


def test_an_account_that_is_no_text_is_refused(two):
    assert two.error("tasks_list", account=3)[0] == "validation_error"


def test_a_wrong_name_in_the_environment_is_still_said(two, monkeypatch):
    monkeypatch.setenv("ONECLAW_GOOGLE_ACCOUNT", "gone")
    assert "ONECLAW_GOOGLE_ACCOUNT" in two.error("tasks_list")[1]


def test_signing_in_again_keeps_an_account_released(two, empty_home):
    from oneclaw_google_workspace.commands import SignIn

    use("--also", "private")
    known = AccountBook(empty_home).get("private")
    assert SignIn.of("private", known, ("tasks",), is_read_only=False, extra=()).is_released
