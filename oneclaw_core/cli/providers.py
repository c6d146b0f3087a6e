"""`oneclaw providers`: the model services that are configured. A key is never shown, nor stored here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.keys import read_secret
from oneclaw_core.cli.options import stacked
from oneclaw_core.cli.output import json_option, print_listing, print_text, warn
from oneclaw_core.cli.running import with_configuration
from oneclaw_core.config.keys import KeySource, KeyStore
from oneclaw_core.config.provider_options import NONE, check_header, check_options
from oneclaw_core.config.providers import Providers, ProviderState, check_provider_name, provider_states
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.system.home import Home, find_home

if TYPE_CHECKING:
    from oneclaw_core.config.configuration import Configuration


@click.group(cls=CommandGroup)
def providers() -> None:
    """List model services; add, change, disable and remove them."""


service_options = stacked(
    click.option(
        "--header",
        "headers",
        metavar="NAME[=VALUE]",
        multiple=True,
        help="Send a header with every request. Without =VALUE, the value is asked for or read from standard input; an "
        "empty value removes the header. May be repeated.",
    ),
    click.option(
        "--timeout", "timeout_seconds", metavar="SECONDS", help="How long the service may stay silent; none for 300."
    ),
    click.option(
        "--concurrency", metavar="NUMBER", help="How many requests to send at the same time; none for no limit."
    ),
    click.option("--reasoning", metavar="LEVEL", help="How much its models think: off, low, medium or high; or none."),
)


_chain_options = stacked(
    click.option(
        "--model",
        "models",
        metavar="PROVIDER/MODEL",
        multiple=True,
        help="Of a chain: a model; repeat it in the order in which to ask them.",
    ),
    click.option(
        "--after",
        metavar="FAILURE,...",
        help="Of a chain: the failures after which the next model is asked: rate_limit (HTTP 429), overloaded (5xx), "
        "key (refused or missing), quota (no credit), silence, connection, model (unknown there); by default all.",
    ),
    click.option(
        "--retries", type=int, metavar="NUMBER", help="Of a chain: how often to retry a model first; by default 2."
    ),
    click.option(
        "--silence",
        "silence_seconds",
        type=float,
        metavar="SECONDS",
        help="Of a chain: how long to wait for the first byte; by default 60.",
    ),
    click.option(
        "--cool-down",
        "cool_down_seconds",
        type=float,
        metavar="SECONDS",
        help="Of a chain: how long a failed model is asked last; by default 600.",
    ),
)


@providers.command("list")
@json_option
def list_providers(as_json: bool) -> None:
    """List the configured model services, and whether each has its key."""
    catalog = load_catalog()
    configs = Providers(catalog.states.settings, os.environ, catalog.known_providers)
    states = provider_states(configs, *_stored_keys(catalog.home))
    columns = ("name", "type", "base URL", "key", "variable", "state")
    print_listing(as_json, (state.document() for state in states), columns, map(_row, states))


@providers.command("add")
@click.argument("name", metavar="NAME|chain/NAME")
@click.option("--type", "type_name", metavar="TYPE", help="The wire format that the service speaks.")
@click.option("--base-url", metavar="URL", help="The address of the service; by default the usual one of the type.")
@click.option("--display-name", metavar="TEXT", help="The name that people see.")
@service_options
@_chain_options
def add(name: str, type_name: str | None, base_url: str | None, display_name: str | None, **options: Any) -> None:
    """Add a model service, or change one that was added.

    With chain/NAME, add a chain: a list of models, where the next is asked when one fails. Use it like any model, such
    as with: oneclaw models default chain/NAME
    """
    chain = {key: options.pop(key) for key in ("models", "after", "retries", "silence_seconds", "cool_down_seconds")}
    if "/" in name and type_name is not None:
        check_provider_name(name)
    if "/" in name:
        if base_url or display_name or any(options.values()):
            raise UsageError(f"{name} is a chain: give only --model, --after, --retries, --silence and --cool-down")
        _add_chain(name, chain)
        return
    if any(value not in (None, ()) for value in chain.values()):
        raise UsageError("only a chain has these options: call it chain/NAME, such as chain/daily")
    if type_name is None:
        raise UsageError("Missing option '--type': the wire format that the service speaks, such as openai_compatible")
    given = given_options(**options)

    async def work(changes: Configuration) -> ProviderState:
        state = await changes.providers.add(name, type_name, base_url, display_name, may_replace=True)
        return await changes.providers.configure(name, **given) if given else state

    state = with_configuration(work)
    print_text(f"provider {name} is added; use its models as {name}/MODEL")
    if state.key_variable is not None and state.key_source is None:
        print_text(f"if the service wants a key, set it in {state.key_variable} or with: oneclaw keys set {name}")


def _add_chain(name: str, given: dict[str, Any]) -> None:
    composition = {key: value for key, value in given.items() if value is not None}
    composition["models"] = list(given["models"])
    if given["after"] is not None:
        composition["after"] = [each.strip() for each in given["after"].split(",") if each.strip()]
    route = with_configuration(lambda changes: changes.compositions.add(name, composition))
    print_text(f"{name} asks {', then '.join(route.models)}; make it the default with: oneclaw models default {name}")


@providers.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a model service or a chain that was added."""
    if "/" in name:
        with_configuration(lambda changes: changes.compositions.remove(name))
        print_text(f"{name} is removed")
        return
    with_configuration(lambda changes: changes.providers.remove(name))
    print_text(f"provider {name} is removed")
    if name in _stored_keys(find_home())[0]:
        print_text(f"its key is still stored; remove it with: oneclaw keys remove {name}")
    warn_of_environment(name)


def given_options(headers: tuple[str, ...], concurrency: str | None, **options: str | None) -> dict[str, Any]:
    """Return the arguments of ``ProviderService.configure`` for what the user gave."""
    given: dict[str, Any] = {}
    if headers:
        given["headers"] = dict(map(_header, headers))
        if len(given["headers"]) < len(headers):
            raise UsageError("each header can be given once")
    given |= check_options({name: value for name, value in options.items() if value is not None})
    if concurrency == NONE:
        given["is_limited"] = False
    elif concurrency is not None:
        if not concurrency.isdecimal():
            raise UsageError(f"--concurrency takes a whole number or none, not {concurrency[:100]!r}")
        given["concurrency"] = int(concurrency)
    return given


def _header(text: str) -> tuple[str, str | None]:
    name, has_value, value = text.partition("=")
    if not has_value:
        value = read_secret(f"Header {name}")
        if not value.strip():
            raise UsageError(f"the value of the header {name} is empty: nothing is set")
    return name, check_header(name, value) if value else None


def warn_of_environment(name: str) -> None:
    """Warn if the environment still chooses a model of a provider that was removed or disabled."""
    if os.environ.get("ONECLAW_MODEL", "").partition("/")[0] == name:
        warn(f"the environment variable ONECLAW_MODEL still names a model of {name}")


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
