"""``oneclaw google login``, ``status``, ``use`` and ``logout``."""

import asyncio
import io
import json
import os
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from google_desk import Desk, sign_in
from google_oauth import CLIENT_ID, CLIENT_SECRET
from oneclaw_google_workspace import commands
from oneclaw_google_workspace.accounts import AccountBook

from oneclaw_core import OneClawError

CLIENT_FILE = {"installed": {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "redirect_uris": []}}


@pytest.fixture
def client_file(tmp_path):
    path = tmp_path / "client_secret.json"
    path.write_text(json.dumps(CLIENT_FILE))
    return path


@pytest.fixture
def run(google, empty_home, monkeypatch, tmp_path):
    """Run ``oneclaw google ...`` in this process; ``run.browser`` is what a browser does with an address."""

    def visit(url):
        """Go where Google sends the browser, as a browser does."""
        with urllib.request.urlopen(url, timeout=60) as page:
            return page.read()

    def open_browser(url):
        run.opened.append(url)
        if run.browser is None:
            return False
        threading.Thread(target=run.browser, args=(url,), daemon=True).start()
        return True

    def run(*arguments, typed=""):
        # Not click's own runner, which keeps standard error apart in some of its releases only.
        out, err = io.StringIO(), io.StringIO()
        keyboard = tmp_path / "typed"
        keyboard.write_text(typed)
        with keyboard.open() as stdin, monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr("sys.stdin", stdin)
            try:
                commands.google.main(arguments, prog_name="google")
            except SystemExit as end:
                return end.code, out.getvalue(), err.getvalue()
            except OneClawError as error:
                return 1, out.getvalue(), str(error)
        raise AssertionError("click always ends the program")

    run.browser, run.opened = visit, []
    # A browser that never comes back fails the test, not the patience of whoever runs it.
    monkeypatch.setattr("oneclaw_core.http.oauth.consent.WAIT_SECONDS", 60.0)
    monkeypatch.setenv("BROWSER", "a browser")
    monkeypatch.setattr("webbrowser.open", open_browser)
    return run


@pytest.mark.long
def test_signing_in_with_a_browser(google, empty_home, run, client_file):
    status, out, _ = run("login", "--client", str(client_file), "--services", "tasks,gmail")

    assert status == 0
    assert "signed in: default (ana@example.com)" in out
    account = AccountBook(empty_home).get("default")
    assert set(account.scopes) == {"gmail.modify", "tasks"}
    query = parse_qs(urlsplit(run.opened[0]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["access_type"] == ["offline"]
    assert query["redirect_uri"][0].startswith("http://127.0.0.1:")
    # The client is kept: the second time the file is not needed.
    assert run("login", "--account", "second", "--services", "tasks")[0] == 0
    assert [*AccountBook(empty_home).list()] == ["default", "second"]


@pytest.mark.long
def test_signed_in_tools_work_without_another_request_for_access(google, empty_home, run, client_file, tmp_path):
    run("login", "--client", str(client_file), "--services", "tasks")

    assert Desk(empty_home, tmp_path)("tasks_list")["tasks"] == []

    assert google.oauth.refreshes == 0


@pytest.mark.long
@pytest.mark.one_python
def test_the_program_itself_with_a_real_browser_command(google, empty_home, client_file, tmp_path):
    script = tmp_path / "browser.py"
    script.write_text("import sys, urllib.request\nurllib.request.urlopen(sys.argv[1], timeout=60).read()\n")
    environ = {**os.environ, "BROWSER": f"{sys.executable} {script} %s"}

    def oneclaw(*arguments):
        command = [sys.executable, "-m", "oneclaw_core", *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)

    login = oneclaw("google", "login", "--client", str(client_file), "--services", "tasks")
    assert login.returncode == 0, login.stderr
    listed = oneclaw("google", "status", "--json")
    secrets = [CLIENT_SECRET, *google.oauth.grants, *google.oauth.tokens]

    assert json.loads(listed.stdout)[0]["email"] == "ana@example.com"
    called = oneclaw("call", "--allow", "network.private", "tasks_list", "{}")
    assert json.loads(called.stdout)["result"]["tasks"] == []
    for each in (login, listed, called):
        assert not [secret for secret in secrets if secret in each.stdout + each.stderr]
    log = (empty_home.path / "logs" / "oneclaw.log").read_text()
    assert not [secret for secret in secrets if secret in log]


def test_secrets_lie_in_files_for_their_owner_alone(google, empty_home, run, client_file):
    run("login", "--client", str(client_file), "--services", "tasks")

    files = [path for path in (empty_home.path / "google_workspace").iterdir() if path.is_file()]
    assert len(files) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    (refresh_token,) = google.oauth.grants
    assert [path.name for path in files if refresh_token in path.read_text()] == ["google_sign_ins.json"]


def test_without_a_browser_the_address_is_pasted(google, empty_home, run, client_file, monkeypatch):
    """The user opens the address elsewhere, and copies the one that the browser could not reach."""
    pasted = []

    async def read_line():
        return await asyncio.to_thread(agree, sys.stderr.getvalue().splitlines()[1])

    def agree(url):
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        with pytest.raises(urllib.error.HTTPError) as redirect:
            urllib.request.build_opener(Stay).open(url, timeout=60)
        pasted.append(redirect.value.headers["Location"])
        redirect.value.close()
        return pasted[0]

    monkeypatch.setattr(commands, "read_input_line", read_line)

    assert run("login", "--client", str(client_file), "--services", "tasks", "--no-browser")[0] == 0

    assert run.opened == []
    assert AccountBook(empty_home).get("default").scopes == ("tasks",)


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("", "no address was given"),
        ("nonsense", "not the address that Google has sent the browser to"),
        ("http://127.0.0.1:1/?code=4/x&state=of-somebody-else", "not the address that Google has sent the browser to"),
    ],
)
def test_a_pasted_address_that_is_no_answer_is_refused(google, empty_home, run, client_file, pasted, said):
    status, _, err = run(
        "login", "--client", str(client_file), "--services", "tasks", "--no-browser", typed=f"{pasted}\n"
    )

    assert status == 1
    assert said in err
    assert AccountBook(empty_home).list() == {}


