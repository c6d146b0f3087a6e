"""`oneclaw providers`: the model services that are configured. A key is never shown, nor stored here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_listing, print_text, warn
from oneclaw_core.config.keys import KeySource, KeyStore
from oneclaw_core.errors import OneClawError
from oneclaw_core.home import find_home

if TYPE_CHECKING:
    from oneclaw_core.config.providers import ProviderState
    from oneclaw_core.home import Home


@click.group(cls=CommandGroup)
def providers() -> None:
    """List model services; add, change, disable and remove them."""


@providers.command("list")
@json_option
def list_providers(as_json: bool) -> None:
    """List the configured model services, and whether each has its key."""
    from oneclaw_core.config.providers import provider_states

    catalog = load_catalog()
    states = provider_states(catalog.states.settings, os.environ, catalog.known_providers, _stored_keys(catalog.home))
    columns = ("name", "type", "base URL", "key", "variable", "state")
    print_listing(as_json, (state.document() for state in states), columns, map(_row, states))


@providers.command("add")
@click.argument("name")
@click.option("--type", "type_name", required=True, metavar="TYPE", help="The wire format that the service speaks.")
@click.option("--base-url", metavar="URL", help="Where the service is; without it, the type's own place.")
@click.option("--display-name", metavar="TEXT", help="What people read in place of its name.")
def add(name: str, type_name: str, base_url: str | None, display_name: str | None) -> None:
    """Add a model service, or change one that was added."""
    from oneclaw_core.cli.running import with_configuration

    state = with_configuration(
        lambda changes: changes.providers.add(name, type_name, base_url, display_name, may_replace=True)
    )
    print_text(f"provider {name} is added; use its models as {name}/MODEL")
    if state.key_variable is not None and state.key_source is None:
        print_text(f"if the service wants a key, set it in {state.key_variable} or with: oneclaw keys set {name}")


@providers.command("enable")
@click.argument("name")
def enable(name: str) -> None:
    """Let the models of a disabled provider be used again."""
    _switch(name, is_enabled=True)


@providers.command("disable")
@click.argument("name")
def disable(name: str) -> None:
    """Use no model of a provider, until it is enabled again."""
    _switch(name, is_enabled=False)


@providers.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a model service that was added."""
    from oneclaw_core.cli.running import with_configuration

    with_configuration(lambda changes: changes.providers.remove(name))
    print_text(f"provider {name} is removed")
    if name in _stored_keys(find_home()):
        print_text(f"its key is still stored; remove it with: oneclaw keys remove {name}")
    _warn_of_environment(name)


def _switch(name: str, *, is_enabled: bool) -> None:
    from oneclaw_core.cli.running import with_configuration

    with_configuration(lambda changes: changes.providers.change(name, is_enabled=is_enabled))
    print_text(f"provider {name} is {'enabled' if is_enabled else 'disabled'}")
    if not is_enabled:
        _warn_of_environment(name)


def _warn_of_environment(name: str) -> None:
    if os.environ.get("ONECLAW_MODEL", "").partition("/")[0] == name:
        warn(f"the environment variable ONECLAW_MODEL still names a model of {name}")


def _stored_keys(home: Home) -> dict[str, KeySource]:
    try:
        return KeyStore(home, os.environ).stored()
    except OneClawError as error:
        warn(f"{error} (until then, stored keys do not count)")
        return {}


def _row(state: ProviderState) -> tuple[str, ...]:
    return (
        state.name,
        state.type,
        state.base_url or "",
        str(state.key_source or "none") if state.key_variable else "needs none",
        state.key_variable or "",
        "enabled" if state.is_enabled else "disabled",
    )
