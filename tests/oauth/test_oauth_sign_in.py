"""Signing in: the browser, the pasted address, and everything that a forged answer might try."""

import asyncio
import logging
import re
import socket
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_oneclaw import AuthorizationServer

from oneclaw_core import UsageError
from oneclaw_core.http import OAuthError, OAuthUnavailableError

pytestmark = pytest.mark.every_python


def sign_in(client, user, **options):
    return asyncio.run(client.sign_in(**{**user.options, **options}))


def test_signing_in_with_a_browser_stores_an_account(server, user, client):
    account = sign_in(client, user)

    assert (account.name, account.email, account.scopes) == ("default", "ana@example.com", ("read",))
    assert client.accounts.list() == {"default": account}
    query = parse_qs(urlsplit(user.opened[0]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["openid email read"]
    assert query["redirect_uri"][0].startswith("http://127.0.0.1:")
    assert user.opened[0] in user.shown


def test_the_first_access_token_needs_no_further_request(server, user, client):
    sign_in(client, user)

    token = asyncio.run(client.access_token())

    assert server.user_of(token) == "ana@example.com"
    assert server.refreshes == 0


def test_a_code_of_another_request_is_worth_nothing(server, user, client):
    """PKCE: the server compares the verifier with the challenge of the request that the code was made for."""
    user.browse = lambda url: server.visit(re.sub("code_challenge=[^&]+", "code_challenge=of-another-request", url))

    with pytest.raises(OAuthError, match=r"Notes refuses the sign-in: invalid_grant: .* verifier is wrong"):
        sign_in(client, user)


def test_an_answer_with_another_state_is_not_accepted(server, user, client, monkeypatch):
    monkeypatch.setattr("oneclaw_core.http.oauth.consent.WAIT_SECONDS", 0.3)
    server.state = "of-somebody-else"

    with pytest.raises(OAuthError, match="the browser has not come back"):
        sign_in(client, user)

    assert server.requests == []
    assert client.accounts.list() == {}


def test_an_answer_of_another_issuer_is_not_used(server, user, make_client):
    server.issuer = "https://attacker.example"

    with pytest.raises(OAuthError, match=r"names https://attacker\.example and does not come from https://notes\.exam"):
        sign_in(make_client(issuer="https://notes.example"), user)

    assert server.requests == []


def test_an_issuer_that_must_be_named_is_missed(server, user, make_client):
    service = {"issuer": "https://notes.example", "sends_issuer": True}

    with pytest.raises(OAuthError, match="names no issuer"):
        sign_in(make_client(**service), user)

    server.issuer = "https://notes.example"
    assert sign_in(make_client(**service), user).name == "default"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("access_denied", "Notes was told no in the browser: nothing has changed"),
        ("invalid_scope\x1b[2J", "Notes refuses the sign-in: invalid_scope [2J"),
    ],
)
def test_an_error_in_the_redirect_is_told(server, user, client, error, said):
    server.error = error

    with pytest.raises(OAuthError) as refused:
        sign_in(client, user)

    assert str(refused.value) == said
    assert client.accounts.list() == {}


def test_without_a_browser_the_address_is_pasted(server, user, client):
    user.typed = lambda url: f"  {server.agree(url)}\n"

    assert sign_in(client, user, open_browser=False).name == "default"
    assert user.opened == []


def test_a_browser_that_does_not_open_leads_to_pasting(server, user, client):
    user.has_browser, user.browse, user.typed = False, lambda url: None, server.agree

    assert sign_in(client, user).name == "default"


def test_a_browser_may_come_back_while_an_address_is_asked_for(server, user, client):
    """A forwarded port, or a browser on this machine after all."""

    async def run():
        reading = asyncio.Event()

        async def read_line():
            await asyncio.to_thread(server.visit, user.shown[1])
            await reading.wait()

        return await client.sign_in(open_browser=False, show=user.shown.append, read_line=read_line)

    assert asyncio.run(run()).name == "default"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (lambda url: None, "no address was given"),
        (lambda url: " ", "no address was given"),
        (lambda url: "nonsense", "that is not the address that Notes has sent the browser to"),
        (lambda url: "http://127.0.0.1:1/?code=x&state=other", "that is not the address that Notes has sent"),
        (lambda url: "http://[/?code=x", "that is not the address that Notes has sent"),
    ],
)
def test_a_pasted_text_that_is_no_answer_is_refused(user, client, typed, said):
    user.typed = typed

    with pytest.raises(UsageError, match=said):
        sign_in(client, user, open_browser=False)


