"""Keys of model services and secrets of plugins: `oneclaw keys`. They are never shown, and no arguments."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import HomeCatalog, load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import is_terminal, json_option, print_listing, print_text, warn_if_set
from oneclaw_core.config.keys import MAX_KEY_CHARACTERS, MAX_SECRET_CHARACTERS, KeySource, KeyStore, KnownKey, check_key
from oneclaw_core.config.plugin_settings import registered_settings
from oneclaw_core.config.provider_options import place_of
from oneclaw_core.config.providers import Providers
from oneclaw_core.config.setting_fields import secret_key, variable_of
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.plugins.distributions import OUR_DISTRIBUTIONS, PROVIDER_PLUGINS
from oneclaw_core.shipped.missing import keys_now, plugin_of, why_missing
from oneclaw_core.system.home import find_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.providers.base import ProviderConfig


@dataclass(frozen=True, slots=True)
class PluginSecret:
    """A secret of a plugin, stored or not.

    Attributes:
        plugin: the plugin's name.
        key: what ``oneclaw keys set`` takes.
        stored_as: the name in the secret store.
        variable: the environment variable that goes before a stored value.
        is_required: True if the plugin has a setting of that name that cannot do without it.
    """

    plugin: str
    key: str
    stored_as: str
    variable: str
    is_required: bool = False


def find_secret(key: str, catalog: HomeCatalog) -> PluginSecret | None:
    """Find a secret that a user named, ``None`` if no plugin has such a name.

    Raises:
        NotFoundError: the plugin has no setting of that name; with the names that can be set.
        UsageError: the plugin has a setting of that name that is not a secret.
    """
    if renamed := keys_now(key):
        raise NotFoundError(f"the secret {key} is named {renamed} now")
    plugin = max((each.name for each in catalog.plugins if key.startswith(f"{each.name}.")), key=len, default=None)
    if plugin is None:
        return None
    for each in registered_settings(catalog.plugins):
        if any(field.key == key and not field.is_secret for field in each.fields) and each.plugin == plugin:
            raise UsageError(f"{key} is not a secret: set it with: oneclaw config set {key} VALUE")
    known = {each.key: each for each in all_secrets(catalog)}
    if key not in known:  # it is not repeated, for it may be a key
        secrets = [name for name, each in known.items() if each.plugin == plugin]
        close = get_close_matches(key, secrets, cutoff=0.6) or secrets
        names = [*catalog.known_providers.preconfigured, *known]
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names) or 'none'}"
        raise NotFoundError(f"the plugin {plugin} has no such secret; {hint}")
    return known[key]


def all_secrets(catalog: HomeCatalog, stored: Iterable[str] = ()) -> list[PluginSecret]:
    """List the secrets that plugins have settings for, and those of the names in the secret store."""
    found = [
        PluginSecret(each.plugin, field.key, secret_key(each.plugin, field.name), field.variable, field.is_required)
        for each in registered_settings(catalog.plugins)
        for field in each.fields
        if each.plugin is not None and field.is_secret
    ]
    known = {each.stored_as for each in found}
    for name in stored:
        plugin, dot, _ = name.partition(".")
        if dot and name not in known:
            found.append(PluginSecret(shown_key(plugin), shown_key(name), name, variable_of(shown_key(name))))
    return found


def shown_key(name: str) -> str:
    """Return how a name in the secret store is shown."""
    return name.replace("%2E", ".")


def check_secret(text: str) -> str:
    """Check what somebody typed or piped as a secret; it is never repeated.

    Returns:
        The secret, without spaces around it.

    Raises:
        UsageError: it cannot be stored.
    """
    secret = text.strip()
    if not secret:
        raise UsageError("the secret is empty: nothing is stored")
    if len(secret) > MAX_SECRET_CHARACTERS or not secret.isprintable():
        what = f"a secret is one line of visible characters, {MAX_SECRET_CHARACTERS} at most"
        raise UsageError(f"that is not stored: {what}")
    return secret


_GOES_BEFORE = "and goes before the stored key as long as it is"
_PLACES = {KeySource.KEYRING: "in the system keyring", KeySource.FILE: "in keys.json in the home, readable only by you"}


@click.group(cls=CommandGroup)
def keys() -> None:
    """Store the keys of model services and the secrets of plugins, list and remove them.

    An environment variable takes precedence over a stored key.
    """


@keys.command("set")
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
@click.option("--file", "in_file", is_flag=True, help="Store it in a file of the home, not in the system keyring.")
@click.option("--add", "is_added", is_flag=True, help="Keep the stored keys: if one is refused, use the next.")
def set_key(name: str, more: tuple[str, ...], in_file: bool, is_added: bool) -> None:
    """Store a provider's key or the secret PLUGIN.NAME of a plugin.

    It is not shown while you type it, or it is one line of standard input. It is stored in the system keyring, or
    without one in a file of the home that only you can read. It replaces the stored key.
    """
    if more:
        raise UsageError(
            "a key is not an argument, for other users and the shell's history see those: type it when asked, or pipe "
            "it in; if that was a real key, replace it with a new one"
        )
    catalog = load_catalog()
    secret = find_secret(name, catalog) if "." in name else None
    if secret is not None and is_added:
        raise UsageError(f"{secret.key} has one value: only a provider can have several keys")
    if secret is not None:
        stored_as, key, place = secret.stored_as, check_secret(read_secret(f"Secret {secret.key}")), None
        variable, what = secret.variable, f"the secret {secret.key}"
    else:
        config = _provider(name, catalog)
        place = place_of(config)
        where = "" if config.takes_environment_key else f" at {place}, an address that a tool set,"
        stored_as, key = config.name, check_key(read_secret(f"Key of {config.name}{where}"))
        variable, what = config.key_variable if config.takes_environment_key else "", f"the key of {config.name}"
    catalog.home.create()
    store = KeyStore(catalog.home, os.environ)
    keep = store.add if is_added else store.set
    source = keep(stored_as, key, in_file=in_file, place=place)
    where = _PLACES[source] + (f", for {place}" if place and "://" in place else "")
    print_text(f"another key of {name} is stored {where}" if is_added else f"{what} is stored {where}")
    warn_if_set(variable, _GOES_BEFORE)


@keys.command("list")
@json_option
def list_keys(as_json: bool) -> None:
    """List the keys and secrets, and where they come from.

    Keys themselves are never shown.
    """
    catalog = load_catalog()
    store = KeyStore(catalog.home, os.environ, catalog.known_providers)
    stored = store.stored()
    configs = Providers(catalog.states.settings, os.environ, catalog.known_providers)
    known = {
        name: store.known(name, is_from_environment=config.takes_environment_key)
        for name, config in configs.items()
        if not config.is_local
    }
    # A provider may be gone and its key still be there.
    known |= {name: store.known(name) for name in stored if name not in configs and "." not in name}
    documents = [_document(name, keys, stored.get(name), catalog) for name, keys in known.items()]
    documents += [_secret_document(each, stored.get(each.stored_as)) for each in all_secrets(catalog, stored)]
    rows = ((_name(each), _shown_source(each), each["key_variable"]) for each in documents)
    print_listing(as_json, documents, ("name", "key", "variable"), rows)
    for each in () if as_json else documents:
        if each["source"] == KeySource.ENVIRONMENT and each["stored"]:
            warn_if_set(each["key_variable"], _GOES_BEFORE)


@keys.command("remove")
@click.argument("name")
@click.option("--key", metavar="FINGERPRINT", help="Only this one of several keys, as oneclaw keys list shows it.")
def remove(name: str, key: str | None) -> None:
    """Remove a provider's keys or the secret PLUGIN.NAME of a plugin."""
    store = KeyStore(find_home(), os.environ)
    secrets = {shown_key(each): each for each in store.stored()}
    if name not in secrets:
        listed = ", ".join(secrets) or "none"
        raise NotFoundError(f"no key is stored under that name; stored are those of: {listed}")
    store.remove(secrets[name], key)
    if key is not None:
        print_text(f"the key {key} of {name} is removed")
        return
    is_secret = "." in name
    print_text(f"the {'secret' if is_secret else 'key of'} {name} is removed")
    variable = variable_of(name) if is_secret else load_catalog(is_quiet=True).known_providers.key_variable_of(name)
    warn_if_set(variable, "and its key is still used")


