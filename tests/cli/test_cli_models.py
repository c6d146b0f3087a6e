"""`oneclaw models`: what services offer, what the user says about a model, the default model."""

import json
import os
import time
from pathlib import Path

import pytest
from how_long import some
from model_server import ModelServer, calls, text

MODELS = (
    {"id": "small"},
    {"id": "big", "context_length": 8192, "max_output_tokens": 1024},
)
AWAY = "https://lab.invalid/v1"


@pytest.fixture
def service():
    """A model service on this machine that lists two models."""
    with ModelServer([], models=MODELS) as server:
        yield server


@pytest.fixture
def lab(ok, service):
    """The service, as the provider ``lab``."""
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.url)
    return service


@pytest.fixture
def vendor(service, monkeypatch):
    """The service in the place of a vendor far away: the list that it gives can be kept."""
    monkeypatch.setattr("oneclaw_core.config.model_service.is_on_this_machine", lambda config: config.type == "offline")
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    return service


def listed(ok, *arguments):
    return {each["model"]: each for each in ok("models", "list", *arguments, "--json")}


def kept_file(name):
    return Path(os.environ["ONECLAW_HOME"]) / "cache" / "models" / f"{name}.json"


def make_old(name, seconds):
    document = json.loads(kept_file(name).read_text())
    kept_file(name).write_text(json.dumps({**document, "fetched_at": time.time() - seconds}))


def test_the_offline_model_is_always_listed(ok):
    assert ok("models", "list", "offline", "--json") == [
        {
            "model": "offline/rules",
            "provider": "offline",
            "name": "rules",
            "display_name": None,
            "context_window": None,
            "max_output_tokens": None,
            "input_media_types": None,
            "models": [],
            "is_listed": True,
            "is_added": False,
            "is_default": True,
            "overrides": {},
        }
    ]


def test_models_are_asked_of_the_service_with_the_key(ok, lab, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "sk-0123456789")
    models = listed(ok, "lab")
    assert list(models) == ["lab/small", "lab/big"]
    assert (models["lab/big"]["context_window"], models["lab/small"]["context_window"]) == (8192, None)
    assert [(each.path, each.headers["authorization"]) for each in lab.requests] == [
        ("/v1/models", "Bearer sk-0123456789")
    ]
    assert "lab/big" in ok("models", "list", "lab")


def test_a_stored_key_is_sent(ok, lab, oneclaw, monkeypatch, tmp_path):
    (tmp_path / "key").write_text("sk-stored-0123456789\n")
    with (tmp_path / "key").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert oneclaw("keys", "set", "lab").status == 0
    listed(ok, "lab")
    assert lab.requests[0].headers["authorization"] == "Bearer sk-stored-0123456789"


@pytest.mark.long
def test_a_list_is_kept_for_a_day(ok, vendor):
    first = ok("models", "list", "openai_compatible")
    assert ok("models", "list", "openai_compatible") == first
    assert len(vendor.requests) == 1

    ok("models", "list", "openai_compatible", "--refresh")
    assert len(vendor.requests) == 2

    make_old("openai_compatible", 25 * 60 * 60)
    ok("models", "list", "openai_compatible")
    assert len(vendor.requests) == 3


def test_a_service_on_this_machine_is_always_asked(ok, lab):
    ok("models", "list", "lab")
    ok("models", "list", "lab")
    assert len(lab.requests) == 2


def test_an_old_list_is_shown_where_the_service_cannot_be_asked(ok, oneclaw, unused_port, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789")
    with ModelServer([], models=MODELS) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.url)
        ok("models", "list", "openai_compatible")
    make_old("openai_compatible", 3 * 24 * 60 * 60 + 5)
    outcome = oneclaw("models", "list", "openai_compatible", "--json")
    assert outcome.status == 0
    assert [each["name"] for each in outcome.json] == ["small", "big"]
    assert "warning: cannot reach openai_compatible" in outcome.stderr
    assert "(shown is its list of 3 days ago)" in outcome.stderr


@pytest.mark.long
def test_a_service_that_is_away_is_a_line_on_stderr(oneclaw, ok, unused_port):
    ok("providers", "add", "away", "--type", "openai_compatible", "--base-url", f"http://127.0.0.1:{unused_port}/v1")
    asked = oneclaw("models", "list", "away")
    assert (asked.status, asked.stdout) == (1, "")
    assert len(asked.stderr.splitlines()) == 1
    assert "away" in asked.stderr


def test_one_service_that_is_away_does_not_hide_the_others(oneclaw, lab, unused_port, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_port}/v1")
    outcome = oneclaw("models", "list", "--json")
    assert outcome.status == 0
    assert {"offline/rules", "lab/small", "lab/big"} <= {each["model"] for each in outcome.json}
    assert "warning: cannot reach openai_compatible" in outcome.stderr


