"""`oneclaw providers` and `oneclaw agents`."""

import pytest
from how_long import some

from oneclaw_core.config.keys import KeyStore
from oneclaw_core.system.home import find_home

SECRET = "sk-do-not-show-this-to-anybody"


def by_name(documents):
    return {each["name"]: each for each in documents}


def test_preconfigured_providers_are_listed_without_their_keys(oneclaw, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://user:{SECRET}@proxy.example/v1")

    outcome = oneclaw("providers", "list", "--json")

    assert SECRET not in outcome.stdout + outcome.stderr
    assert by_name(outcome.json)["openai_compatible"] == {
        "name": "openai_compatible",
        "display_name": "openai_compatible",
        "type": "openai_compatible",
        "base_url": "https://proxy.example/v1",
        "enabled": True,
        "key": "set",
        "key_source": "environment",
        "key_variable": "OPENAI_API_KEY",
        "preconfigured": True,
        "timeout_seconds": 300,
        "concurrency": None,
        "reasoning": None,
        "headers": [],
        "set_by_tool": False,
        "key_place": None,
    }
    assert list(by_name(outcome.json)) == [
        "offline",
        "openai",
        "openai_compatible",
        "anthropic",
        "gemini",
        "ollama",
        "chain",
    ]
    assert (by_name(outcome.json)["ollama"]["key"], by_name(outcome.json)["ollama"]["key_source"]) == ("not set", None)
    assert by_name(outcome.json)["offline"]["key_variable"] is None
    assert SECRET not in oneclaw("providers", "list").stdout


@pytest.mark.long
def test_a_provider_is_added_and_removed(ok, monkeypatch):
    added = ok("providers", "add", "my-lab", "--type", "openai_compatible", "--base-url", "https://lab.example/v1")
    assert "MY_LAB_API_KEY" in added

    monkeypatch.setenv("MY_LAB_API_KEY", SECRET)
    assert by_name(ok("providers", "list", "--json"))["my-lab"] == {
        "name": "my-lab",
        "display_name": "my-lab",
        "type": "openai_compatible",
        "base_url": "https://lab.example/v1",
        "enabled": True,
        "key": "set",
        "key_source": "environment",
        "key_variable": "MY_LAB_API_KEY",
        "preconfigured": False,
        "timeout_seconds": 300,
        "concurrency": None,
        "reasoning": None,
        "headers": [],
        "set_by_tool": False,
        "key_place": None,
    }
    assert "my-lab" in ok("providers", "list")

    assert ok("providers", "remove", "my-lab") == "provider my-lab is removed\n"
    assert "my-lab" not in by_name(ok("providers", "list", "--json"))


@pytest.mark.long
def test_a_provider_has_a_name_that_people_read(ok, oneclaw):
    ok("providers", "add", "lab", "--type", "offline", "--display-name", "The Lab")
    assert by_name(ok("providers", "list", "--json"))["lab"]["display_name"] == "The Lab"
    assert oneclaw("providers", "add", "lab", "--type", "offline", "--display-name", "two\nlines").status == 2


def test_the_models_of_a_disabled_provider_are_not_used_until_it_is_enabled_again(ok, oneclaw, monkeypatch):
    ok("providers", "add", "lab", "--type", "offline")
    assert ok("providers", "disable", "lab") == "provider lab is disabled\n"
    assert by_name(ok("providers", "list", "--json"))["lab"]["enabled"] is False
    assert ok("providers", "list").splitlines()[-1].split()[-1] == "disabled"

    outcome = oneclaw("run", "--model", "lab/rules", "Hello")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "oneclaw providers enable lab" in outcome.stderr

    assert ok("providers", "enable", "lab") == "provider lab is enabled\n"
    assert oneclaw("run", "--model", "lab/rules", "Hello").status == 0

    monkeypatch.setenv("ONECLAW_MODEL", "lab/rules")
    assert "ONECLAW_MODEL still names a model of lab" in oneclaw("providers", "disable", "lab").stderr


@pytest.mark.long
def test_the_provider_of_the_default_model_cannot_be_disabled(ok, oneclaw):
    ok("providers", "add", "lab", "--type", "offline")
    ok("models", "default", "lab/rules")
    outcome = oneclaw("providers", "disable", "lab")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert oneclaw("providers", "enable", "nobody").status == 2


def test_a_stored_key_is_told_by_its_place_and_outlives_its_provider(oneclaw, ok, home):
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", "https://lab.example/v1")
    KeyStore(find_home(), {}).set("lab", SECRET)
    listed = oneclaw("providers", "list", "--json")
    assert by_name(listed.json)["lab"]["key_source"] == "file"
    assert "file" in ok("providers", "list")
    assert SECRET not in listed.stdout

    assert "oneclaw keys remove lab" in ok("providers", "remove", "lab")

    (home / "keys.json").chmod(0o644)
    open_to_others = oneclaw("providers", "list")
    assert open_to_others.status == 0
    assert "chmod 600" in open_to_others.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("My Lab", "--type", "offline"), "'My Lab' is not a valid name for a provider"),
        (("a/b", "--type", "offline"), "'a/b' is not a valid name for a provider"),
        (("ollama", "--type", "openai_compatible"), "'ollama' is known from the start"),
        (
            ("lab", "--type", "telepathy"),
            "there is no provider type 'telepathy'; there are: offline, openai",
        ),
        (("lab",), "Missing option '--type'"),
    ],
)
def test_a_provider_that_cannot_be_is_refused(oneclaw, arguments, message):
    outcome = oneclaw("providers", "add", *arguments)

    assert (outcome.status, outcome.stdout) == (2, "")
    assert message in outcome.stderr


