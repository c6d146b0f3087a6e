"""`oneclaw keys`: the keys of model services. A key is read, never shown, and never taken as an argument."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import is_terminal, json_option, print_json, print_table, print_text, warn
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.keys import MAX_KEY_CHARACTERS, KeySource, KeyStore, check_key, key_variable_of
from oneclaw_core.models import OFFLINE_TYPE, provider_configs

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ProviderConfig

_PLACES = {
    KeySource.KEYRING: "in the system keyring",
    KeySource.FILE: "in keys.json in the home, readable by you alone",
}


@click.group()
def keys() -> None:
    """Store the keys of model services, list and remove them.

    An environment variable goes before a stored key.
    """


@keys.command("set")
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
@click.option("--file", "in_file", is_flag=True, help="Store it in a file of the home, not in the system keyring.")
def set_key(name: str, more: tuple[str, ...], in_file: bool) -> None:
    """Store the key of the provider NAME.

    It is typed without being shown, or is one line of standard input. It goes into the system keyring; where there is
    none, into a file in the home that you alone can read.
    """
    from oneclaw_core.home import find_home

    if more:
        raise UsageError(
            "a key is no argument, for other users and the shell's history see those: type it when asked, or pipe it "
            "in; if that was a real key, replace it with a new one"
        )
    config = _provider(name)
    key = check_key(_read_key(config.name))
    home = find_home()
    home.create()
    source = KeyStore(home, os.environ).set(config.name, key, in_file=in_file)
    print_text(f"the key of {config.name} is stored {_PLACES[source]}")
    _warn_of_environment(config.name)


@keys.command("list")
@json_option
def list_keys(as_json: bool) -> None:
    """List which providers have a key, and where it is from.

    Keys themselves are never shown.
    """
    catalog = load_catalog()
    store = KeyStore(catalog.home, os.environ)
    stored = store.stored()
    documents = [
        _document(name, store.source(name), stored.get(name))
        for name, config in provider_configs(catalog.states.settings, os.environ).items()
        if config.type != OFFLINE_TYPE
    ]
    known = {document["provider"] for document in documents}
    # A provider may be gone and its key still be there.
    documents += [_document(name, store.source(name), place) for name, place in stored.items() if name not in known]
    if as_json:
        print_json(documents)
        return
    rows = [(each["provider"], each["source"] or "none", each["key_variable"]) for each in documents]
    print_table(("provider", "key", "variable"), rows)
    for each in documents:
        if each["source"] == KeySource.ENVIRONMENT and each["stored"]:
            _warn_of_environment(each["provider"])


@keys.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove the stored key of the provider NAME."""
    from oneclaw_core.home import find_home

    store = KeyStore(find_home(), os.environ)
    stored = store.stored()
    if name not in stored:
        raise NotFoundError(f"no key is stored under that name; stored are those of: {', '.join(stored) or 'nobody'}")
    store.remove(name)
    print_text(f"the key of {name} is removed")
    if os.environ.get(key_variable_of(name)):
        warn(f"the environment variable {key_variable_of(name)} is set, and its key is still used")


def _provider(name: str) -> ProviderConfig:
    configs = provider_configs(load_catalog().states.settings, os.environ)
    config = configs.get(name)
    if config is None:
        # What was given may be a key, so it is not repeated.
        raise NotFoundError(f"there is no provider of that name; the providers are: {', '.join(configs)}")
    if config.type == OFFLINE_TYPE:
        raise UsageError(f"{name} needs no key")
    return config


def _read_key(provider: str) -> str:
    if is_terminal(sys.stdin):
        typed: str = click.prompt(f"Key of {provider} (not shown)", hide_input=True, err=True)
        return typed
    line = sys.stdin.buffer.readline(MAX_KEY_CHARACTERS + 3)
    return line.decode("utf-8", "replace")


def _warn_of_environment(provider: str) -> None:
    variable = key_variable_of(provider)
    if os.environ.get(variable):
        warn(f"the environment variable {variable} is set, and goes before the stored key as long as it is")


def _document(provider: str, source: KeySource | None, stored: KeySource | None) -> dict[str, Any]:
    return {
        "provider": provider,
        "source": source and str(source),
        "key_variable": key_variable_of(provider),
        "stored": stored and str(stored),
    }