def test_vendors_without_a_key_are_not_asked(oneclaw):
    one = oneclaw("models", "list", "anthropic")
    assert (one.status, one.stdout) == (1, "")
    assert "ANTHROPIC_API_KEY or with: oneclaw keys set anthropic" in one.stderr

    all_of_them = oneclaw("models", "list")
    assert all_of_them.status == 0
    line = "not asked, because they have no key: openai, openai_compatible, anthropic, gemini; set one with: oneclaw"
    assert all_of_them.stderr.count(line) == 1


def test_a_broken_key_file_is_a_line_on_stderr(oneclaw, home):
    home.mkdir()
    (home / "keys.json").write_text("{")
    outcome = oneclaw("models", "list", "offline")
    assert (outcome.status, "offline/rules" in outcome.stdout, outcome.stderr) == (0, True, "")
    outcome = oneclaw("models", "list", "gemini")
    assert outcome.status == 1
    assert "chmod 600" in outcome.stderr


def test_the_models_of_an_unknown_provider_are_wrong_usage(oneclaw):
    assert oneclaw("models", "list", "nobody").status == 2


@pytest.mark.long
def test_what_the_user_says_about_a_model_goes_before_what_the_service_says(ok, lab):
    assert ok("models", "set", "lab/big", "context_window", "4096") == "context_window of lab/big is 4096\n"
    assert "image/, application/pdf" in ok("models", "set", "lab/big", "input_media_types", "image,pdf")
    ok("models", "set", "lab/new/one", "tool_loading", "append")

    models = listed(ok, "lab")
    assert list(models) == ["lab/small", "lab/big", "lab/new/one"]
    assert models["lab/big"]["context_window"] == 4096
    assert models["lab/big"]["max_output_tokens"] == 1024
    assert models["lab/big"]["input_media_types"] == ["image/", "application/pdf"]
    assert models["lab/big"]["overrides"] == {
        "context_window": 4096,
        "input_media_types": ["image/", "application/pdf"],
    }
    assert models["lab/new/one"]["is_listed"] is False
    (row,) = [line for line in ok("models", "list", "lab").splitlines() if line.startswith("lab/big")]
    assert row.split(maxsplit=3) == [
        "lab/big",
        "4096",
        "1024",
        "images and PDF files  context_window, input_media_types",
    ]


def test_what_was_said_about_a_model_is_taken_back(ok, oneclaw, lab):
    ok("models", "set", "lab/big", "context_window", "4096")
    ok("models", "set", "lab/big", "tool_loading", "dispatch")
    ok("models", "unset", "lab/big", "context_window")
    assert listed(ok, "lab")["lab/big"]["overrides"] == {"tool_loading": "dispatch"}

    wrong = oneclaw("models", "unset", "lab/big", "context_window")
    assert wrong.status == 2
    assert "set are: tool_loading" in wrong.stderr

    ok("models", "unset", "lab/big")
    assert listed(ok, "lab")["lab/big"]["overrides"] == {}
    assert oneclaw("models", "unset", "lab/big").status == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            (("nobody/x", "context_window", "1"), "'nobody/x' is not a PROVIDER/MODEL"),
            (("lab/big", "context_window", "much"), "context_window cannot be 'much'"),
            (
                ("lab/big", "colour", "red"),
                "there are: context_window, max_output_tokens, input_media_types, display_name",
            ),
            (("lab/", "context_window", "1"), "'lab/' is not a PROVIDER/MODEL"),
        ],
        4,
    ),
)
def test_what_cannot_be_said_about_a_model_is_refused(oneclaw, lab, arguments, message):
    outcome = oneclaw("models", "set", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert message in outcome.stderr


@pytest.mark.long
def test_prices_that_are_said_count(ok, oneclaw, monkeypatch):
    tokens = {
        "prompt_tokens": 1_000_000,
        "completion_tokens": 100_000,
        "prompt_tokens_details": {"cached_tokens": 600_000},
    }
    with ModelServer([text("One.", usage=tokens), text("Two.", usage=tokens), text("Three.", usage=tokens)]) as service:
        ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.url)
        ok("run", "--model", "lab/big", "What does it cost?")
        half = oneclaw("models", "set", "lab/big", "input_price", "3")
        ok("run", "--model", "lab/big", "And now?")
        whole = [
            oneclaw("models", "set", "lab/big", *each)
            for each in (("output_price", "15"), ("cached_input_price", "0.3"))
        ]
        ok("run", "--model", "lab/big", "And now?")
    assert (half.status, half.stdout) == (0, "input_price of lab/big is 3.0\n")
    assert half.stderr.endswith("do not count until all are: oneclaw models set lab/big output_price DOLLARS\n")
    assert [each.stderr for each in whole] == ["", ""]
    [line] = ok("usage", "--by", "model", "--json")["rows"]
    assert line["cost"] == pytest.approx(0.4 * 3 + 0.6 * 0.3 + 0.1 * 15)


def test_half_of_the_prices_are_told_where_models_are_listed(ok, oneclaw, lab):
    oneclaw("models", "set", "lab/big", "cached_input_price", "1")
    outcome = oneclaw("models", "list", "lab")
    assert (
        "oneclaw models set lab/big input_price DOLLARS and oneclaw models set lab/big output_price" in outcome.stderr
    )
    assert oneclaw("models", "set", "lab/big", "context_window", "5").stderr == ""


