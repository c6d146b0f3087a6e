"""Which model services are configured, and which model a turn uses."""

import pytest

from oneclaw_core import NotFoundError, SettingsError
from oneclaw_core.models import check_provider_name, key_variable_of, provider_configs, split_model


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai_compatible", "OPENAI_API_KEY"), ("ollama", "OLLAMA_API_KEY"), ("my-box", "MY_BOX_API_KEY")],
)
def test_each_provider_has_a_variable_for_its_key(name, variable):
    assert key_variable_of(name) == variable


def test_the_vendors_variables_give_endpoint_and_key():
    environ = {"OPENAI_BASE_URL": "http://localhost:1/v1", "OPENAI_API_KEY": "k1", "OLLAMA_API_KEY": ""}
    configs = provider_configs({}, environ)
    assert list(configs) == ["offline", "openai_compatible", "ollama"]
    assert (configs["openai_compatible"].base_url, configs["openai_compatible"].api_key) == (
        "http://localhost:1/v1",
        "k1",
    )
    assert (configs["ollama"].base_url, configs["ollama"].api_key) == ("http://localhost:11434/v1", None)


def test_an_added_provider_reads_the_key_of_its_own_name():
    stored = {
        "provider:my-box": {"type": "openai_compatible", "base_url": "http://box/v1"},
        "provider:ollama": {"type": "offline"},
        "provider:odd": "no object",
        "model": "my-box/llama",
    }
    configs = provider_configs(stored, {"MY_BOX_API_KEY": "k2"})
    assert set(configs) == {"offline", "openai_compatible", "ollama", "my-box"}
    assert (configs["my-box"].type, configs["my-box"].api_key) == ("openai_compatible", "k2")
    assert configs["ollama"].type == "openai_compatible"


def test_a_key_is_not_shown_when_a_configuration_is_printed():
    assert "k1-secret" not in repr(provider_configs({}, {"OPENAI_API_KEY": "k1-secret"}))


def test_a_models_own_name_may_contain_slashes():
    config, model = split_model("ollama/library/llama:7b", provider_configs({}, {}))
    assert (config.name, model) == ("ollama", "library/llama:7b")


@pytest.mark.parametrize("model", ["", "rules", "offline/", "nobody/model", "/model"])
def test_what_names_no_configured_provider_is_refused_with_those_there_are(model):
    with pytest.raises(NotFoundError, match="the providers are: offline, openai_compatible, ollama"):
        split_model(model, provider_configs({}, {}))


@pytest.mark.parametrize("name", ["", "My", "a/b", "1st", "a b", "a" * 64])
def test_a_name_that_could_not_be_part_of_a_model_is_refused(name):
    with pytest.raises(SettingsError, match="is no name for a provider"):
        check_provider_name(name)
