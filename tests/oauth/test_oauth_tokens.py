"""Access tokens: renewed when needed, by one caller at a time, and what is said when there is none."""

import asyncio
import subprocess
import sys
import threading

import pytest
from how_long import some
from pytest_oneclaw import WebAnswer

from oneclaw_core import OneClawError
from oneclaw_core.http import OAuthError, OAuthUnavailableError, SignInNeededError

RENEW = "oneclaw notes login --account default"
PROGRAM = """
import asyncio, pathlib, sys
from oneclaw_core.http import OAuthAccounts, OAuthClient, OAuthService

folder, url = sys.argv[1:]
service = OAuthService(
    name="notes", title="Notes", sign_in_command="x", authorization_endpoint=f"{url}/authorize",
    token_endpoint=f"{url}/token", client_id="client-of-oneclaw",
)
print(asyncio.run(OAuthClient(service, OAuthAccounts(service, pathlib.Path(folder))).access_token()))
"""


@pytest.fixture
def signed_in(server, user, client):
    asyncio.run(client.sign_in(**user.options))
    server.requests.clear()
    return client


def token(client, **options):
    return asyncio.run(client.access_token(**options))


def expire(server, client):
    """Let the stored token expire, here and at the service."""
    from oneclaw_core.http import AccessToken

    server.expire_tokens()
    client.accounts.save_access_token("default", AccessToken("expired", 0))


def test_no_one_signed_in_names_the_command(client):
    with pytest.raises(SignInNeededError) as needed:
        token(client)

    assert str(needed.value) == f"No Notes account is signed in. The user can sign in with: {RENEW}"
    with pytest.raises(SignInNeededError, match=r"'\.\./up' is not signed in"):
        token(client, account="../up")


def test_a_token_is_renewed_a_minute_before_it_expires(server, signed_in):
    server.lifetime_seconds = 59
    expire(server, signed_in)

    assert token(signed_in) != token(signed_in)
    assert server.refreshes == 2
    server.lifetime_seconds = 90
    assert token(signed_in) == token(signed_in)
    assert server.refreshes == 3


def test_a_token_that_was_refused_is_renewed_once(server, signed_in):
    refused = token(signed_in)

    renewed = token(signed_in, refused=refused)

    assert renewed != refused
    assert token(signed_in, refused=refused) == renewed
    assert server.refreshes == 1


def test_many_callers_ask_the_service_once(server, signed_in):
    expire(server, signed_in)

    async def run():
        return await asyncio.gather(*(signed_in.access_token() for _ in range(10)))

    assert len(set(asyncio.run(run()))) == 1
    assert server.refreshes == 1


@pytest.mark.long
def test_several_processes_ask_the_service_once(server, signed_in, folder):
    expire(server, signed_in)
    answered = threading.Event()
    server.fail("/token", WebAnswer("", status=503, headers={"Retry-After": "0"}), hold=answered)
    command = [sys.executable, "-c", PROGRAM, str(folder), server.url]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answered.set()

    tokens = {process.communicate(timeout=60)[0].strip() for process in started}

    assert len(tokens) == 1
    assert {server.user_of(each) for each in tokens} == {"ana@example.com"}
    assert server.refreshes == 1


def test_a_rotated_refresh_token_is_kept(server, signed_in):
    server.rotates = True
    for _ in range(3):
        expire(server, signed_in)
        assert server.user_of(token(signed_in)) == "ana@example.com"

    (refresh_token,) = server.consents
    assert signed_in.accounts.secret("default")["refresh_token"] == refresh_token


def test_a_rotated_refresh_token_is_kept_when_the_caller_is_cancelled(server, signed_in):
    server.rotates = True
    expire(server, signed_in)
    answered = threading.Event()
    server.fail("/token", WebAnswer("", status=503, headers={"Retry-After": "0"}), hold=answered)

    async def run():
        task = asyncio.create_task(signed_in.access_token())
        while not server.requests:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        answered.set()
        return await signed_in.access_token()

    assert server.user_of(asyncio.run(run())) == "ana@example.com"
    assert signed_in.accounts.secret("default")["refresh_token"] in server.consents


def test_a_sign_in_that_was_revoked_names_the_command(server, signed_in):
    expire(server, signed_in)
    server.revoke_all()

    with pytest.raises(SignInNeededError) as ended:
        token(signed_in)

    assert str(ended.value) == (
        "The Notes sign-in of default (ana@example.com) has expired or was revoked. The user can renew it with: "
        f"{RENEW}"
    )
    assert (ended.value.code, ended.value.status, ended.value.error_type) == ("invalid_grant", 400, "not_available")


def test_a_service_may_have_its_own_word_for_the_end(server, signed_in, make_client):
    expire(server, signed_in)
    server.fail("/token", WebAnswer({"error": "bad_refresh_token"}), times=2)

    with pytest.raises(
        OAuthError, match=r"refuses access for default \(ana@example.com\) \(bad_refresh_token\)"
    ) as other:
        token(signed_in)
    assert not isinstance(other.value, SignInNeededError)
    with pytest.raises(SignInNeededError):
        token(make_client(ended_codes=frozenset({"bad_refresh_token"})))


@pytest.mark.parametrize("status", some([429, 500, 503], 3))
def test_a_service_that_fails_for_a_moment_is_asked_again(server, signed_in, status):
    expire(server, signed_in)
    server.fail("/token", WebAnswer("", status=status, headers={"Retry-After": "0"}), times=2)

    assert server.user_of(token(signed_in)) == "ana@example.com"