@pytest.mark.long
def test_a_limit_in_dollars_holds_for_a_model_with_a_price_of_ones_own(ok, oneclaw):
    tokens = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    script = [calls(("get_current_time", {}), usage=tokens), text("Late.")]
    with ModelServer(script) as service:
        ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", service.url)
        for key in ("input_price", "output_price"):
            oneclaw("models", "set", "lab/big", key, "2")
        ok("config", "set", "turn_max_cost", "1.5")
        outcome = oneclaw("run", "--model", "lab/big", "How late is it?")
        assert len(service.bodies) == 1
    assert outcome.status == 1
    assert "it has spent $2.00, and the setting turn_max_cost allows $1.50" in outcome.stderr


def test_a_model_is_added_and_removed(ok, oneclaw, lab):
    assert ok("models", "add", "lab/hidden", "--display-name", "Hidden") == "model lab/hidden is added\n"
    model = listed(ok, "lab")["lab/hidden"]
    assert (model["is_listed"], model["is_added"], model["display_name"]) == (False, True, "Hidden")

    again = oneclaw("models", "add", "lab/hidden")
    assert (again.status, "is there already" in again.stderr) == (2, True)

    ok("models", "default", "lab/small")
    assert ok("models", "remove", "lab/hidden") == "model lab/hidden is removed\n"
    assert "lab/hidden" not in listed(ok, "lab")
    assert oneclaw("models", "remove", "lab/hidden").status == 2


@pytest.mark.long
def test_a_model_that_is_listed_or_is_the_default_stays(ok, oneclaw, vendor):
    ok("models", "list", "openai_compatible")
    assert oneclaw("models", "add", "openai_compatible/big").status == 2
    listed_one = oneclaw("models", "remove", "openai_compatible/big")
    assert (listed_one.status, "is listed by its service" in listed_one.stderr) == (2, True)

    ok("models", "add", "openai_compatible/hidden")
    oneclaw("models", "default", "openai_compatible/hidden")
    default = oneclaw("models", "remove", "openai_compatible/hidden")
    assert (default.status, "is the default model" in default.stderr) == (2, True)


@pytest.mark.parametrize("arguments", [("nobody/x",), ("rules",), ("lab/x", "--display-name", "")])
def test_a_model_that_cannot_be_is_not_added(ok, oneclaw, lab, arguments):
    outcome = oneclaw("models", "add", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert list(listed(ok, "lab")) == ["lab/small", "lab/big"]


def test_the_default_model_is_shown_with_where_it_is_said(ok, monkeypatch):
    assert ok("models", "default") == "offline/rules (default)\n"

    ok("config", "set", "model", "ollama/x")
    assert ok("models", "default", "--json") == {"model": "ollama/x", "source": "stored"}

    monkeypatch.setenv("ONECLAW_MODEL", "offline/rules")
    assert ok("models", "default") == "offline/rules (environment ONECLAW_MODEL)\n"


@pytest.mark.long
def test_the_default_model_is_chosen(ok, oneclaw, lab):
    assert ok("models", "default", "lab/small") == "the default model is lab/small\n"
    assert ok("models", "default", "--json")["model"] == "lab/small"

    slip = oneclaw("models", "default", "lab/smal")
    assert slip.status == 0
    assert "lab does not list a model 'smal'; did you mean small?" in slip.stderr


@pytest.mark.long
def test_a_choice_is_told_as_json(ok, lab):
    assert ok("models", "default", "lab/small", "--json") == {"model": "lab/small", "source": "stored"}
    assert ok("models", "default", "--json") == {"model": "lab/small", "source": "stored"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("default", "rules"), "model cannot be 'rules': it must be PROVIDER/MODEL"),
        (("set", "offline/rules", "input_media_types", "x"), "input_media_types cannot be 'x': use image, pdf"),
    ],
)
def test_a_value_that_does_not_fit_is_told_in_our_words(oneclaw, arguments, told):
    assert told in oneclaw("models", *arguments).stderr


def test_a_chosen_model_is_looked_up_in_the_kept_list(ok, oneclaw, vendor):
    ok("models", "list", "openai_compatible")
    ok("models", "default", "openai_compatible/big")
    assert "did you mean big?" in oneclaw("models", "default", "openai_compatible/bigg").stderr
    assert len(vendor.requests) == 1


def test_a_default_model_whose_service_has_no_key_is_a_warning(oneclaw, ok):
    outcome = oneclaw("models", "default", "gemini/some-model")
    assert outcome.status == 0
    assert "oneclaw keys set gemini" in outcome.stderr
    assert ok("models", "default", "--json")["model"] == "gemini/some-model"


@pytest.mark.parametrize("model", ["rules", "nobody/x", "offline/", "/rules"])
def test_a_default_model_that_cannot_be_is_refused(oneclaw, ok, model):
    assert oneclaw("models", "default", model).status == 2
    assert ok("models", "default") == "offline/rules (default)\n"
