"""Add, change and remove model services and chains: more of `oneclaw providers`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import OneClawError, UsageError, find_home
from oneclaw_core.cli import print_text, read_secret, stacked, warn, with_configuration
from oneclaw_core.config import KeyStore, check_header, check_options

if TYPE_CHECKING:
    from oneclaw_core import Configuration, ProviderState


_service_options = stacked(
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


@click.command("add")
@click.argument("name", metavar="NAME|chain/NAME")
@click.option("--type", "type_name", metavar="TYPE", help="The wire format that the service speaks.")
@click.option("--base-url", metavar="URL", help="The address of the service; by default the usual one of the type.")
@click.option("--display-name", metavar="TEXT", help="The name that people see.")
@_service_options
@_chain_options
def add_provider(
    name: str, type_name: str | None, base_url: str | None, display_name: str | None, **options: Any
) -> None:
    """Add a model service, or change one that was added.

    With chain/NAME, add a chain: a list of models, where the next is asked when one fails. Use it like any model, such
    as with: oneclaw models default chain/NAME
    """
    chain = {key: options.pop(key) for key in ("models", "after", "retries", "silence_seconds", "cool_down_seconds")}
    if "/" in name and type_name is None:
        if base_url or display_name or any(options.values()):
            raise UsageError(f"{name} is a chain: give only --model, --after, --retries, --silence and --cool-down")
        _add_chain(name, chain)
        return
    if any(value not in (None, ()) for value in chain.values()):
        raise UsageError("only a chain has these options: call it chain/NAME, such as chain/daily")
    if type_name is None:
        raise UsageError("Missing option '--type': the wire format that the service speaks, such as openai_compatible")
    given = _given_options(**options)

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


@click.command("remove")
@click.argument("name")
def remove_provider(name: str) -> None:
    """Remove a model service or a chain that was added."""
    if "/" in name:
        with_configuration(lambda changes: changes.compositions.remove(name))
        print_text(f"{name} is removed")
        return
    with_configuration(lambda changes: changes.providers.remove(name))
    print_text(f"provider {name} is removed")
    if _has_stored_key(name):
        print_text(f"its key is still stored; remove it with: oneclaw keys remove {name}")
    _warn_of_environment(name)


@click.command("set")
@click.argument("name")
@_service_options
def set_options(name: str, **options: Any) -> None:
    """Change how requests are sent to a model service.

    Built-in services can be changed, too.

    The value of a header is a secret: it is stored like a key, for the current server of the provider, and not shown.
    """
    given = _given_options(**options)
    if not given:
        raise UsageError("nothing to set: give --header, --timeout, --concurrency or --reasoning")
    state = with_configuration(lambda changes: changes.providers.configure(name, **given))
    lines = {
        "silent for": f"{state.timeout_seconds:g} s",
        "requests at the same time": state.concurrency or "any number",
        "reasoning": state.reasoning or "as the service decides",
        "headers": ", ".join(state.headers) or "none",
    }
    for what, value in lines.items():
        print_text(f"{what}: {value}")


@click.command("enable")
@click.argument("name")
def enable_provider(name: str) -> None:
    """Enable a disabled provider again."""
    _switch(name, is_enabled=True)


@click.command("disable")
@click.argument("name")
def disable_provider(name: str) -> None:
    """Disable a provider with its models, until it is enabled again."""
    _switch(name, is_enabled=False)


def _switch(name: str, *, is_enabled: bool) -> None:
    with_configuration(lambda changes: changes.providers.change(name, is_enabled=is_enabled))
    print_text(f"provider {name} is {'enabled' if is_enabled else 'disabled'}")
    if not is_enabled:
        _warn_of_environment(name)


def _given_options(headers: tuple[str, ...], concurrency: str | None, **options: str | None) -> dict[str, Any]:
    """Return the arguments of ``ProviderService.configure`` for what the user gave."""
    given: dict[str, Any] = {}
    if headers:
        given["headers"] = dict(map(_header, headers))
        if len(given["headers"]) < len(headers):
            raise UsageError("each header can be given once")
    given |= check_options({name: value for name, value in options.items() if value is not None})
    if concurrency == "none":
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


def _warn_of_environment(name: str) -> None:
    """Warn if the environment still chooses a model of a provider that was removed or disabled."""
    if os.environ.get("ONECLAW_MODEL", "").partition("/")[0] == name:
        warn(f"the environment variable ONECLAW_MODEL still names a model of {name}")


def _has_stored_key(provider: str) -> bool:
    try:
        return provider in KeyStore(find_home(), os.environ).stored()
    except OneClawError as error:
        warn(f"{error} (until then, stored keys do not count)")
        return False