@pytest.mark.parametrize(
    "answer",
    [
        WebAnswer("", status=503, headers={"Retry-After": "0"}),
        WebAnswer({"error": "temporarily_unavailable"}, status=400),
        WebAnswer("<html>", status=400),
        WebAnswer("<html>", status=200),
        WebAnswer([]),
        WebAnswer({"access_token": 5}),
        WebAnswer({"access_token": "access-x", "expires_in": {}}),
        WebAnswer({"access_token": "access-x", "expires_in": 10**30}),
        WebAnswer({"access_token": "access-x\r\nHost: other", "expires_in": 5}),
        WebAnswer("x" * 2_000_000),
    ],
)
def test_an_answer_that_cannot_be_used_is_no_reason_to_sign_in_again(server, signed_in, answer, monkeypatch):
    monkeypatch.setattr("oneclaw_core.http.oauth.tokens._FIRST_PAUSE_SECONDS", 0)
    expire(server, signed_in)
    server.fail("/token", answer, times=3)

    with pytest.raises(OAuthUnavailableError) as failed:
        token(signed_in)

    assert failed.value.error_type == "service_unavailable"
    assert "login" not in str(failed.value)
    assert "access-x" not in str(failed.value)


def test_a_service_that_cannot_be_reached_is_unavailable(server, signed_in, make_client, monkeypatch):
    monkeypatch.setattr("oneclaw_core.http.oauth.tokens._FIRST_PAUSE_SECONDS", 0)
    expire(server, signed_in)
    client = make_client(token_endpoint="http://127.0.0.1:1/token", issuer=signed_in.service.authority)

    with pytest.raises(OAuthUnavailableError, match="Notes cannot be asked for access: the connection was refused"):
        token(client)


def test_a_sign_in_is_never_sent_to_another_service(server, signed_in, make_client):
    expire(server, signed_in)

    with pytest.raises(SignInNeededError, match=r"is one of http://127\.0\.0\.1:\d+ and not of https://other\.example"):
        token(make_client(token_endpoint="https://other.example/token"))


def test_redirects_are_not_followed_with_a_secret(server, signed_in):
    expire(server, signed_in)
    server.fail("/token", WebAnswer("", status=307, headers={"Location": f"{server.url}/elsewhere"}))

    with pytest.raises(OAuthUnavailableError, match=r"cannot be read \(status 307\)"):
        token(signed_in)
    assert [path for path, _ in server.requests] == ["/token"]


def test_a_lasting_token_that_is_refused_ends_the_sign_in(server, user, client):
    server.gives_refresh_tokens = False
    asyncio.run(client.sign_in(**user.options))

    with pytest.raises(SignInNeededError, match="has expired or was revoked"):
        token(client, refused=token(client))


def test_another_grant_than_the_refresh_token_can_renew(server, signed_in, make_client):
    seen = []

    def renewal(account, secret):
        seen.append((account.name, sorted(secret)))
        return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "signed"}

    expire(server, signed_in)
    with pytest.raises(OAuthError, match="invalid_client"):
        token(make_client(renewal=renewal))

    assert seen == [("default", ["client_id", "client_secret", "issuer", "refresh_token"])]
    assert server.requests[-1] == ("/token", renewal(signed_in.accounts.get("default"), {}))


def test_a_check_asks_the_service_each_time(server, signed_in):
    asyncio.run(signed_in.check("default"))
    server.revoke_all()

    with pytest.raises(SignInNeededError):
        asyncio.run(signed_in.check("default"))
    assert server.refreshes == 2


def test_what_is_granted_by_now_is_noted(server, signed_in):
    (consent,) = server.consents.values()
    consent.scopes = frozenset({"read", "write", "openid"})

    asyncio.run(signed_in.check("default"))

    assert signed_in.accounts.get("default").scopes == ("read", "write")


def test_no_token_is_got_while_the_sign_in_is_being_changed(server, signed_in, monkeypatch):
    monkeypatch.setattr("oneclaw_core.http.oauth.accounts.TOKEN_LOCK_SECONDS", 0.05)
    expire(server, signed_in)

    async def run():
        async with signed_in.accounts.alone("default"):
            await signed_in.access_token()

    with pytest.raises(OAuthUnavailableError, match="Another process has been asking Notes for access for default"):
        asyncio.run(run())
    assert server.requests == []


def test_signing_out_revokes_and_forgets(server, signed_in, folder):
    (refresh_token,) = server.consents

    assert asyncio.run(signed_in.sign_out("default")) is None

    assert server.consents[refresh_token].is_revoked
    assert signed_in.accounts.list() == {}
    assert [path for path in folder.rglob("*.json") if refresh_token in path.read_text()] == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (WebAnswer("", status=500, headers={"Retry-After": "0"}), "Notes answered with status 500"),
        (WebAnswer({"error": "unsupported_token_type"}, status=400), "Notes answered with status 400"),
        (WebAnswer({"error": "invalid_token"}, status=400), None),
    ],
)
def test_signing_out_works_when_the_service_does_not(server, signed_in, answer, problem):
    server.fail("/revoke", answer, times=3)

    assert asyncio.run(signed_in.sign_out("default")) == problem
    assert signed_in.accounts.list() == {}


def test_a_service_without_revocation_says_so(signed_in, make_client):
    client = make_client(revocation_endpoint=None)

    assert asyncio.run(client.sign_out("default")) == "Notes has no way to take access back from here"


@pytest.mark.parametrize("secret", [{}, {"refresh_token": "refresh-x"}, {"client_id": 1, "refresh_token": "refresh-x"}])
def test_a_stored_sign_in_that_lacks_something_is_damaged(server, signed_in, secret):
    expire(server, signed_in)
    signed_in.accounts.change_secret("default", secret)

    with pytest.raises(
        OneClawError, match=f"the Notes sign-in of default is lost or damaged: sign in again with: {RENEW}"
    ):
        token(signed_in)
