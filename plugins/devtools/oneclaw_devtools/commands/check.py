"""``oneclaw plugins check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli import json_option, print_json, print_table, print_text, printable_line, styled
from oneclaw_core.plugins import CONTRACT_VERSION
from oneclaw_devtools.conformance.finding import Severity

if TYPE_CHECKING:
    from oneclaw_devtools.conformance.finding import CheckedPlugin, Finding, Report

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


@click.command("check", short_help="Check a plugin, for its author.")
@click.argument("target", metavar="[NAME|PATH]", required=False)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--no-calls", is_flag=True, help="Do not call the tools.")
@click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="Grant a permission to the tools that are called, such as files.read; may be repeated.",
)
@json_option
@click.pass_context
def check(
    context: click.Context, target: str | None, strict: bool, no_calls: bool, allow: tuple[str, ...], as_json: bool
) -> None:
    """Check a plugin, for its author: an installed one, a project's directory, or a wheel.

    Without an argument it checks the project in the current directory. The plugin's code runs in separate processes,
    and its tools are called with unusual arguments in a temporary home. The exit status is 1 if there is an error.
    """
    from oneclaw_devtools.conformance.check import Options, check_plugin

    report = check_plugin(target, Options(allow=allow, are_tools_called=not no_calls))
    is_passed = report.is_passed(strict=strict)
    if as_json:
        print_json({**report.document(), "passed": is_passed})
    else:
        _print_report(report)
    context.exit(0 if is_passed else 1)


def _print_report(report: Report) -> None:
    for plugin in report.plugins:
        _print_plugin(report, plugin)
    for severity in Severity:
        found = [each for each in report.findings if each.severity is severity]
        if found:
            click.echo("\n" + styled(f"{severity.capitalize()}s", sys.stdout, fg=_COLOURS[severity], bold=True))
            for finding in found:
                _print_finding(finding)
    counts = ", ".join(_counted(report.count(severity), severity) for severity in Severity)
    print_text(f"\n{report.subject}: {counts}")
    grade = report.grade
    if grade is not None:
        print_text(f"grade: {grade.name or 'none'}" + (f"; for {grade.next}:" if grade.next else ""))
        for missing in grade.missing:
            print_text(f"  {missing}")


def _print_plugin(report: Report, plugin: CheckedPlugin) -> None:
    about = [f"{plugin.name}: {report.subject} ({plugin.target})"]
    if plugin.import_ms is not None:
        about.append(f"loaded in {plugin.import_ms:.0f} ms")
    if plugin.calls:
        about.append(_counted(plugin.calls, "call"))
    about.append(f"plugin contract {CONTRACT_VERSION}")
    click.echo(printable_line(", ".join(about)))
    if not plugin.tools:
        return
    groups = list(dict.fromkeys(tool.group for tool in plugin.tools))
    rows = [(tool.name, tool.group, tool.tokens) for group in groups for tool in plugin.tools if tool.group == group]
    click.echo()
    print_table(("tool", "group", "tokens"), rows)
    sums = [
        f"{group or 'no group, so in every request'}: "
        f"{sum(tool.tokens for tool in plugin.tools if tool.group == group):,} tokens"
        for group in groups
    ]
    print_text("\n" + "\n".join(sums))


def _print_finding(finding: Finding) -> None:
    name = styled(finding.check, sys.stdout, fg=_COLOURS[finding.severity])
    click.echo(f"  {name}  {printable_line(finding.where)}: {printable_line(finding.cause)}")
    click.echo(f"    what to do: {printable_line(finding.remedy)}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
