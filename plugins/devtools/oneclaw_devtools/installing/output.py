"""The output of the commands that install plugins: progress on stderr, failures at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, redact
from oneclaw_core.cli import printable, warn
from oneclaw_devtools.installing.requirement import without_credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

# pip prints this for everything that OneClaw itself requires.
_NOT_WORTH_SHOWING = "Requirement already satisfied:"


def show(line: str) -> None:
    """Print progress on stderr; stdout is for the outcome."""
    if not line.startswith(_NOT_WORTH_SHOWING):
        click.echo(f"  {printable(redact(without_credentials(line.rstrip())))}", err=True)


def fail(failures: Sequence[str]) -> None:
    """Print failures.

    Raises:
        OneClawError: the last one, if there are any.
    """
    for failure in failures[:-1]:
        warn(failure)
    if failures:
        raise OneClawError(failures[-1])
