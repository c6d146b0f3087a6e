"""The providers of OneClaw's own plugins."""

import asyncio
import subprocess
import sys
from functools import partial

import pytest

from oneclaw_core import NotFoundError
from oneclaw_core.config.providers import Providers
from oneclaw_core.plugins.distributions import PROVIDER_PLUGINS
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.providers import ProviderConfig
from oneclaw_core.providers.known import KnownProviders
from oneclaw_core.providers.pool import ProviderPool
from oneclaw_core.shipped.missing import missing_type

CONFIGS = Providers({}, {}, load_plugins(frozenset()).known_providers)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_preconfigured_provider_can_be_opened(name):
    async def open_and_close():
        provider = load_plugins(frozenset()).provider_types[CONFIGS[name].type](CONFIGS[name])
        prefixes = provider.attachment_media_types
        await provider.aclose()
        return prefixes

    assert bool(asyncio.run(open_and_close())) is (name not in ("offline", "chain"))


@pytest.mark.long
def test_registering_a_wire_format_does_not_import_it():
    program = (
        "import sys; from oneclaw_core.plugins.loading import load_plugins; load_plugins(frozenset()); "
        "print([name for name in sys.modules if name.startswith('oneclaw_openai') or name == 'httpx'])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


def test_the_plugins_of_all_preconfigured_providers_and_types_are_known_when_missing():
    catalog = load_plugins(frozenset())
    assert PROVIDER_PLUGINS.keys() == {*catalog.known_providers.preconfigured, *catalog.provider_types}
    brought = {name: record.name for record in catalog.plugins for name in record.providers}
    assert brought.items() <= PROVIDER_PLUGINS.items()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("offline/rules", "with a provider of oneclaw-anthropic, oneclaw-gemini or oneclaw-openai; oneclaw-offline"),
        (
            "anthropic/claude",
            "the provider anthropic needs the plugin anthropic, which is missing: .*oneclaw-anthropic$",
        ),
        ("ollama/llama", "the provider ollama needs the plugin openai, which is missing: .*oneclaw-openai$"),
        ("lab/model", "'lab/model' is not a PROVIDER/MODEL of a configured provider"),
    ],
)
def test_a_provider_that_is_not_installed_names_its_distribution(model, message):
    stored = {"provider:openai": {"enabled": False}}  # from when it was installed
    configs = Providers(stored, {}, KnownProviders())
    assert configs == {}
    with pytest.raises(NotFoundError, match=message):
        configs.split(model)


def test_an_added_provider_names_the_distribution_of_its_type():
    with pytest.raises(NotFoundError, match=r"provider type 'openai_compatible': .*oneclaw-openai$"):
        ProviderPool({}, partial(missing_type, absent={})).get(ProviderConfig("lab", "openai_compatible"))