def test_a_no_in_the_browser_changes_nothing(google, empty_home, run, client_file):
    google.oauth.is_denied = True

    status, _, err = run("login", "--client", str(client_file), "--services", "tasks")

    assert (status, err) == (1, "Google was told no in the browser: nothing has changed")
    assert AccountBook(empty_home).list() == {}


@pytest.mark.long
def test_unticked_scopes_are_named_and_the_tools_that_need_them_say_what_to_run(
    google, empty_home, run, client_file, tmp_path
):
    google.oauth.denied_scopes = frozenset({"gmail.modify"})

    status, _, err = run("login", "--client", str(client_file), "--services", "tasks,gmail")

    assert status == 0
    assert "not granted, so that some tools will not work: gmail.modify" in err
    desk = Desk(empty_home, tmp_path)
    assert desk("tasks_list")["tasks"] == []


@pytest.mark.long
def test_more_is_added_to_what_an_account_has(google, empty_home, run, client_file):
    run("login", "--client", str(client_file), "--services", "tasks", "--read-only")
    assert AccountBook(empty_home).get("default").scopes == ("tasks.readonly",)

    run("login", "--services", "contacts")
    account = AccountBook(empty_home).get("default")
    assert (set(account.scopes), account.read_only) == ({"tasks.readonly", "contacts"}, ("tasks",))
    query = parse_qs(urlsplit(run.opened[1]).query)
    assert query["login_hint"] == ["ana@example.com"]

    run("login", "--services", "tasks")
    assert set(AccountBook(empty_home).get("default").scopes) == {"tasks", "contacts"}

    run("login")  # again, as before
    assert set(AccountBook(empty_home).get("default").scopes) == {"tasks", "contacts"}
    assert AccountBook(empty_home).get("default").services == ("tasks", "contacts")


