"""Change models: more of `oneclaw models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli import print_text, warn_of_missing_prices, with_configuration

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


def _shown(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else str(value)
