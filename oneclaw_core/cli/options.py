"""The options that the commands about a conversation share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")

_SESSION = click.option(
    "--session", metavar="NAME", help="The session to go on with, by name or id; a new name begins one."
)
_STORED_SESSION = click.option(
    "--session", metavar="NAME", help="A stored session, by name or id; by default a new one."
)
_AGENT = click.option("--agent", metavar="NAME", help="The agent; by default the session's.")
_MODEL = click.option("--model", metavar="PROVIDER/MODEL", help="The model; by default the session's.")

allow_option = click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="Grant a permission for this run, such as 'shell.execute:git *'; may be repeated.",
)
"""Gives a command the parameter ``allow``."""

attach_option = click.option(
    "--attach",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Send an image or a PDF file with the message; may be repeated.",
)
"""Gives a command the parameter ``attach``."""


def conversation_options(command: Decorated) -> Decorated:
    """Give a command the parameters ``session``, ``agent`` and ``model``."""
    return _SESSION(_AGENT(_MODEL(command)))


def stored_conversation_options(command: Decorated) -> Decorated:
    """The same for a command that begins no session."""
    return _STORED_SESSION(_AGENT(_MODEL(command)))
