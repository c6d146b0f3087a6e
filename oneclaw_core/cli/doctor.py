"""`oneclaw doctor`: show what the checks of an installation found, and with `--fix` do what can be done about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.checks import CheckLine, examine_all
from oneclaw_core.cli.output import (
    is_terminal,
    json_option,
    print_error,
    print_json,
    print_text,
    printable_line,
    styled,
)
from oneclaw_core.contract.checks import Health
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable


_COLOURS = {Health.OK: "green", Health.WARNING: "yellow", Health.PROBLEM: "red"}


@click.command()
@json_option
@click.option("--fix", "fixes", is_flag=True, help="Offer to fix what can be fixed, and check again.")
@click.option("--yes", "says_yes", is_flag=True, help="With --fix, fix everything without asking.")
@click.pass_context
def doctor(context: click.Context, as_json: bool, fixes: bool, says_yes: bool) -> None:
    """Check the installation, and say how to fix problems.

    The exit status is 1 if there is a problem; warnings do not count.
    """
    if fixes and as_json:
        raise UsageError("--fix asks questions: it cannot be used with --json")
    if fixes and not says_yes and not is_terminal(sys.stdin):
        raise UsageError(
            "--fix asks before each change, and standard input is not a terminal: add --yes to agree to all"
        )
    lines = examine_all()
    if as_json:
        print_json({"status": str(_worst(lines)), "checks": [_document(each) for each in lines]})
    else:
        _print_lines(lines)
    if fixes and not any(each.fix for each in lines):
        print_text("\nthere is nothing that OneClaw can fix by itself")
    elif fixes and _apply_fixes(lines, says_yes=says_yes):
        print_text("\nchecked again:")
        lines = examine_all()
        _print_lines(lines)
    context.exit(1 if _worst(lines) is Health.PROBLEM else 0)


def _worst(lines: Iterable[CheckLine]) -> Health:
    return max((each.status for each in lines), key=list(Health).index, default=Health.OK)


def _document(line: CheckLine) -> dict[str, str | None]:
    return {
        "check": line.check,
        "status": str(line.status),
        "message": line.message,
        "remedy": line.remedy,
        "fix": None if line.fix is None else line.fix.summary,
    }


def _print_lines(lines: list[CheckLine]) -> None:
    width = max(len(each.check) for each in lines)
    for each in lines:
        status = styled(f"{each.status:<7}", sys.stdout, fg=_COLOURS[each.status])
        click.echo(f"{status}  {printable_line(each.check).ljust(width)}  {printable_line(each.message)}")
        if each.remedy is not None:
            how = "; or oneclaw doctor --fix" if each.fix is not None else ""
            click.echo(f"{'':{width + 11}}what to do: {printable_line(each.remedy)}{how}")
    print_text(f"\n{_counted(lines, Health.PROBLEM)}, {_counted(lines, Health.WARNING)}")


def _counted(lines: Iterable[CheckLine], status: Health) -> str:
    count = sum(each.status is status for each in lines)
    return f"{count} {status}" if count == 1 else f"{count} {status}s"


def _apply_fixes(lines: Iterable[CheckLine], *, says_yes: bool) -> int:
    """Ask for each fix, and apply those that the user agrees to; return how many were applied."""
    count = 0
    for check, fix in [(each.check, each.fix) for each in lines if each.fix is not None]:
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
