"""Plugins made by tests, at work without a home."""

from types import SimpleNamespace

from oneclaw_core import hookimpl
from oneclaw_core.config.keys import PluginSecrets
from oneclaw_core.contract.context import PluginContext
from oneclaw_core.http import SecretStore, SecretWords
from oneclaw_core.loops.worker_loop import WorkerLoop
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.plugins.running.runtime import Plugins


class StandIn:
    """An entry point that names an object made by the test."""

    def __init__(self, name, plugin, version="1.2.3"):
        self.name = name
        self.value = "acme"
        self.dist = SimpleNamespace(name=f"acme-{name}", version=version)
        self._plugin = plugin

    def load(self):
        return self._plugin


def plugin(**hooks):
    """Make a plugin of functions; one that is marked already stays as it is."""
    return SimpleNamespace(
        **{
            name: function if hasattr(function, "oneclaw_options") else hookimpl(function)
            for name, function in hooks.items()
        }
    )


def plugins_at_work(tmp_path, options=None, /, **given):
    """Load plugins by name, and put them to work."""

    async def refuse(host, address):
        raise AssertionError("no plugin connects here")

    catalog = load_plugins((), [StandIn(name, each) for name, each in given.items()])
    assert not [problem for record in catalog.plugins for problem in record.problems]
    secrets = SecretStore(tmp_path / "keys.json", tmp_path, SecretWords("{name}", "secrets", "secret", "set {name}"))

    def make_context(name):
        context = PluginContext(name, tmp_path / name, refuse, secrets=PluginSecrets(name, secrets, {}))
        context.worker = WorkerLoop(name)
        return context

    return Plugins(catalog.plugins, make_context, **(options or {}))
