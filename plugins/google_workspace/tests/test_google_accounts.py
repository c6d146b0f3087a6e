"""Access tokens: got when needed, once for all, and what is said when there is none to be had."""

import asyncio
import json
import threading
import time

import pytest
from google_desk import Desk, open_home, sign_in
from google_oauth import CLIENT_SECRET
from how_long import some
from oneclaw_google_workspace.accounts import AccountBook

from oneclaw_core import OneClawError
from oneclaw_core.http import AccessToken

LOGIN = "oneclaw google login --account work"


@pytest.mark.long
def test_without_a_sign_in_every_tool_says_at_once_what_to_run(google, empty_home, tmp_path):
    error = Desk(empty_home, tmp_path).error("tasks_complete", task_ids=["x"])

    assert error == (
        "not_available",
        "No Google account is signed in. The user can sign in with: oneclaw google login --services tasks",
    )
    assert (
        Desk(empty_home, tmp_path).error("tasks_list")[1].endswith("oneclaw google login --services tasks --read-only")
    )
    assert google.requests == []


@pytest.mark.long
def test_a_tool_that_needs_more_names_the_command_that_adds_it(google, empty_home, tmp_path):
    sign_in(google, empty_home, services=("tasks",), is_read_only=True)
    desk = Desk(empty_home, tmp_path)

    assert desk("tasks_list")["tasks"] == []
    assert desk.error("tasks_create", title="x") == (
        "not_available",
        "The Google sign-in of work (ana@example.com) does not include what tasks_create needs (tasks). The user can "
        f"add it with: {LOGIN} --services tasks",
    )
    assert desk.asked == []


@pytest.mark.long
def test_the_first_call_gets_a_token_and_the_next_one_uses_it(google, desk):
    desk("tasks_list")
    desk("tasks_list")

    assert google.oauth.refreshes == 1


@pytest.mark.long
def test_ten_parallel_calls_with_an_expired_token_ask_google_once(google, desk):
    desk("tasks_list")
    google.oauth.expire_tokens()

    results = desk.results([("tasks_list", {})] * 10)

    assert all(result.is_success for result in results)
    assert google.oauth.refreshes == 2


@pytest.mark.long
@pytest.mark.one_python
def test_several_processes_ask_google_once(google, home, programs):
    answers = programs.run_at_once([("call", "--allow", "network.private", "tasks_list", "{}")] * 3)

    assert [json.loads(each.stdout)["status"] for each in answers] == ["success"] * 3, answers
    assert google.oauth.refreshes == 1


@pytest.mark.long
def test_a_token_that_is_about_to_end_is_replaced_before_it_is_used(google, home, desk):
    google.oauth.lifetime_seconds = 30
    desk("tasks_list")
    desk("tasks_list")

    assert google.oauth.refreshes == 2
    assert google.called("tasks.") == ["tasks.tasks.list"] * 2


@pytest.mark.long
def test_a_token_that_google_refuses_is_replaced_once_also_for_writes(google, desk):
    desk("tasks_list")
    google.oauth.tokens.clear()  # valid as far as anybody here knows

    desk("tasks_create", title="Milk")

    assert google.oauth.refreshes == 2
    assert google.services["tasks"].titles() == ["Milk"]


@pytest.mark.long
def test_a_sign_in_that_google_refuses_twice_has_ended(google, desk):
    google.fail("tasks.tasks.list", 401, "authError", times=2)

    error = desk.error("tasks_list")

    assert error == (
        "not_available",
        f"Google does not accept the sign-in of work (ana@example.com) any more. The user can renew it with: {LOGIN}",
    )
    assert google.called("tasks.") == ["tasks.tasks.list"] * 2


def test_a_revoked_consent_is_told_plainly(google, desk):
    google.oauth.revoke_all()

    assert desk.error("tasks_list") == (
        "not_available",
        f"The Google sign-in of work (ana@example.com) has expired or was revoked. The user can renew it with: {LOGIN}",
    )


@pytest.mark.long
def test_a_rotated_refresh_token_is_kept(google, home, desk):
    google.oauth.rotates = True
    desk("tasks_list")
    google.oauth.expire_tokens()
    desk("tasks_list")

    assert AccountBook(home).stored.secret("work")["refresh_token"].startswith("1//rotated-")
    assert google.oauth.refreshes == 2


def test_what_google_grants_by_now_is_noted(google, home, desk):
    (grant,) = google.oauth.grants.values()
    grant.scopes = frozenset(scope for scope in grant.scopes if "contacts" not in scope)
    desk("tasks_list")

    assert desk.error("contacts_list")[0] == "not_available"


def test_a_sign_in_service_that_fails_is_not_the_users_fault(google, desk):
    google.fail("token", 400, "unknown", content=b"<html>", times=5)

    error_type, message = desk.error("tasks_list")

    assert error_type == "service_unavailable"
    assert "login" not in message


@pytest.mark.long
def test_no_secret_gets_into_results_errors_or_logs(google, home, desk):
    desk("tasks_list")
    google.fail("tasks.tasks.list", 400, "invalid")
    error = desk.error("tasks_list")
    google.oauth.revoke_all()
    error += desk.error("tasks_list")
    secrets = [CLIENT_SECRET, *google.oauth.grants]
    secrets += [each.headers["authorization"][7:] for each in google.requests if "authorization" in each.headers]

    log_file = home.path / "logs" / "oneclaw.log"
    log = log_file.read_text() if log_file.exists() else ""

    assert len(secrets) > 2
    for secret in secrets:
        assert secret not in " ".join(error) + log


