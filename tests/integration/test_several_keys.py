"""Several keys of one service, against a real server: which one is sent, and what is shown of them."""

import asyncio
import json

import pytest
from how_long import some
from model_server import ModelServer, status, text
from oneclaw_http_providers.retry import AttemptFailed, KeyRotation
from test_every_model import OneClaw, RetryEvent, ended, of_type
from wire_formats import OTHERS

from oneclaw_core.errors import ProviderRateLimitError

KEYS = ["sk-canary-first-0123456789", "sk-canary-second-0123456789", "sk-canary-third-0123456789"]
MODEL = "openai_compatible/test"


def keys_sent(server):
    return [each.headers["authorization"].removeprefix("Bearer ") for each in server.requests if each.method == "POST"]


def said(home, environ, *messages):
    """Send messages one after the other, in one process."""

    async def send():
        events = []
        async with OneClaw.open(home, environ={"ONECLAW_DISABLED_PLUGINS": OTHERS} | environ) as claw:
            for message in messages:
                events += [event async for event in claw.send_message(message, session="s", model=MODEL)]
        return events

    return asyncio.run(send())


@pytest.mark.parametrize(
    "refusal",
    some([status(401), status(402), status(429, {"Retry-After": "3600"}), status(429)], 4),
    ids=some(["refused", "no credit", "limited for long", "limited"], 4),
)
def test_the_next_key_is_used_at_once_and_from_then_on(tmp_path, refusal):
    with ModelServer([refusal, text("Hello."), text("Again.")]) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": f"{KEYS[0]}, {KEYS[1]}"}
        events = said(tmp_path, environ, "hi", "hi again")
    assert keys_sent(server) == [KEYS[0], KEYS[1], KEYS[1]]
    (notice,) = of_type(RetryEvent, events)
    assert notice.delay_seconds == 0
    assert notice.reason.endswith("using another of its keys")
    assert not any(key in notice.reason for key in KEYS)


def test_another_failure_is_no_matter_of_keys(tmp_path):
    with ModelServer([status(503, {"Retry-After": "0"}), text("Hello.")]) as server:
        said(tmp_path, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": ",".join(KEYS)}, "hi")
    assert keys_sent(server) == [KEYS[0], KEYS[0]]


def test_a_key_is_used_again_when_its_time_is_over():
    moment = 0.0
    rotation = KeyRotation(KEYS, lambda: moment)

    def limited(seconds):
        return AttemptFailed(ProviderRateLimitError("later"), is_retryable=True, retry_after_seconds=seconds)

    assert rotation.set_aside(KEYS[0], limited(30))
    assert rotation.set_aside(KEYS[1], limited(10))
    assert rotation.current() == KEYS[2]
    assert not rotation.set_aside(KEYS[2], limited(20))
    assert rotation.current() == KEYS[1]
    moment = 30
    assert rotation.current() == KEYS[0]


def test_keys_are_added_listed_by_fingerprints_and_removed(tmp_path):
    def oneclaw(*arguments, key="", url=""):
        environ = {"ONECLAW_DISABLED_PLUGINS": OTHERS} | ({"OPENAI_BASE_URL": url} if url else {})
        outcome = ended(tmp_path, environ, *arguments, stdin=key)
        assert not any(each in outcome.stdout + outcome.stderr for each in KEYS)
        return outcome

    def listed():
        documents = json.loads(oneclaw("keys", "list", "--json").stdout)
        return next(each["keys"] for each in documents if each["provider"] == "openai_compatible")

    with ModelServer([status(401), text("Hello.")]) as server:
        for key in KEYS:
            added = oneclaw("keys", "set", "openai_compatible", "--add", key=key, url=server.url)
            assert "another key of openai_compatible is stored in keys.json" in added.stdout
        again = oneclaw("keys", "set", "openai_compatible", "--add", key=KEYS[2], url=server.url)
        assert "stored already" in again.stderr
        elsewhere = oneclaw("keys", "set", "openai_compatible", "--add", key="sk-another", url="http://127.0.0.1:9/v1")
        assert "replace them with: oneclaw keys set openai_compatible" in elsewhere.stderr

        first, second, third = (each["fingerprint"] for each in listed())
        assert f"file, 3 keys: {first} {second} {third}" in oneclaw("keys", "list").stdout
        oneclaw("keys", "remove", "openai_compatible", "--key", first)
        assert [each["fingerprint"] for each in listed()] == [second, third]
        assert oneclaw("keys", "remove", "openai_compatible", "--key", first).returncode == 2

        oneclaw("run", "--model", MODEL, "hi", url=server.url)
        assert keys_sent(server) == KEYS[1:]
        # To no other server.
        refused = oneclaw("run", "--model", MODEL, "hi", url="http://127.0.0.1:9/v1")
        assert "the key is not sent" in refused.stderr

        # Without --add, the new key takes the place of all.
        oneclaw("keys", "set", "openai_compatible", key="sk-another-0123456789", url=server.url)
        assert len(listed()) == 1
        oneclaw("keys", "remove", "openai_compatible")
        assert listed() == []