def _provider(name: str, catalog: HomeCatalog) -> ProviderConfig:
    configs = Providers(catalog.states.settings, os.environ, catalog.known_providers)
    config = configs.get(name)
    if config is None:
        # What was given may be a key, so it is not repeated.
        plugin = plugin_of(name)
        if plugin in OUR_DISTRIBUTIONS:
            raise NotFoundError(f"the plugin {plugin} {why_missing(plugin, catalog.absent_plugins)}")
        if name in PROVIDER_PLUGINS:
            return configs.require(name)
        raise NotFoundError(f"there is no provider of that name; the providers are: {', '.join(configs)}")
    if config.is_local:
        raise UsageError(f"{name} needs no key")
    return config


def read_secret(what: str) -> str:
    """Ask for a secret without showing it, or read one line of standard input where no one sits."""
    if is_terminal(sys.stdin):
        typed: str = click.prompt(f"{what} (not shown)", hide_input=True, err=True)
        return typed
    line = sys.stdin.buffer.readline(MAX_KEY_CHARACTERS + 3)
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _name(document: dict[str, Any]) -> str:
    return str(document["secret"] if document["provider"] is None else document["provider"])


def _shown_source(document: dict[str, Any]) -> str:
    """Say where a key comes from, and tell several apart."""
    source, keys = document["source"] or "none", document.get("keys", ())
    if len(keys) < 2:
        return source
    return f"{source}, {len(keys)} keys: {' '.join(each['fingerprint'] or '(keyring)' for each in keys)}"


def _document(
    provider: str, keys: Sequence[KnownKey], stored: KeySource | None, catalog: HomeCatalog
) -> dict[str, Any]:
    return {
        "provider": provider,
        "source": str(keys[0].source) if keys else None,
        "keys": [{"source": str(each.source), "fingerprint": each.fingerprint} for each in keys],
        "key_variable": catalog.known_providers.key_variable_of(provider),
        "stored": stored and str(stored),
    }


def _secret_document(secret: PluginSecret, stored: KeySource | None) -> dict[str, Any]:
    source = KeySource.ENVIRONMENT if os.environ.get(secret.variable) else stored
    return {
        "provider": None,
        "secret": secret.key,
        "plugin": secret.plugin,
        "source": source and str(source),
        "key_variable": secret.variable,
        "stored": stored and str(stored),
    }