@pytest.mark.long
def test_read_only_narrows_an_account_that_is_signed_in(google, empty_home, run, client_file, tmp_path):
    run("login", "--client", str(client_file), "--services", "tasks,contacts")

    _, out, _ = run("login", "--services", "tasks", "--read-only")

    assert out.splitlines()[1:] == ["  read: tasks", "  write: contacts"]
    assert set(AccountBook(empty_home).get("default").scopes) == {"tasks.readonly", "contacts"}
    desk = Desk(empty_home, tmp_path)
    assert desk("tasks_list")["tasks"] == []
    assert desk.error("tasks_create", title="x")[1].endswith("login --account default --services tasks")
    assert desk("contacts_create", given_name="Bo")["name"] == "Bo"

    # Write access of another service changes nothing, and no services at all are all of them.
    run("login", "--services", "gmail")
    assert desk.error("tasks_create", title="x")[0] == "not_available"
    run("login", "--read-only")
    assert run("status")[1].splitlines()[1:] == ["  read: tasks, contacts, gmail"]

    run("login", "--services", "tasks")
    assert desk("tasks_create", title="x")["title"] == "x"


def test_what_google_granted_before_lets_nothing_write(google, empty_home, run, client_file, tmp_path):
    """Google adds what the same user has granted before, under whatever name, to what is granted now."""
    everything = google.oauth.grant("gmail.modify", "tasks", "tasks.readonly", "gmail.readonly")
    run("login", "--client", str(client_file), "--services", "gmail,tasks", "--read-only")
    assert google.oauth.grants.keys() > {everything.refresh_token}
    account = AccountBook(empty_home).get("default")
    secret = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "refresh_token": everything.refresh_token}
    combined = ("gmail.modify", "gmail.readonly", "tasks", "tasks.readonly")
    AccountBook(empty_home).save(replace(account, scopes=combined), secret, in_file=True)
    desk = Desk(empty_home, tmp_path)

    refused = desk.error("gmail_send", to=["bo@example.com"], subject="x", body="y")

    assert refused == (
        "not_available",
        "default (ana@example.com) is signed in to Gmail for reading only, and gmail_send changes something. The user "
        "can allow that with: oneclaw google login --account default --services gmail",
    )
    AccountBook(empty_home).save(
        replace(account, scopes=combined, services=("tasks",), read_only=("tasks",)), secret, in_file=True
    )
    assert desk.error("gmail_send", to=["bo@example.com"], subject="x", body="y")[0] == "not_available"
    assert desk("gmail_search")["messages"] == []
    assert (desk.asked, google.called("gmail.users.messages.send")) == ([], [])


def test_status_shows_what_was_granted(google, empty_home, run, client_file):
    google.oauth.denied_scopes = frozenset({"gmail.modify", "contacts"})

    run("login", "--client", str(client_file), "--services", "tasks,gmail,contacts")

    assert run("status")[1].splitlines()[1:] == ["  write: tasks", "  not granted: gmail, contacts"]
    (document,) = json.loads(run("status", "--json")[1])
    assert document["access"] == {"tasks": "write", "gmail": None, "contacts": None}


def test_another_user_does_not_get_into_an_account(google, empty_home, run, client_file):
    run("login", "--client", str(client_file), "--services", "tasks")
    google.oauth.user = "bo@example.com"

    status, _, err = run("login", "--services", "contacts")

    assert status == 1
    assert "you have signed in as bo@example.com, and the account default is ana@example.com" in err
    assert AccountBook(empty_home).get("default").scopes == ("tasks",)


def test_without_a_client_it_says_how_to_get_one(run):
    status, _, err = run("login", "--services", "tasks")

    assert status == 1
    assert "there is no OAuth client to sign in with" in err
    assert "--client client_secret.json" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a client_secret.json"),
        ('{"web": {"client_id": "a", "client_secret": "b"}}', "make one of the type desktop app"),
        ('{"type": "service_account"}', "give it with --service-account"),
        ('{"installed": {"client_id": 1, "client_secret": "b"}}', "is not a client_secret.json"),
    ],
)
def test_a_file_that_is_no_client_is_refused(run, tmp_path, content, message):
    path = tmp_path / "client_secret.json"
    path.write_text(content)

    status, _, err = run("login", "--client", str(path), "--services", "tasks")

    assert status == 1
    assert message in err


def test_the_client_can_be_in_the_environment(google, run, monkeypatch):
    monkeypatch.setenv("ONECLAW_GOOGLE_CLIENT_ID", CLIENT_ID)
    assert "must both be set" in run("login", "--services", "tasks")[2]
    monkeypatch.setenv("ONECLAW_GOOGLE_CLIENT_SECRET", CLIENT_SECRET)

    assert run("login", "--services", "tasks")[0] == 0