@pytest.mark.long
def test_the_environment_chooses_another_account(google, home, desk, monkeypatch):
    sign_in(google, home, name="second", user="bo@example.com")
    monkeypatch.setenv("ONECLAW_GOOGLE_ACCOUNT", "second")
    desk("tasks_create", title="x")
    assert desk.asked[0][1].endswith("as second (bo@example.com)")

    monkeypatch.setenv("ONECLAW_GOOGLE_ACCOUNT", "third")
    error_type, message = desk.error("tasks_list")

    assert error_type == "not_available"
    assert "ONECLAW_GOOGLE_ACCOUNT names the Google account 'third', which is not signed in" in message


@pytest.mark.parametrize("name", ["accounts.json", "google_sign_ins.json"])
def test_damaged_files_are_told_with_what_to_do(google, home, desk, name):
    path = home.path / "google_workspace" / name
    path.write_text("{")

    error_type, message = desk.error("tasks_list")

    assert error_type == "execution_error"
    assert f"{path} is damaged" in message
    assert "oneclaw google login" in message


def test_a_damaged_access_token_is_replaced(google, home, desk):
    desk("tasks_list")
    (path,) = (home.path / "google_workspace").glob("access_token-*")
    path.write_text('{"token": 1')

    desk("tasks_list")

    assert google.oauth.refreshes == 2


def test_files_that_others_can_read_are_not_used(google, home, desk):
    (home.path / "google_workspace" / "accounts.json").chmod(0o644)

    assert "is open to other users" in desk.error("tasks_list")[1]


def test_an_account_keeps_its_order_and_a_removed_default_is_followed_by_the_next(empty_home):
    from oneclaw_google_workspace.accounts import USER, Account

    book = AccountBook(empty_home)
    for name in ("b", "a"):
        book.save(
            Account(name, USER, None, ("tasks",), ("tasks",)), {"refresh_token": "secret-of-" + name}, in_file=True
        )
    book.stored.save_access_token("b", AccessToken("ya29.token", time.time() + 100))
    assert ([*book.list()], book.default_name) == (["b", "a"], "b")

    book.stored.remove("b")

    assert ([*book.list()], book.default_name, book.stored.access_token("b")) == (["a"], "a", None)
    with pytest.raises(OneClawError, match="lost or damaged"):
        book.stored.secret("b")


def test_a_refresh_that_is_cancelled_leaves_no_lock_behind(google, home, desk):
    """A call that ends while it waits for its turn must not keep the others waiting."""
    from filelock import FileLock

    answered = threading.Event()
    google.fail("token", 503, delay=answered)

    async def run():
        async with open_home(home) as claw:
            task = asyncio.create_task(claw.call_tool("tasks_list", {}))
            while not google.called("token"):
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            answered.set()

    asyncio.run(run())
    lock = FileLock(home.locks / "google_token-work.lock")
    with lock.acquire(timeout=60):
        assert lock.is_locked


@pytest.mark.parametrize(
    "answer",
    some(
        [
            [],
            "x",
            {"access_token": 5, "expires_in": 3600},
            {"access_token": "ya29.other", "expires_in": {}},
            {"access_token": "ya29.other", "expires_in": 10**30},
        ],
        5,
    ),
)
def test_an_answer_with_no_token_in_it_is_told_without_it(google, desk, answer):
    google.fail("token", 200, content=json.dumps(answer).encode())

    error_type, message = desk.error("tasks_list")

    assert error_type == "service_unavailable"
    assert "ya29" not in message


@pytest.mark.parametrize("secret", [{}, {"refresh_token": "1//some-token"}, {"client_id": 1, "client_secret": 2}])
def test_a_stored_sign_in_that_lacks_something_is_told_as_damaged(google, home, desk, secret):
    AccountBook(home).stored.change_secret("work", secret)

    error_type, message = desk.error("tasks_list")

    assert error_type == "execution_error"
    assert "the Google sign-in of work is lost or damaged" in message.replace("The", "the", 1)


@pytest.mark.long
def test_no_token_is_got_while_the_sign_in_is_being_changed(google, home, desk, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr("oneclaw_core.http.oauth.accounts.TOKEN_LOCK_SECONDS", 0.05)
    with FileLock(home.locks / "google_token-work.lock"):
        error_type, message = desk.error("tasks_list")

    assert (error_type, google.called("token")) == ("service_unavailable", [])
    assert "Another process has been asking Google for access" in message
    desk("tasks_list")


@pytest.mark.long
def test_an_account_for_reading_changes_nothing_where_scopes_know_no_difference(google, empty_home, tmp_path):
    sign_in(google, empty_home, services=("gmail_settings",), is_read_only=True)
    desk = Desk(empty_home, tmp_path)

    assert "labels" in desk("gmail_settings_get", sections=["labels"])
    error_type, message = desk.error("gmail_label_manage", action="create", name="Shop")

    assert error_type == "not_available"
    assert message.endswith("with: oneclaw google login --account work --services gmail_settings")
    assert (desk.asked, google.called("gmail.users.labels.create")) == ([], [])
