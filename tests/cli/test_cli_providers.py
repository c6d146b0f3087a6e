"""`oneclaw providers`, `oneclaw models` and `oneclaw agents`."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SECRET = "sk-do-not-show-this-to-anybody"


@pytest.fixture
def service():
    """A model service on this machine that lists two models; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.seen.append((self.path, self.headers.get("Authorization")))
            body = json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "big", "context_length": 8192}]})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.seen = []
        server.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def by_name(documents):
    return {each["name"]: each for each in documents}


def test_preconfigured_providers_are_listed_without_their_keys(oneclaw, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://user:{SECRET}@proxy.example/v1")

    outcome = oneclaw("providers", "list", "--json")

    assert SECRET not in outcome.stdout + outcome.stderr
    assert by_name(outcome.json)["openai_compatible"] == {
        "name": "openai_compatible",
        "type": "openai_compatible",
        "base_url": "https://proxy.example/v1",
        "key": "set",
        "key_variable": "OPENAI_API_KEY",
        "preconfigured": True,
    }
    assert by_name(outcome.json)["ollama"]["key"] == "not set"
    assert by_name(outcome.json)["offline"]["key_variable"] is None
    assert SECRET not in oneclaw("providers", "list").stdout


def test_a_provider_is_added_and_removed(ok, monkeypatch):
    added = ok("providers", "add", "my-lab", "--type", "openai_compatible", "--base-url", "https://lab.example/v1")
    assert "MY_LAB_API_KEY" in added

    monkeypatch.setenv("MY_LAB_API_KEY", SECRET)
    assert by_name(ok("providers", "list", "--json"))["my-lab"] == {
        "name": "my-lab",
        "type": "openai_compatible",
        "base_url": "https://lab.example/v1",
        "key": "set",
        "key_variable": "MY_LAB_API_KEY",
        "preconfigured": False,
    }
    assert "my-lab" in ok("providers", "list")

    ok("providers", "remove", "my-lab")
    assert "my-lab" not in by_name(ok("providers", "list", "--json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("My Lab", "--type", "offline"), "'My Lab' is no name for a provider"),
        (("a/b", "--type", "offline"), "'a/b' is no name for a provider"),
        (("ollama", "--type", "openai_compatible"), "'ollama' is known from the start"),
        (("lab", "--type", "telepathy"), "there is no provider type 'telepathy'; there are: offline"),
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
    assert "the base URL does not fit" in outcome.stderr


def test_a_base_url_with_a_password_is_refused_without_repeating_it(oneclaw):
    outcome = oneclaw(
        "providers", "add", "lab", "--type", "openai_compatible", "--base-url", f"https://me:{SECRET}@lab.example/v1"
    )

    assert outcome.status == 2
    assert "LAB_API_KEY" in outcome.stderr
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


def test_the_offline_models_are_always_listed(ok):
    assert ok("models", "list", "offline", "--json") == [
        {"model": "offline/rules", "provider": "offline", "name": "rules", "context_window": None}
    ]


def test_models_are_asked_of_the_service(ok, service, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", SECRET)
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.base_url)

    listed = ok("models", "list", "lab", "--json")

    assert [(each["model"], each["context_window"]) for each in listed] == [("lab/small", None), ("lab/big", 8192)]
    assert service.seen == [("/v1/models", f"Bearer {SECRET}")]
    assert "lab/big" in ok("models", "list", "lab")


def test_a_service_that_is_away_is_a_line_on_stderr(oneclaw, ok, unused_port):
    ok("providers", "add", "away", "--type", "openai_compatible", "--base-url", f"http://127.0.0.1:{unused_port}/v1")

    asked = oneclaw("models", "list", "away")
    assert (asked.status, asked.stdout) == (1, "")
    assert len(asked.stderr.splitlines()) == 1
    assert "away" in asked.stderr


def test_one_service_that_is_away_does_not_hide_the_others(oneclaw, ok, service, unused_port, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_port}/v1")
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.base_url)

    outcome = oneclaw("models", "list", "--json")

    assert outcome.status == 0
    assert {"offline/rules", "lab/small", "lab/big"} <= {each["model"] for each in outcome.json}
    assert "warning: cannot reach openai_compatible" in outcome.stderr


def test_a_vendor_is_not_asked_without_a_key(oneclaw):
    outcome = oneclaw("models", "list", "openai_compatible")

    assert outcome.status == 1
    assert "set OPENAI_API_KEY" in outcome.stderr


def test_the_models_of_an_unknown_provider_are_wrong_usage(oneclaw):
    assert oneclaw("models", "list", "nobody").status == 2


def test_the_default_model_is_shown_with_where_it_is_said(ok, monkeypatch):
    assert ok("models", "default") == "offline/rules (default)\n"

    ok("config", "set", "model", "ollama/x")
    assert ok("models", "default", "--json") == {"model": "ollama/x", "source": "stored"}

    monkeypatch.setenv("ONECLAW_MODEL", "offline/rules")
    assert ok("models", "default") == "offline/rules (environment ONECLAW_MODEL)\n"


def test_the_default_model_is_chosen(ok, oneclaw, service):
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.base_url)

    assert ok("models", "default", "lab/small") == "the default model is lab/small\n"
    assert ok("models", "default", "--json")["model"] == "lab/small"

    slip = oneclaw("models", "default", "lab/smal")
    assert slip.status == 0
    assert "lab does not list a model 'smal'; did you mean small?" in slip.stderr


@pytest.mark.parametrize("model", ["rules", "nobody/x", "offline/", "/rules"])
def test_a_default_model_that_cannot_be_is_refused(oneclaw, ok, model):
    assert oneclaw("models", "default", model).status == 2
    assert ok("models", "default") == "offline/rules (default)\n"


def test_agents_are_listed_and_shown(ok, oneclaw):
    (agent,) = ok("agents", "list", "--json")
    assert agent["name"] == "General Assistant"
    assert agent == ok("agents", "show", "general assistant", "--json")
    assert agent["system_prompt"] in ok("agents", "show", "General Assistant")
    assert "General Assistant" in ok("agents", "list")
    assert oneclaw("agents", "show", "nobody").status == 2
