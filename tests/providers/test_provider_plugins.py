"""The wire formats that OneClaw speaks itself."""

import asyncio
import subprocess
import sys

import pytest

from oneclaw_core.config.models.provider_configs import provider_configs
from oneclaw_core.plugins.loading.load_plugins import load_plugins

CONFIGS = provider_configs({}, {})


@pytest.mark.parametrize("name", CONFIGS)
def test_each_preconfigured_provider_can_be_opened(name):
    async def open_and_close():
        provider = load_plugins(frozenset()).provider_types[CONFIGS[name].type](CONFIGS[name])
        prefixes = provider.attachment_media_types
        await provider.aclose()
        return prefixes

    assert bool(asyncio.run(open_and_close())) is (name != "offline")


def test_registering_a_wire_format_does_not_import_it():
    program = (
        "import sys; from oneclaw_core.plugins.loading.load_plugins import load_plugins; load_plugins(frozenset()); "
        "print([name for name in sys.modules if name.startswith('oneclaw_core.providers.') or name == 'httpx'])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