def test_several_accounts_have_sign_ins_of_their_own(server, user, client):
    sign_in(client, user, account="work")
    server.user = "bo@example.com"
    sign_in(client, user, account="home")

    assert {name: each.email for name, each in client.accounts.list().items()} == {
        "work": "ana@example.com",
        "home": "bo@example.com",
    }
    assert client.accounts.default_name == "work"
    assert server.user_of(asyncio.run(client.access_token("home"))) == "bo@example.com"
    assert server.user_of(asyncio.run(client.access_token())) == "ana@example.com"


def test_another_user_does_not_get_into_an_account(server, user, client):
    sign_in(client, user)
    server.user = "bo@example.com"

    with pytest.raises(UsageError, match=r"signed in as bo@example\.com, and the account default is ana@example\.com"):
        sign_in(client, user)

    assert client.accounts.get("default").email == "ana@example.com"


def test_signing_in_again_keeps_what_was_granted(server, user, client):
    sign_in(client, user)
    account = sign_in(client, user, scopes=("write",))

    assert account.scopes == ("read", "write")
    assert parse_qs(urlsplit(user.opened[1]).query)["login_hint"] == ["ana@example.com"]


def test_what_the_user_does_not_grant_is_missing_from_the_account(server, user, client):
    server.denied_scopes = frozenset({"write"})

    assert sign_in(client, user, scopes=("read", "write")).scopes == ("read",)


def test_scopes_are_stored_without_their_prefix(server, user, make_client):
    client = make_client(scope_prefix="https://notes.example/auth/")

    assert sign_in(client, user).scopes == ("read",)
    assert parse_qs(urlsplit(user.opened[0]).query)["scope"] == ["openid email https://notes.example/auth/read"]


def test_a_client_can_prove_itself_in_a_header(server, user, make_client):
    sign_in(make_client(client_authentication="basic"), user)

    path, form = server.requests[0]
    assert path == "/token"
    assert "client_secret" not in form


def test_a_client_that_is_not_known_is_told_without_its_secret(user, make_client):
    client = make_client(client_secret="another-client-secret")

    with pytest.raises(OAuthError) as refused:
        sign_in(client, user)

    assert str(refused.value).startswith("Notes refuses the sign-in: invalid_client: The client is not known.")
    assert "another-client-secret" not in repr(refused.value) + repr(client.service)


def test_a_service_that_fails_is_asked_again_with_the_same_code(server, user, client):
    server.fail("/token", times=2)

    assert sign_in(client, user).name == "default"
    assert len(server.requests) == 3


def test_a_service_that_goes_on_failing_is_unavailable(server, user, client):
    server.fail("/token", times=3)

    with pytest.raises(OAuthUnavailableError, match=r"its sign-in service failed \(status 503\)"):
        sign_in(client, user)


def test_a_fixed_port_is_used_and_one_that_is_taken_is_named(server, user, make_client):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OAuthError, match=f"port {port} of 127.0.0.1, .*, is in use"):
            sign_in(make_client(redirect_port=port), user)
    assert user.opened == []

    sign_in(make_client(redirect_port=port, redirect_host="localhost", redirect_path="/back"), user)
    assert parse_qs(urlsplit(user.opened[0]).query)["redirect_uri"] == [f"http://localhost:{port}/back"]


def test_a_service_without_refresh_tokens_keeps_its_access_token_with_the_secrets(server, user, client, folder):
    server.gives_refresh_tokens, server.lifetime_seconds = False, None

    sign_in(client, user)

    assert server.user_of(asyncio.run(client.access_token())) == "ana@example.com"
    assert list(folder.glob("access_token-*")) == []


def test_nothing_secret_is_shown_or_logged(server, user, client, caplog):
    caplog.set_level(logging.DEBUG)

    sign_in(client, user)
    server.expire_tokens()
    asyncio.run(client.access_token(refused=client.accounts.access_token("default").token))
    asyncio.run(client.sign_out("default"))

    text = "\n".join([*user.shown, *user.opened, caplog.text])
    assert len(server.issued_secrets) > 4
    assert [secret for secret in server.issued_secrets if secret in text] == []


def test_a_sign_in_that_is_cancelled_frees_its_port(server, user, make_client):
    async def run():
        user.browse = lambda url: None
        client = make_client(redirect_port=port)
        task = asyncio.create_task(client.sign_in(**user.options))
        while not user.opened:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    asyncio.run(run())

    socket.create_server(("127.0.0.1", port)).close()


def test_the_stand_in_refuses_a_request_without_pkce():
    with AuthorizationServer() as server, pytest.raises(AssertionError, match="code_challenge"):
        server.agree(f"{server.url}/authorize?response_type=code&client_id={server.client_id}&state=x")