def test_a_client_that_google_does_not_know_is_named_without_its_secret(google, run, monkeypatch):
    monkeypatch.setenv("ONECLAW_GOOGLE_CLIENT_ID", CLIENT_ID)
    monkeypatch.setenv("ONECLAW_GOOGLE_CLIENT_SECRET", "GOCSPX-another-secret")

    status, _, err = run("login", "--services", "tasks")

    assert status == 1
    assert "Google refuses the sign-in: invalid_client" in err
    assert "GOCSPX" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--services", "tasks,mail"], "there is no service 'mail'; there are: gmail, "),
        (["--account", "../up"], "cannot be an account's name"),
        (["--subject", "a@b.c"], "belong together"),
    ],
)
def test_wrong_arguments_are_refused(run, arguments, message):
    assert message in run("login", *arguments)[2]


def test_status_shows_accounts_and_use_chooses_one(google, empty_home, run):
    assert "no Google account is signed in" in run("status")[1]
    sign_in(google, empty_home, name="work", services=("tasks",))
    sign_in(google, empty_home, name="home", services=("gmail", "tasks"), is_read_only=True, user="bo@example.com")

    assert run("status")[1].splitlines() == [
        "work: ana@example.com (used by tools)",
        "  write: tasks",
        "home: bo@example.com",
        "  read: gmail, tasks",
    ]
    assert run("use", "home")[0] == 0
    documents = json.loads(run("status", "--json")[1])
    assert [(each["name"], each["is_default"], each["stored"]) for each in documents] == [
        ("work", False, "file"),
        ("home", True, "file"),
    ]
    assert "there is no Google account 'nobody'" in run("use", "nobody")[2]


def test_status_can_ask_google_whether_an_account_still_works(google, empty_home, run):
    sign_in(google, empty_home)
    status, out, _ = run("status", "--check")
    assert (status, out.splitlines()[-1]) == (0, "  checked: Google gives access")

    google.oauth.revoke_all()
    status, out, _ = run("status", "--check")

    assert status == 1
    assert "has expired or was revoked. The user can renew it with: oneclaw google login --account work" in out


def test_logout_forgets_the_account_and_takes_the_access_back(google, empty_home, run):
    sign_in(google, empty_home, name="work")
    sign_in(google, empty_home, name="home")

    assert run("logout")[1] == "work (ana@example.com) is signed out\ntools use home from now on\n"

    book = AccountBook(empty_home)
    assert ([*book.list()], book.default_name) == (["home"], "home")
    assert [grant.is_revoked for grant in google.oauth.grants.values()] == [True, False]
    files = [path for path in (empty_home.path / "google_workspace").iterdir() if path.is_file()]
    revoked = next(iter(google.oauth.grants))
    assert not [path for path in files if revoked in path.read_text()]


def test_logout_works_when_google_does_not(google, empty_home, run):
    sign_in(google, empty_home)
    google.fail("revoke", 500, times=10)

    status, out, err = run("logout", "--account", "work")

    assert status == 0
    assert "is signed out" in out
    assert "you can take OneClaw's access back at https://myaccount.google.com/connections" in err
    assert AccountBook(empty_home).list() == {}


def test_two_accounts_differ_in_more_than_the_case_of_letters(google, empty_home, run, client_file):
    run("login", "--client", str(client_file), "--services", "tasks", "--account", "Work")

    status, _, error = run("login", "--services", "tasks", "--account", "work")

    assert status == 1
    assert "there is an account Work" in error
    assert [*AccountBook(empty_home).list()] == ["Work"]
    assert run("login", "--services", "tasks", "--account", "Work")[0] == 0


def test_signing_out_forgets_the_account_also_where_the_keyring_keeps_its_secret(google, empty_home, run, monkeypatch):
    from oneclaw_core import OneClawError

    sign_in(google, empty_home)

    def refuse(self, name):
        raise OneClawError("the system keyring did not delete it")

    monkeypatch.setattr("oneclaw_core.secrets.store.SecretStore.remove", refuse)
    status, _, error = run("logout")

    assert status == 1
    assert "the system keyring did not delete it" in error
    assert AccountBook(empty_home).list() == {}
