"""`oneclaw providers`: the model services that are configured. A key is never shown, nor stored here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_listing, warn
from oneclaw_core.config.keys import KeySource, KeyStore
from oneclaw_core.config.providers import Providers, ProviderState, provider_states
from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from oneclaw_core.system.home import Home


@click.group(cls=CommandGroup)
def providers() -> None:
    """List model services; add, change, disable and remove them."""


@providers.command("list")
@json_option
def list_providers(as_json: bool) -> None:
    """List the configured model services, and whether each has its key."""
    catalog = load_catalog()
    configs = Providers(catalog.states.settings, os.environ, catalog.known_providers)
    states = provider_states(configs, *_stored_keys(catalog.home))
    columns = ("name", "type", "base URL", "key", "variable", "state")
    print_listing(as_json, (state.document() for state in states), columns, map(_row, states))


def _stored_keys(home: Home) -> tuple[dict[str, KeySource], dict[str, str]]:
    """Return where the stored keys are, and the servers that they are for, by provider."""
    keys = KeyStore(home, os.environ)
    try:
        return keys.stored(), keys.places()
    except OneClawError as error:
        warn(f"{error} (until then, stored keys do not count)")
        return {}, {}


def _row(state: ProviderState) -> tuple[str, ...]:
    return (
        state.name,
        state.type,
        state.base_url or "",
        _key(state),
        "" if state.is_set_by_tool else state.key_variable or "",
        "enabled" if state.is_enabled else "disabled",
    )


def _key(state: ProviderState) -> str:
    if state.key_variable is None:
        return "needs none"
    if state.key_place is not None:
        return f"not sent: set for {state.key_place}"
    note = " (address by a tool)" if state.is_set_by_tool else ""
    return f"{state.key_source or 'none'}{note}"
