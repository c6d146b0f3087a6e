"""`oneclaw plugins box` and `unbox`: run the tools of a plugin as an MCP server in the sandbox, and back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core import NotFoundError, OneClawError, UsageError, find_home
from oneclaw_core.cli import is_terminal, load_catalog, print_text
from oneclaw_core.process import choose_sandbox
from oneclaw_core.tools import make_private_directory
from oneclaw_devtools.fixed_names import BUILTIN_PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_core.cli import HomeCatalog
    from oneclaw_core.plugins import Plugin

_NEEDED = (BUILTIN_PLUGIN, "mcp")
_MAX_NAME_CHARACTERS = 24
_HOOKS = "register_"


@click.command("box", short_help="Run a plugin's tools in a sandbox.")
@click.argument("name")
@click.option("--read", "reads", multiple=True, metavar="PATH", help="A path that its tools read.")
@click.option("--write", "writes", multiple=True, metavar="DIRECTORY", help="A directory that its tools write to.")
@click.option(
    "--network",
    type=click.Choice(["all", "none"]),
    help="Its network access; by default all if a tool needs a permission for it.",
)
def box(name: str, reads: tuple[str, ...], writes: tuple[str, ...], network: str | None) -> None:
    """Run the tools of a plugin in a sandbox, as an MCP server with a separate home.

    The plugin is disabled in OneClaw itself, so nothing else of it runs: no hook, service or command. Its tools see the
    system, Python and the directories that you name, and no key or file of yours. 'oneclaw plugins unbox NAME' is the
    way back.
    """
    catalog = load_catalog(is_quiet=True)
    plugin = _boxable(catalog, name)
    if (chosen := choose_sandbox()).backend is None:
        raise OneClawError(f"a box would hold nothing: there is no sandbox here ({chosen.strength.reason})")
    folder = box_folder(plugin.name)
    if folder.exists():
        raise UsageError(f"{plugin.name} is in a box already; the way back: oneclaw plugins unbox {plugin.name}")
    left_out = sorted({*plugin.hooks, *(each.hook for each in plugin.registrations if each.hook.startswith(_HOOKS))})
    permissions = _permissions(catalog, plugin)
    network = network or ("all" if any(each.startswith("network.") for each in permissions) else "none")
    command = _server_command(plugin, permissions)
    make_private_directory(folder)
    try:
        _run("plugins", "disable", plugin.name)
        _run("mcp", "add", *_server_options(catalog, plugin, folder, reads, writes, network), "--", *command)
    except OneClawError:
        _run("plugins", "enable", plugin.name)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    print_text(f"the tools of {plugin.name} run in a box, in the tool group mcp_{server_name(plugin.name)}")
    if left_out:
        print_text(f"left out while it is in the box: {', '.join(left_out)}")


@click.command("unbox", short_help="Take a plugin out of its box.")
@click.argument("name")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
def unbox(name: str, is_confirmed: bool) -> None:
    """Take a plugin out of its box: its tools run in OneClaw's process again. What it stored in the box is removed."""
    folder = box_folder(name)
    if not folder.is_dir():
        raise NotFoundError(f"{name} is in no box")
    if not is_confirmed and is_terminal(sys.stdin):
        question = f"Run {name} in OneClaw's own process again, and remove what it stored in its box?"
        if not click.confirm(question, default=False, err=True):
            raise OneClawError("nothing was changed")
    _run("mcp", "remove", server_name(name))
    _run("plugins", "enable", name)
    shutil.rmtree(folder)
    print_text(f"{name} runs in OneClaw's process again")


def box_folder(plugin: str) -> Path:
    """Return the home of a plugin in its box."""
    if not re.fullmatch(r"[A-Za-z0-9_@.-]+", plugin) or plugin.startswith("."):
        raise UsageError(f"{plugin!r} is not a plugin's name: see oneclaw plugins list")
    return find_home().boxes / plugin


def server_name(plugin: str) -> str:
    """Return the name of the MCP server of a boxed plugin."""
    words = re.findall(r"[a-z0-9]+", plugin.lower())
    name = "_".join(words)[:_MAX_NAME_CHARACTERS].rstrip("_")
    return name if name[:1].isalpha() else f"box_{name}"[:_MAX_NAME_CHARACTERS].rstrip("_")


def _boxable(catalog: HomeCatalog, name: str) -> Plugin:
    plugin = next((each for each in catalog.plugins if each.name == name), None)
    if plugin is None:
        raise NotFoundError(f"no plugin {name!r} is installed; oneclaw plugins list shows all")
    if name in _NEEDED:
        raise UsageError(f"{name} is needed in every box, and cannot be in one")
    if not plugin.tools:
        raise UsageError(f"{name} has no tools that work, and only tools run in a box: {plugin.status}")
    return plugin


def _permissions(catalog: HomeCatalog, plugin: Plugin) -> list[str]:
    tools = [catalog.registry.get_tool(each) for each in plugin.tools]
    return sorted({each for tool in tools if tool is not None for each in tool.definition.required_permissions})


def _server_command(plugin: Plugin, permissions: Iterable[str]) -> list[str]:
    """Return the command that serves the tools of a plugin; the box holds what their permissions would."""
    allow = [part for each in permissions for part in ("--allow", each)]
    serve = ["mcp", "serve", "--groups", f"plugin:{plugin.name}", "--expose", "direct", *allow]
    return [sys.executable, "-P", "-m", "oneclaw_core", *serve]


def _server_options(
    catalog: HomeCatalog,
    plugin: Plugin,
    folder: Path,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    network: str,
) -> Iterator[str]:
    others = [each.name for each in catalog.plugins if each.name not in (*_NEEDED, plugin.name)]
    variables = {
        "ONECLAW_HOME": folder,
        "ONECLAW_DISABLED_PLUGINS": ",".join(others),
        "XDG_DATA_HOME": folder / "data",
        "XDG_CACHE_HOME": folder / "cache",
        **({"PYTHONPATH": os.environ["PYTHONPATH"]} if os.environ.get("PYTHONPATH") else {}),
    }
    yield server_name(plugin.name)
    for name, value in variables.items():
        yield from ("--env", f"{name}={value}")
    for directory in (str(folder), *writes):
        yield from ("--write", directory)
    for path in (*_python_paths(), *reads):
        yield from ("--read", path)
    yield from ("--network", network, "--description", f"The tools of the plugin {plugin.name}, in a box")


def _python_paths() -> Iterator[str]:
    """Yield what Python imports from beside its own installation, such as editable packages."""
    own = [Path(each).resolve() for each in (sys.prefix, sys.base_prefix)]
    home = Path.home().resolve()
    for each in dict.fromkeys(Path(path).resolve() for path in sys.path if path):
        is_own = any(each.is_relative_to(place) for place in own)
        if each.exists() and not is_own and not home.is_relative_to(each) and each.parent != each:
            yield str(each)


def _run(*arguments: str) -> None:
    """Run a command of OneClaw.

    Raises:
        OneClawError: it failed; what it printed says why.
    """
    command = [sys.executable, "-P", "-m", "oneclaw_core", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, env=dict(os.environ))  # noqa: S603
    if done.returncode:
        raise OneClawError(f"oneclaw {' '.join(arguments[:2])} failed; what it printed above says why")
