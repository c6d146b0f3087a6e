"""Change models and their services: more of `oneclaw models` and `oneclaw providers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import (
    given_options,
    print_text,
    service_options,
    warn_of_environment,
    warn_of_missing_prices,
    with_configuration,
)

if TYPE_CHECKING:
    from oneclaw_core import Configuration

_PRICES = ("input_price", "cached_input_price", "output_price")


@click.command("add")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.option("--display-name", metavar="TEXT", help="The name that people see.")
def add_model(model: str, display_name: str | None) -> None:
    """Add a model that its service does not list."""
    with_configuration(lambda changes: changes.models.add(model, display_name))
    print_text(f"model {model} is added")


@click.command("remove")
@click.argument("model", metavar="PROVIDER/MODEL")
def remove_model(model: str) -> None:
    """Remove a model that was added."""
    with_configuration(lambda changes: changes.models.remove(model))
    print_text(f"model {model} is removed")


@click.command("set")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.argument("key")
@click.argument("value")
def set_override(model: str, key: str, value: str) -> None:
    """Set a property of a model.

    It overrides what the model's service says. KEY is context_window or max_output_tokens, in
    tokens; input_media_types, such as image,pdf or none; tool_loading, that is native, inline, append or dispatch;
    reasoning, that is off, low, medium or high;
    display_name; or input_price, cached_input_price or output_price, in US dollars for a million tokens.
    """

    async def say(changes: Configuration) -> tuple[Any, Any]:
        checked = await changes.models.say(model, key, value)
        return checked, await changes.models.said(model)

    checked, said = with_configuration(say)
    print_text(f"{key} of {model} is {_shown(checked)}")
    if key in _PRICES:
        warn_of_missing_prices(model, said)


@click.command("unset")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.argument("key", required=False)
def unset_override(model: str, key: str | None) -> None:
    """Remove what was set for a model, or only KEY.

    Learned facts about the model, such as refusals, are forgotten too.
    """
    with_configuration(lambda changes: changes.models.unsay(model, key))
    print_text(f"{key} of {model} is not set any more" if key else f"nothing is set for {model} any more")


@click.command("set")
@click.argument("name")
@service_options
def set_options(name: str, **options: Any) -> None:
    """Change how requests are sent to a model service.

    Built-in services can be changed, too.

    The value of a header is a secret: it is stored like a key, for the current server of the provider, and not shown.
    """
    given = given_options(**options)
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
        warn_of_environment(name)


def _shown(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else str(value)
