"""`oneclaw doctor`: is everything as it should be, and what to do if not."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.checks import (
    CheckLine,
    check_by_plugins,
    check_database,
    check_home,
    check_keys,
    check_log,
    check_model,
    check_package,
    check_plugins,
    check_python,
    check_settings,
    check_tools,
    examine,
)
from oneclaw_core.cli.output import json_option, print_json, print_text, printable_line, styled
from oneclaw_core.plugins.contract.checks import Health

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneclaw_core.cli.catalog import HomeCatalog

_COLOURS = {Health.OK: "green", Health.WARNING: "yellow", Health.PROBLEM: "red"}


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check the installation, and say what to do about what is wrong.

    The exit status is 1 if there is a problem; warnings alone are none.
    """
    findings = [*examine("python", check_python), *examine("oneclaw", check_package), *_check_home_and_plugins()]
    if as_json:
        _print_json(findings)
    else:
        _print_lines(findings)
    context.exit(1 if _worst(findings) is Health.PROBLEM else 0)


def _check_home_and_plugins() -> list[CheckLine]:
    from oneclaw_core.config.home import find_home

    home = find_home()
    findings = [*examine("home", partial(check_home, home)), *examine("database", partial(check_database, home))]
    findings += examine("keys", partial(check_keys, home))
    catalogs: list[HomeCatalog] = []

    def load() -> Iterable[CheckLine]:
        from oneclaw_core.cli.catalog import load_catalog

        catalogs.append(load_catalog(is_quiet=True))
        return ()

    findings += examine("plugins", load)
    checks: dict[str, Callable[[HomeCatalog], Iterable[CheckLine]]] = {
        "settings": check_settings,
        "model": check_model,
        "plugins": check_plugins,
        "tools": check_tools,
    }
    for catalog in catalogs:
        for name, check in checks.items():
            findings += examine(name, partial(check, catalog))
        findings += examine("plugins", partial(check_by_plugins, catalog))
    return [*findings, *examine("log", partial(check_log, home))]


def _worst(findings: Iterable[CheckLine]) -> Health:
    return max((finding.status for finding in findings), key=list(Health).index, default=Health.OK)


def _print_json(findings: list[CheckLine]) -> None:
    print_json(
        {
            "status": str(_worst(findings)),
            "checks": [
                {
                    "check": finding.check,
                    "status": str(finding.status),
                    "message": finding.message,
                    "remedy": finding.remedy,
                }
                for finding in findings
            ],
        }
    )


def _print_lines(findings: list[CheckLine]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        status = styled(f"{finding.status:<7}", sys.stdout, fg=_COLOURS[finding.status])
        click.echo(f"{status}  {printable_line(finding.check).ljust(width)}  {printable_line(finding.message)}")
        if finding.remedy is not None:
            click.echo(f"{'':{width + 11}}what to do: {printable_line(finding.remedy)}")
    print_text(f"\n{_counted(findings, Health.PROBLEM)}, {_counted(findings, Health.WARNING)}")


def _counted(findings: Iterable[CheckLine], status: Health) -> str:
    count = sum(finding.status is status for finding in findings)
    return f"{count} {status}" if count == 1 else f"{count} {status}s"
