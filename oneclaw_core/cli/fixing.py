"""`oneclaw doctor --fix`: say what can be done about findings, ask, do it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.output import is_terminal, print_error, print_text, printable_line, reserved_stdout
from oneclaw_core.cli.running import with_configuration, with_home
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from oneclaw_core.contract.checks import CheckFix


@dataclass(frozen=True, slots=True)
class LineFix:
    """Fix for a line of the doctor.

    Attributes:
        summary: one line that says what.
        apply: does it.
    """

    summary: str
    apply: Callable[[], object]


def close_to_others(path: Path, mode: int) -> LineFix:
    """Make the fix for a file or directory that is open to other users."""
    return LineFix(f"set the mode of {path} to {mode:o}, so that you alone can use it", lambda: path.chmod(mode))


def unset(key: str, summary: str) -> LineFix:
    """Make the fix that removes the stored value of a setting."""
    return LineFix(summary, lambda: with_configuration(lambda changes: changes.settings.unset(key)))


def of_plugin(plugin: str, fix: CheckFix | None) -> LineFix | None:
    """Make the fix that a plugin's check offers."""
    if fix is None:
        return None

    def apply() -> None:
        with reserved_stdout():
            with_home(lambda claw: claw.plugins.fix(plugin, fix))

    return LineFix(redact(fix.summary), apply)


def check_can_ask(*, says_yes: bool) -> None:
    """Refuse to fix anything where no one can agree."""
    if not says_yes and not is_terminal(sys.stdin):
        raise UsageError(
            "--fix asks before each change, and standard input is not a terminal: add --yes to agree to all"
        )


def apply_fixes(fixes: Iterable[tuple[str, LineFix]], *, says_yes: bool) -> int:
    """Ask for each fix, and apply those that the user agrees to.

    Returns:
        How many were applied.
    """
    count = 0
    for check, fix in fixes:
        print_text(f"{check}: {printable_line(fix.summary)}")
        if not says_yes and not click.confirm("Do that?", default=True, err=True):
            continue
        try:
            fix.apply()
        except (OneClawError, OSError) as error:
            print_error(f"that failed: {redact(str(error))}")
        else:
            count += 1
            print_text("done")
    return count