@pytest.mark.parametrize(
    "url",
    [
        "",
        "lab.example",
        "ftp://lab.example",
        "https://",
        "https://a b/",
        "http://[::1",
        "https://x:99999/",
        "file:///x",
    ],
)
def test_a_base_url_that_is_none_is_refused(oneclaw, url):
    outcome = oneclaw("providers", "add", "lab", "--type", "openai_compatible", "--base-url", url)

    assert outcome.status == 2
    assert "the base URL is invalid" in outcome.stderr


def test_a_base_url_with_a_password_is_refused_without_repeating_it(oneclaw):
    outcome = oneclaw(
        "providers", "add", "lab", "--type", "openai_compatible", "--base-url", f"https://me:{SECRET}@lab.example/v1"
    )

    assert outcome.status == 2
    assert "LAB_API_KEY" in outcome.stderr
    assert SECRET not in outcome.stderr


@pytest.mark.parametrize("rest", [f"?key={SECRET}", f"?v=1&api-key={SECRET}", f"#{SECRET}", "#"])
def test_a_base_url_with_a_secret_or_a_fragment_is_refused_without_repeating_it(oneclaw, ok, rest):
    url = f"https://lab.example/v1{rest}"
    outcome = oneclaw("providers", "add", "lab", "--type", "openai_compatible", "--base-url", url)

    assert outcome.status == 2
    assert outcome.stderr.startswith("oneclaw: the base URL must h")
    assert SECRET not in outcome.stderr
    assert "lab" not in [each["name"] for each in ok("providers", "list", "--json")]


@pytest.mark.parametrize(
    ("url", "shown"),
    some(
        [
            (f"https://lab.example/v1?key={SECRET}&v=7", "https://lab.example/v1?key=[redacted]&v=[redacted]"),
            (f"https://{SECRET}@lab.example:8/v1?{SECRET}#{SECRET}", "https://lab.example:8/v1?[redacted]"),
            (f"https://me:{SECRET}@lab.example?next=https://a@b/{SECRET}", "https://lab.example?next=[redacted]"),
            (f"https://me:x/{SECRET}@lab.example/v1", "[redacted]"),
            (f"lab.example/v1?key={SECRET}", "[redacted]"),
            ("localhost:8000", "localhost:8000"),
        ],
        3,
    ),
)
def test_secrets_in_a_base_url_of_the_environment_are_not_shown(oneclaw, ok, monkeypatch, url, shown):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    (openai,) = [each for each in ok("providers", "list", "--json") if each["name"] == "openai"]

    assert openai["base_url"] == shown
    for command in ("providers", "list"), ("doctor",):
        outcome = oneclaw(*command)
        assert SECRET not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("url", [f"lab.example/v1?key={SECRET}", f"lab.example#{SECRET}", f"me:{SECRET}@lab.example"])
def test_a_base_url_that_cannot_be_used_is_not_repeated_if_it_may_hold_a_secret(oneclaw, monkeypatch, url):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    outcome = oneclaw("run", "--model", "openai/x", "hello")
    assert "must look like https://host.example/v1" in outcome.stderr
    assert SECRET not in outcome.stderr


def test_what_is_preconfigured_or_unknown_or_in_use_cannot_be_removed(oneclaw, ok):
    assert "cannot be removed" in oneclaw("providers", "remove", "offline").stderr
    assert oneclaw("providers", "remove", "nobody").status == 2

    ok("providers", "add", "lab", "--type", "offline")
    ok("config", "set", "model", "lab/rules")
    outcome = oneclaw("providers", "remove", "lab")
    assert outcome.status == 2
    assert "oneclaw models default PROVIDER/MODEL" in outcome.stderr

    ok("config", "unset", "model")
    ok("providers", "remove", "lab")
