"""The question before something is deleted that cannot be had back."""

from __future__ import annotations

import sys

import click

from oneclaw_core.cli.output import is_terminal
from oneclaw_core.errors import OneClawError, UsageError

yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
"""Gives a command the parameter ``is_confirmed``."""


def confirm(verb: str, what: str, question: str) -> None:
    """Ask whether something may be done; Enter means no.

    Args:
        verb: ``delete`` or ``remove``.
        what: names the thing, for someone who cannot be asked.
        question: made printable already.

    Raises:
        UsageError: standard input is not a terminal.
        OneClawError: the user does not want it.
    """
    if not is_terminal(sys.stdin):
        raise UsageError(f"no one can be asked here whether to {verb} {what}: add --yes")
    if not click.confirm(question, err=True):
        raise OneClawError(f"nothing was {verb}d")
