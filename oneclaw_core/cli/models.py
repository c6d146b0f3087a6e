"""`oneclaw models`: the models that services offer, what is known about them, and the one that is used by default."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_json, print_listing, print_text, warn, warn_if_set
from oneclaw_core.cli.running import with_configuration
from oneclaw_core.config.providers import MODEL_VARIABLE, Providers, default_model
from oneclaw_core.errors import ProviderError, UsageError

if TYPE_CHECKING:
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.config.model_overrides import ModelOverrides
    from oneclaw_core.config.model_service import Answer, ModelState

_CHECK_SECONDS = 5


@click.group(cls=CommandGroup)
def models() -> None:
    """List, add and configure models, and choose the default."""


@models.command("list")
@click.argument("provider", required=False)
@click.option("--refresh", is_flag=True, help="Ask all services, ignoring cached lists.")
@json_option
def list_models(provider: str | None, refresh: bool, as_json: bool) -> None:
    """List the models that PROVIDER, or every provider, offers.

    Lists are cached for 24 hours; services on this machine are always asked.
    """
    states, answers = with_configuration(
        lambda changes: changes.models.list(provider, is_refreshed=refresh), is_read_only=True
    )
    _report_problems(answers, is_only_one=provider is not None)
    columns: tuple[str, ...] = ("model", "context window", "longest answer", "takes", "set by you")
    has_chains = any(state.info.models for state in states)
    if has_chains:
        columns = (*columns, "asks, in this order")
    rows = ((*_row(state), *([", ".join(state.info.models)] if has_chains else [])) for state in states)
    print_listing(as_json, (state.document() for state in states), columns, rows)
    for state in states:
        warn_of_missing_prices(state.full_name, state.overrides)


@models.command("default")
@click.argument("model", required=False, metavar="[PROVIDER/MODEL]")
@json_option
def default(model: str | None, as_json: bool) -> None:
    """Show or choose the model that is used if none is named."""
    if model is not None:
        _choose(model, as_json)
    else:
        _show(as_json)


def _show(as_json: bool) -> None:
    from oneclaw_core.cli.catalog import load_catalog

    catalog = load_catalog()
    stored = catalog.states.settings
    model, source = default_model(stored, os.environ)
    if as_json:
        print_json({"model": model, "source": source})
    else:
        print_text(f"{model} ({source})")
    try:
        Providers(stored, os.environ, catalog.known_providers).split(model)
    except UsageError as error:
        warn(str(error))


def _choose(model: str, as_json: bool) -> None:
    async def choose(changes: Configuration) -> tuple[str, Answer]:
        checked = await changes.models.set_default(model)
        provider = checked.partition("/")[0]
        (answer,) = await changes.models.answers([provider], seconds=_CHECK_SECONDS)
        return checked, answer

    checked, answer = with_configuration(choose)
    _warn_if_not_offered(answer, checked.partition("/")[2])
    if as_json:
        print_json({"model": checked, "source": "stored"})
    else:
        print_text(f"the default model is {checked}")
    warn_if_set(MODEL_VARIABLE, "and overrides this as long as it is")


def _warn_if_not_offered(answer: Answer, name: str) -> None:
    """Warn of a likely slip of the pen; not every service lists all that it offers, or can be reached now."""
    from difflib import get_close_matches

    if answer.wants_key and answer.problem is not None:
        warn(answer.problem)
    offered = [model.name for model in answer.models.models] if answer.models is not None else []
    if not offered or name in offered:
        return
    provider = answer.config.name
    close = get_close_matches(name, offered)
    hint = f"did you mean {' or '.join(close)}?" if close else f"see: oneclaw models list {provider}"
    warn(f"{provider} does not list a model {name!r}; {hint}")


def _report_problems(answers: list[Answer], *, is_only_one: bool) -> None:
    for answer in answers:
        if answer.problem is None:
            continue
        if answer.models is not None:
            warn(f"{answer.problem} (shown is its list of {_age(answer.models.fetched_at)} ago)")
        elif is_only_one:
            raise ProviderError(answer.problem)
        elif not answer.wants_key:
            warn(answer.problem)
    keyless = [answer.config.name for answer in answers if answer.wants_key and answer.models is None]
    if keyless:
        warn(f"not asked, because they have no key: {', '.join(keyless)}; set one with: oneclaw keys set NAME")


def _age(moment: float) -> str:
    """Say how long ago a moment is, such as ``3 hours``."""
    seconds = max(time.time() - moment, 0)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "a moment"


def warn_of_missing_prices(model: str, said: ModelOverrides) -> None:
    """Say that prices do not count of which one is missing: half a price would make costs look too low."""
    if said.missing_prices:
        commands = " and ".join(f"oneclaw models set {model} {name} DOLLARS" for name in said.missing_prices)
        warn(f"the prices that are set for {model} do not count until all are: {commands}")


def _row(state: ModelState) -> tuple[object, ...]:
    from oneclaw_core.models.attachments import media_type_names

    media_types = state.info.input_media_types
    takes = "" if media_types is None else media_type_names(media_types) or "text only"
    return (
        state.full_name,
        state.info.context_window,
        state.info.max_output_tokens,
        takes,
        ", ".join(state.overrides.document()),
    )
