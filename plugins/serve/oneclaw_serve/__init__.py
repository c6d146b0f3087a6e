"""A web page and an HTTP API for OneClaw, as a service of ``oneclaw serve``; imports its libraries when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CheckRegistrar, CommandRegistrar, ServiceRegistrar, SettingsRegistrar


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the settings of the server."""
    register("oneclaw_serve.settings:ServeSettings")


@hookimpl
def register_services(register: ServiceRegistrar) -> None:
    """Run the server in ``oneclaw serve``."""
    register("web", "oneclaw_serve.service:run_web", help="serves the web page and the HTTP API", grace_seconds=5)


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add the options and commands of the server to ``oneclaw serve``."""
    register.option("--host", help="Listen at this address of the machine.", default="127.0.0.1")
    register.option(
        "--port", help="Listen at this port; 0 for any free one.", type=int, default=8311, minimum=0, maximum=65_535
    )
    register("link", "oneclaw_serve.commands:link", help="Print a link that logs one browser in.", parent="serve")
    register(
        "install",
        "oneclaw_serve.install_commands:install",
        help="Start this with the system from now on.",
        parent="serve",
    )
    register("status", "oneclaw_serve.install_commands:status", help="Show whether the system runs it.", parent="serve")
    register("uninstall", "oneclaw_serve.install_commands:uninstall", help="Undo the installation.", parent="serve")
    register("token", "oneclaw_serve.commands:token", help="Manage the tokens of programs.", parent="serve")


@hookimpl
def register_checks(register: CheckRegistrar) -> None:
    """Have ``oneclaw doctor`` look at what ``oneclaw serve install`` left."""
    register("serve", "oneclaw_serve.install_commands:check_installed")
