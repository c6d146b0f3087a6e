"""`oneclaw config`: the settings. Works when a stored value does not fit, for it is how to repair that."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_json, print_listing, print_text, warn, warn_if_set
from oneclaw_core.cli.running import with_configuration
from oneclaw_core.config.setting_fields import variable_of

if TYPE_CHECKING:
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.config.settings import SettingState

_OVERRIDES = "and overrides the stored value as long as it is"


@click.group(cls=CommandGroup)
def config() -> None:
    """List settings and change them."""


@config.command("list")
@json_option
def list_settings(as_json: bool) -> None:
    """List all settings with their values and sources."""
    states = with_configuration(lambda changes: changes.settings.list(), is_read_only=True)
    columns = ("setting", "value", "default", "source", "description")
    print_listing(as_json, map(_record, states), columns, map(_row, states))
    for state in states:
        if state.problem is not None and not as_json:
            warn(state.problem)


@config.command("get")
@click.argument("key")
@json_option
def get(key: str, as_json: bool) -> None:
    """Show the value of a setting."""
    state = with_configuration(lambda changes: changes.settings.get(key), is_read_only=True)
    if as_json:
        print_json(_record(state))
    else:
        print_text(_shown(state.value))
    if state.problem is not None:
        warn(state.problem)


@config.command("set")
@click.argument("key")
@click.argument("value")
def set_setting(key: str, value: str) -> None:
    """Store a value for a setting."""

    async def change(changes: Configuration) -> Any:
        await changes.settings.set(key, value)
        return changes.settings.check(key, value)

    print_text(f"{key} is {_shown(with_configuration(change))}")
    warn_if_set(variable_of(key), _OVERRIDES)


@config.command("unset")
@click.argument("key")
def unset(key: str) -> None:
    """Reset a setting to its default."""
    was_set = with_configuration(lambda changes: changes.settings.unset(key))
    print_text(f"{key} is back to its default" if was_set else f"{key} was not set")
    warn_if_set(variable_of(key), _OVERRIDES)


def _record(state: SettingState) -> dict[str, Any]:
    """Return a setting as a JSON object, without what only set-up needs to know."""
    record = asdict(state)
    del record["is_secret"], record["setup_condition"]
    return record


def _row(state: SettingState) -> tuple[str, ...]:
    return state.key, _shown(state.value), _shown(state.default), state.source, state.description


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()  # as the user writes it
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict | list) for each in value)):
        return json.dumps(value, ensure_ascii=False)
    return (", ".join(str(each) for each in value) or "-") if isinstance(value, list) else str(value)
