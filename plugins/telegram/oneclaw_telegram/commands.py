"""``oneclaw telegram``: the people who are paired with the bot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import click

from oneclaw_core import CheckResult, Health, NotFoundError
from oneclaw_core.cli import json_option, print_json, print_table, print_text, printable, run_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from oneclaw_channels import Pairing

    from oneclaw_core import PluginContext

    Value = TypeVar("Value")

_CHANNEL = "telegram"


@click.group()
def telegram() -> None:
    """Pair people with the Telegram bot, and unpair them.

    The bot runs in 'oneclaw serve'. Its token is set by 'oneclaw keys set telegram.token'.
    """


@telegram.command()
def pair() -> None:
    """Show a code that pairs the person who sends it to the bot.

    It is valid once, and for ten minutes.

    A paired person can have the agent do what you can. An earlier code is void.
    """
    code = _with_pairing(lambda pairing: pairing.new_code())
    print_text(f"Send this to your bot in Telegram within 10 minutes, while oneclaw serve runs:\n\n    /start {code}\n")


@telegram.command()
@json_option
def people(as_json: bool) -> None:
    """List the people who are paired."""
    found = _with_pairing(lambda pairing: pairing.people())
    documents = [
        {"id": each.id, "name": each.name, "paired_at": datetime.fromtimestamp(each.paired_at, UTC).isoformat()}
        for each in found
    ]
    if as_json:
        print_json(documents)
    else:
        print_table(
            ("id", "name", "paired at"), [tuple(printable(text) for text in each.values()) for each in documents]
        )


@telegram.command()
@click.argument("person")
def unpair(person: str) -> None:
    """Stop listening to a person.

    The id is one that 'oneclaw telegram people' lists.
    """
    if not _with_pairing(lambda pairing: pairing.remove(person)):
        raise NotFoundError(f"no person {person[:50]!r} is paired: oneclaw telegram people")
    print_text(f"{printable(person)} is not heard any more")


def _with_pairing(work: Callable[[Pairing], Awaitable[Value]]) -> Value:
    from oneclaw_channels import Pairing

    from oneclaw_core import OneClaw

    async def run() -> Value:
        async with OneClaw.open() as app:
            return await work(await Pairing.open(app, _CHANNEL))

    return run_async(run())


def check_bot(context: PluginContext) -> Iterator[CheckResult]:
    """Check that the bot has a token."""
    if context.settings.token.get_secret_value():
        yield CheckResult(Health.OK, "the bot has a token; it runs in: oneclaw serve")
