"""Which model services are configured, and which model a turn uses."""

import asyncio

import pytest

from oneclaw_core import NotFoundError, SettingsError
from oneclaw_core.config.keys import KeyStore
from oneclaw_core.config.providers import (
    Providers,
    check_provider_name,
    is_on_this_machine,
    lacks_key,
    with_key,
)
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.system.home import Home

pytestmark = pytest.mark.lowest_versions

KNOWN = load_plugins(frozenset()).known_providers
PRECONFIGURED = ["offline", "openai", "openai_compatible", "anthropic", "gemini", "ollama", "chain"]


@pytest.fixture
def keys_of(tmp_path):
    """Make a key store: ``keys_of(environ)``."""
    return lambda environ: KeyStore(Home(tmp_path, ""), environ, KNOWN)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai_compatible", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("ollama", "OLLAMA_API_KEY"),
        ("my-box", "MY_BOX_API_KEY"),
    ],
)
def test_each_provider_has_a_variable_for_its_key(name, variable):
    assert KNOWN.key_variable_of(name) == variable
    assert Providers({"provider:my-box": {"type": "gemini"}}, {}, KNOWN)[name].key_variable == variable


@pytest.mark.parametrize(
    ("stored", "environ"),
    [
        ({"provider_concurrency": {"openai": 3}}, {}),
        ({"provider_concurrency": {"openai": 9}}, {"ONECLAW_PROVIDER_CONCURRENCY": "openai=3,gemini=4"}),
    ],
)
def test_the_concurrency_of_a_provider_is_a_setting(stored, environ):
    configs = Providers(stored, environ, KNOWN)
    assert (configs["openai"].concurrency, configs["anthropic"].concurrency) == (3, None)


@pytest.mark.parametrize("value", [{"openai": 0}, {"openai": "many"}, "openai", 7, None])
def test_an_invalid_concurrency_limits_nothing(value):
    assert Providers({"provider_concurrency": value}, {}, KNOWN)["openai"].concurrency is None


@pytest.mark.parametrize(
    ("url_variable", "key_variable", "names"),
    [
        ("OPENAI_BASE_URL", "OPENAI_API_KEY", {"openai", "openai_compatible"}),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", {"anthropic"}),
        ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", {"gemini"}),
    ],
)
def test_the_vendors_variables_give_endpoint_and_key(url_variable, key_variable, names):
    configs = Providers({}, {url_variable: "http://localhost:1/v1", key_variable: "k1"}, KNOWN)
    assert list(configs) == PRECONFIGURED
    assert {name for name, each in configs.items() if each.api_key == "k1"} == names
    assert {name for name, each in configs.items() if each.base_url == "http://localhost:1/v1"} == names


def test_providers_that_are_there_from_the_start_speak_the_format_of_their_name():
    configs = Providers({}, {"OLLAMA_API_KEY": ""}, KNOWN)
    assert {name: each.type for name, each in configs.items()} == {
        **{name: name for name in PRECONFIGURED},
        "ollama": "openai_compatible",
    }
    assert (configs["ollama"].base_url, configs["ollama"].api_key) == ("http://localhost:11434/v1", None)


def test_an_added_provider_reads_the_key_of_its_own_name():
    stored = {
        "provider:my-box": {"type": "openai_compatible", "base_url": "http://box/v1"},
        "provider:ollama": {"type": "offline"},
        "model": "my-box/llama",
    }
    configs = Providers(stored, {"MY_BOX_API_KEY": "k2"}, KNOWN)
    assert list(configs) == [*PRECONFIGURED, "my-box"]
    assert (configs["my-box"].type, configs["my-box"].api_key) == ("openai_compatible", "k2")
    assert configs["ollama"].type == "openai_compatible"


@pytest.mark.parametrize(
    "value", ["no object", None, {}, {"type": 5}, {"type": "openai", "base_url": 5}, {"type": "openai", "base_url": []}]
)
def test_a_stored_provider_that_does_not_fit_is_an_error_that_says_how_to_get_rid_of_it(value):
    with pytest.raises(SettingsError, match=r"provider 'odd' is invalid: .*: oneclaw providers remove odd$"):
        Providers({"provider:odd": value}, {}, KNOWN)
    assert Providers({"provider:openai": value}, {}, KNOWN)["openai"].type == "openai"


def test_a_key_is_not_shown_when_a_configuration_is_printed():
    assert "k1-secret" not in repr(Providers({}, {"OPENAI_API_KEY": "k1-secret"}, KNOWN))


def test_a_stored_key_is_used_where_the_environment_has_none(keys_of):
    keys_of({}).set("anthropic", "sk-stored-key", in_file=True)

    def key_with(environ):
        return asyncio.run(with_key(Providers({}, environ, KNOWN)["anthropic"], keys_of(environ))).api_key

    assert key_with({}) == "sk-stored-key"
    assert key_with({"ANTHROPIC_API_KEY": "sk-of-the-environment"}) == "sk-of-the-environment"


def test_keys_belong_to_one_provider_alone(keys_of):
    keys_of({}).set("openai", "sk-stored-key", in_file=True)
    other = Providers({}, {}, KNOWN)["openai_compatible"]
    assert asyncio.run(with_key(other, keys_of({}))) == other


def test_only_a_vendors_own_service_wants_a_key(keys_of):
    def keyless(environ):
        return {name for name, each in Providers({}, environ, KNOWN).items() if lacks_key(each, keys_of(environ))}

    assert keyless({}) == {"openai", "openai_compatible", "anthropic", "gemini"}
    assert keyless({"OPENAI_BASE_URL": "http://box/v1"}) == {"anthropic", "gemini"}
    assert keyless({"GEMINI_API_KEY": "k"}) == {"openai", "openai_compatible", "anthropic"}
    keys_of({}).set("anthropic", "sk-stored-key", in_file=True)
    assert keyless({}) == {"openai", "openai_compatible", "gemini"}


def test_which_services_are_on_this_machine():
    stored = {"provider:odd": {"type": "openai_compatible", "base_url": "http://[::1"}}
    configs = Providers(stored, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, KNOWN)
    assert {name for name, each in configs.items() if is_on_this_machine(each)} == {
        "offline",
        "ollama",
        "anthropic",
        "chain",
    }


def test_a_models_own_name_may_contain_slashes():
    config, model = Providers({}, {}, KNOWN).split("ollama/library/llama:7b")
    assert (config.name, model) == ("ollama", "library/llama:7b")


@pytest.mark.parametrize("model", ["", "rules", "offline/", "nobody/model", "/model"])
def test_what_names_no_configured_provider_is_refused_with_those_there_are(model):
    with pytest.raises(NotFoundError, match=f"the providers are: {', '.join(PRECONFIGURED)}"):
        Providers({}, {}, KNOWN).split(model)


@pytest.mark.parametrize("name", ["", "My", "a/b", "1st", "a b", "a" * 64])
def test_a_name_that_could_not_be_part_of_a_model_is_refused(name):
    with pytest.raises(SettingsError, match="is not a valid name for a provider"):
        check_provider_name(name)
