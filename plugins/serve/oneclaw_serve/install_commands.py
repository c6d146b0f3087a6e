"""``oneclaw serve install``, ``status`` and ``uninstall``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from oneclaw_core import CheckResult, Health, OneClawError
from oneclaw_core.cli import json_option, print_json, print_text, warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import PluginContext
    from oneclaw_serve.autostart.definition import Autostart, ServiceDefinition

_NOT_CARRIED = ("is_list", "as_json")


def definition_of(autostart: Autostart, platform: str = sys.platform) -> ServiceDefinition:
    """Return the definition for the service manager of a platform."""
    if platform == "darwin":
        from oneclaw_serve.autostart.launchd import LaunchdAgent

        return LaunchdAgent(autostart)
    from oneclaw_serve.autostart.systemd import SystemdUnit

    return SystemdUnit(autostart)


@click.command()
@click.option("--print", "is_shown", is_flag=True, help="Print the definition, and change nothing.")
@click.pass_context
def install(context: click.Context, is_shown: bool) -> None:
    """Start 'oneclaw serve' with the system from now on.

    It starts at each login: as a systemd user unit, on macOS as a launchd agent. All services run in it: scheduled
    tasks, channels, the web page, and the MCP gateway if mcp.gateway_port is set. Options of 'oneclaw serve' go before
    this command: oneclaw serve --port 8400 install.
    """
    from oneclaw_core import find_home
    from oneclaw_serve.autostart.definition import Autostart, variables_left_out

    definition = definition_of(Autostart.of(_options_of_serve(context)))
    if is_shown:
        print_text(definition.content().decode("utf-8", "replace").rstrip())
        return
    definition.check_program()
    find_home().create()
    is_changed = definition.write()
    print_text(f"{'wrote' if is_changed else 'nothing to change in'} {definition.path}")
    if not definition.is_tried:
        warn(f"a {definition.title} was checked against its format, and never tried on such a system")
    left_out = variables_left_out(os.environ)
    if left_out:
        warn(
            f"it does not see these variables of yours: {', '.join(left_out)}; store keys with 'oneclaw keys set', "
            "and settings with 'oneclaw config set'"
        )
    for line in definition.enable(is_changed=is_changed):
        print_text(line)
    print_text("it is installed: oneclaw serve status shows it, oneclaw serve link logs a browser in")


def _options_of_serve(context: click.Context) -> list[str]:
    """Return the options that stand between ``serve`` and this command."""
    serve = context.parent
    if serve is None:
        return []
    found: list[str] = []
    for each in serve.command.get_params(serve):
        name = each.name or ""
        if serve.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in _NOT_CARRIED:
            continue
        value = serve.params.get(name)
        for one in value if isinstance(value, tuple) else (value,):
            found += [each.opts[0]] if one is True else [each.opts[0], str(one)]
    return found


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show whether the system runs 'oneclaw serve', and from which file."""
    found = _status()
    if as_json:
        print_json(found)
        return
    if not found["installed"]:
        print_text("not installed; install it with: oneclaw serve install")
        return
    words = {True: "yes", False: "no", None: "unknown"}
    print_text(f"{found['kind']}: {found['path']}")
    print_text(f"starts with the system: {words[found['enabled']]}")
    print_text(f"runs: {words[found['running']]}")
    for line in (*found["faults"], *found["notes"]):
        print_text(line)


@click.command()
def uninstall() -> None:
    """Undo 'oneclaw serve install': stop the service and remove its file. The home stays."""
    from oneclaw_serve.autostart.definition import Autostart

    definition = definition_of(Autostart.of())
    if definition.installed() is None:
        print_text("nothing is installed")
        return
    definition.disable()
    try:
        definition.path.unlink()
    except OSError as error:
        raise OneClawError(f"{definition.path} cannot be removed: {error.strerror}") from None
    definition.removed()
    print_text(f"removed {definition.path}")


def _status() -> dict[str, Any]:
    from oneclaw_serve.autostart.definition import Autostart

    definition = definition_of(Autostart.of())
    content = definition.installed()
    if content is None:
        return {"kind": definition.title, "installed": False}
    state = definition.state()
    faults = []
    program = definition.program_of(content)
    if program is not None and not program.exists():
        faults.append(f"it names {program}, which is gone: run 'oneclaw serve install' again")
    if not definition.is_tried:
        faults.append(f"a {definition.title} was checked against its format, and never tried on such a system")
    return {
        "kind": definition.title,
        "installed": True,
        "path": str(definition.path),
        "enabled": state.is_enabled,
        "running": state.is_running,
        "faults": faults,
        "notes": [state.note] if state.note else [],
    }


def check_installed(context: PluginContext) -> Iterator[CheckResult]:
    """Check what ``oneclaw serve install`` left."""
    found = _status()
    if not found["installed"]:
        return
    remedy = "look at: oneclaw serve status"
    for each in found["faults"]:
        yield CheckResult(Health.WARNING, each, remedy)
    if found["running"] is False:
        yield CheckResult(Health.WARNING, f"{found['path']} is installed, and does not run", remedy)
    elif not found["faults"]:
        yield CheckResult(Health.OK, f"the system runs it by {found['path']}")
