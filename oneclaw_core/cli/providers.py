"""`oneclaw providers`: the model services that are configured. A key is never shown, nor stored here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text, warn
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.home import find_home
from oneclaw_core.keys import KeySource, KeyStore, key_variable_of
from oneclaw_core.models import (
    OFFLINE_TYPE,
    PROVIDER_SETTING,
    check_provider_name,
    is_preconfigured,
    provider_configs,
)

if TYPE_CHECKING:
    from oneclaw_core.home import Home
    from oneclaw_core.providers.base import ProviderConfig
    from oneclaw_core.store.store import Store


@click.group()
def providers() -> None:
    """List model services, add and remove them."""


@providers.command("list")
@json_option
def list_providers(as_json: bool) -> None:
    """List the configured model services, and whether each has its key."""
    catalog = load_catalog()
    configs = provider_configs(catalog.states.settings, os.environ)
    stored = _stored_keys(catalog.home)
    documents = [_document(config, stored.get(config.name)) for config in configs.values()]
    if as_json:
        print_json(documents)
    else:
        print_table(("name", "type", "base URL", "key", "variable"), [_row(each) for each in documents])


@providers.command("add")
@click.argument("name")
@click.option("--type", "type_name", required=True, metavar="TYPE", help="The wire format that the service speaks.")
@click.option("--base-url", metavar="URL", help="Where the service is; without it, the type's own place.")
def add(name: str, type_name: str, base_url: str | None) -> None:
    """Add a model service, or change one that was added."""
    from oneclaw_core.cli.stored import with_store

    check_provider_name(name)
    if is_preconfigured(name):
        raise UsageError(f"the provider {name!r} is known from the start: choose another name")
    types = load_catalog().provider_types
    if type_name not in types:
        raise NotFoundError(f"there is no provider type {type_name!r}; there are: {', '.join(types) or 'none'}")
    if base_url is not None:
        _check_url(base_url, name)
    with_store(lambda store: store.set_setting(PROVIDER_SETTING + name, {"type": type_name, "base_url": base_url}))
    print_text(f"provider {name} is added; use its models as {name}/MODEL")
    if type_name != OFFLINE_TYPE and not os.environ.get(key_variable_of(name)):
        print_text(f"if the service wants a key, set it in {key_variable_of(name)} or with: oneclaw keys set {name}")


@providers.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a model service that was added."""
    from oneclaw_core.cli.stored import with_store

    if is_preconfigured(name):
        raise UsageError(f"the provider {name!r} is known from the start and cannot be removed")

    async def work(store: Store) -> None:
        settings = await store.settings()
        if PROVIDER_SETTING + name not in settings:
            raise NotFoundError(f"there is no provider {name!r}; list them with: oneclaw providers list")
        if str(settings.get("model")).partition("/")[0] == name:
            raise UsageError(
                f"the default model {settings['model']} is of this provider: choose another one first, with "
                "oneclaw models default PROVIDER/MODEL, or go back to none with oneclaw config unset model"
            )
        await store.remove_setting(PROVIDER_SETTING + name)

    with_store(work)
    print_text(f"provider {name} is removed")
    if name in _stored_keys(find_home()):
        print_text(f"its key is still stored; remove it with: oneclaw keys remove {name}")
    if os.environ.get("ONECLAW_MODEL", "").partition("/")[0] == name:
        warn(f"the environment variable ONECLAW_MODEL still names a model of {name}")


def _stored_keys(home: Home) -> dict[str, KeySource]:
    try:
        return KeyStore(home, os.environ).stored()
    except OneClawError as error:
        warn(f"{error} (until then, stored keys do not count)")
        return {}


def _check_url(url: str, name: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    # Whitespace and control characters would be taken out by some and sent by others.
    if not is_usable or any(character <= " " for character in url):
        raise UsageError("the base URL does not fit: it must be like https://host/v1 or http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the base URL must hold no user or password, for it is stored as it is: "
            f"set the environment variable {key_variable_of(name)} instead, or use: oneclaw keys set {name}"
        )


def _document(config: ProviderConfig, stored: KeySource | None) -> dict[str, Any]:
    source = KeySource.ENVIRONMENT if config.api_key else stored
    return {
        "name": config.name,
        "type": config.type,
        "base_url": _without_password(config.base_url),
        "key": "set" if source else "not set",
        "key_source": source and str(source),
        "key_variable": None if config.type == OFFLINE_TYPE else config.key_variable,
        "preconfigured": is_preconfigured(config.name),
    }


def _without_password(url: object) -> str | None:
    """A URL as it can be shown: one from the environment may hold a password."""
    if url is None:
        return None
    scheme, separator, rest = str(url).rpartition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    variable = document["key_variable"]
    return (
        document["name"],
        document["type"],
        document["base_url"] or "",
        (document["key_source"] or "none") if variable else "needs none",
        variable or "",
    )
