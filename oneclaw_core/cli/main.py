"""The program ``oneclaw``: its commands and its handling of errors.

A command's module is imported when the command is used, so that each starts as fast as its own imports allow.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.log import HomeLog, logging_to_home
from oneclaw_core.cli.output import has_no_room, is_terminal, print_error, print_text
from oneclaw_core.errors import OneClawError, describe_error
from oneclaw_core.plugins.look_here import LOOKS_HERE
from oneclaw_core.system.home import NO_USER_DIRECTORY, PROFILE_VARIABLE, check_profile_name, has_user_directory
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.plugins.plugin import Plugin

INTERRUPTED_STATUS = 130
_SETUP = "setup"
_OBJECTS_PER_COLLECTION = 10_000
# Where it is noted that the program was started without a command.
_IS_BARE = f"{__name__}.bare"


class BuiltinCommand(NamedTuple):
    """A command that is imported when it is used.

    Attributes:
        target: ``module:attribute`` of the click command, below ``oneclaw_core.cli``.
        summary: its line in ``oneclaw --help``.
    """

    target: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(f"oneclaw_core.cli.{module}"), attribute)
        assert isinstance(command, click.Command), self.target
        return command


BUILTIN_COMMANDS = {
    "run": BuiltinCommand("run:run", "Send one message and print the answer."),
    "serve": BuiltinCommand("serve:serve", "Run services: the web page, scheduled tasks, messengers."),
    "call": BuiltinCommand("run:call", "Run one tool and print its result."),
    "tools": BuiltinCommand("tools:tools", "List the tools, enable and disable them."),
    "groups": BuiltinCommand("tools:groups", "List the tool groups."),
    "plugins": BuiltinCommand("plugins:plugins", "List, install, make and check plugins."),
    "sessions": BuiltinCommand("sessions:sessions", "List, show, rename, branch and delete sessions."),
    "agents": BuiltinCommand("agents:agents", "List, show, make, change and delete agents."),
    "providers": BuiltinCommand("providers:providers", "List, add and remove model services."),
    "models": BuiltinCommand("models:models", "List models, and choose the default."),
    "keys": BuiltinCommand("keys:keys", "Store the keys of model services and the secrets of plugins."),
    "permissions": BuiltinCommand("permissions:permissions", "Grant and deny what tools may do."),
    "trust": BuiltinCommand("trust:trust", "Trust the directory of a project."),
    "config": BuiltinCommand("config:config", "Show and change settings."),
    "doctor": BuiltinCommand("doctor:doctor", "Check the installation and say how to fix problems."),
}


class CommandLine(CommandGroup):
    """The built-in commands, imported when used, and those of plugins, loaded when one is asked for."""

    def __init__(self, **attributes: Any) -> None:
        stand_ins = {name: click.Command(name, short_help=each.summary) for name, each in BUILTIN_COMMANDS.items()}
        super().__init__(name="oneclaw", commands=stand_ins, **attributes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; ``None`` if there is none of that name."""
        builtin = BUILTIN_COMMANDS.get(cmd_name)
        return super().get_command(ctx, cmd_name) if builtin is None else builtin.load()

    def own_commands(self) -> dict[str, click.Command]:
        """Return the built-in commands in the order of their listing."""
        return dict(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options; without a command, a terminal gets the chat."""
        if _names_no_command(args) and not ctx.resilient_parsing and is_terminal(sys.stdin) and is_terminal(sys.stdout):
            ctx.meta[_IS_BARE] = True
            args = [*args, "chat"]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        """Run the chosen command; what it returns is not an exit status."""
        try:
            if ctx.meta.get(_IS_BARE):
                _offer_setup(self, ctx)
            super().invoke(ctx)
        except KeyboardInterrupt:
            # click would say "Aborted!".
            ctx.exit(INTERRUPTED_STATUS)


def check_commands(record: Plugin) -> None:
    """Report the commands and chat commands of a plugin whose names are those of OneClaw's own."""
    from oneclaw_core.channels.commands import OWN_COMMANDS, plugin_chat_commands
    from oneclaw_core.cli.command_group import plugin_commands
    from oneclaw_core.plugins.plugin import COMMAND_GROUPS

    plugin_chat_commands([record], OWN_COMMANDS)
    plugin_commands([record], taken=BUILTIN_COMMANDS)
    for parent in COMMAND_GROUPS & {each.options.get("parent") for each in record.registrations}:
        group = BUILTIN_COMMANDS[parent].load()
        assert isinstance(group, CommandGroup)
        plugin_commands([record], parent=parent, taken=group.own_names())


def command_line() -> CommandLine:
    """Make the program's command line; each one loads the commands of plugins anew."""
    line = CommandLine(
        help="Tool-using AI agents whose tools come from plugins and are loaded on demand.",
        epilog="'oneclaw setup' chooses a model, and 'oneclaw' alone opens the chat. 'oneclaw COMMAND --help' explains "
        "a command.",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
    )
    profile = click.option(
        "--profile",
        metavar="NAME",
        expose_value=False,
        is_eager=True,
        callback=_use_profile,
        help="Use the home of a profile, with sessions, keys and settings.",
    )
    return click.version_option(__version__, prog_name="oneclaw", message="%(prog)s %(version)s")(profile(line))


def _offer_setup(program: click.Group, context: click.Context) -> None:
    """Ask whether to set up a model if none is chosen and no chat was held yet; run the plugin's command for it."""
    from oneclaw_core.cli.catalog import load_catalog

    if not _is_first_run(load_catalog(is_quiet=True)) or _SETUP not in program.list_commands(context):
        return
    print_text("Welcome to OneClaw. No model is set up yet; until one is, a small stand-in follows rules.")
    if not click.confirm("Set up a model now?", default=True):
        print_text("Later, this does it: oneclaw setup\n")
        return
    command = program.get_command(context, _SETUP)
    assert command is not None
    with command.make_context(_SETUP, [], parent=context) as setup:
        command.invoke(setup)
    print_text("")


def _is_first_run(catalog: HomeCatalog) -> bool:
    from oneclaw_core.config.providers import PROVIDER_SETTING, default_model

    settings = catalog.states.settings
    is_chosen = default_model(settings, os.environ)[1] != "default"
    has_own = any(key.startswith(PROVIDER_SETTING) for key in settings)
    return not is_chosen and not has_own and catalog.states_error is None and not catalog.home.chat_history.exists()


def _use_profile(ctx: click.Context, option: click.Parameter, name: str | None) -> None:
    """Choose the home of this run of the program, and of the processes that it starts."""
    if name is None:
        return
    check_profile_name(name)
    before = os.environ.get(PROFILE_VARIABLE, "")
    os.environ[PROFILE_VARIABLE] = name
    ctx.call_on_close(lambda: os.environ.update({PROFILE_VARIABLE: before}))


def _names_no_command(args: list[str]) -> bool:
    """Return True if there is nothing but the choice of a profile."""
    match args:
        case [] | ["--profile", _]:
            return True
        case [only]:
            return only.startswith("--profile=")
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Returns:
        The exit status: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted.
    """
    _collect_garbage_rarely()
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # An answer that the terminal's encoding cannot show is shown in part rather than not at all.
            reconfigure(errors="backslashreplace")
    # A server that runs for days has a subprocess look at new plugins; all else does not wait for one.
    token = LOOKS_HERE.set("serve" not in (sys.argv[1:] if arguments is None else arguments))
    with logging_to_home() as log:
        try:
            status = _run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_stdout()
            return 1
        except KeyboardInterrupt:
            return INTERRUPTED_STATUS
        except Exception as error:  # noqa: BLE001  # the last resort: no traceback reaches the terminal
            if has_no_room(error):
                print_error(f"not all could be written: {error}; make room on the disk, and try again")
                _leave_stdout()
            elif isinstance(error, RuntimeError) and not has_user_directory():
                print_error(NO_USER_DIRECTORY)  # pathlib's error
            else:
                _report_unexpected(error, log)
            return 1
        finally:
            LOOKS_HERE.reset(token)
        return status


def _run(arguments: Sequence[str] | None) -> int:
    try:
        status = _run_command(arguments)
    except OneClawError as error:
        print_error(str(error))
        return error.exit_status
    except click.Abort:
        return INTERRUPTED_STATUS
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return status if isinstance(status, int) else 0


def _run_command(arguments: Sequence[str] | None) -> Any:
    try:
        return command_line().main(arguments, prog_name="oneclaw", standalone_mode=False)
    except click.NoSuchOption as error:
        from oneclaw_core.cli.minus_values import arguments_with_values, with_hint

        again = arguments_with_values(error, sys.argv[1:] if arguments is None else arguments)
        if again is None:
            raise with_hint(error) from None
    return command_line().main(again, prog_name="oneclaw", standalone_mode=False)


def _report_unexpected(error: Exception, log: HomeLog) -> None:
    logging.getLogger("oneclaw.cli").error("unexpected %s", type(error).__name__, exc_info=error)
    where = f"the traceback is in {log.path}" if log.works else "the log could not be written"
    print_error(f"unexpected {describe_error(error)}; {where}")


def _collect_garbage_rarely() -> None:
    """Spare a program of many modules a quarter of its time: what importing makes is no garbage.

    Python looks for some after every 700 objects, and through all modules at the end, when the system takes everything
    back anyway.
    """
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    atexit.register(gc.freeze)


def _replace_closed_streams() -> None:
    """Replace streams that are closed at the start, so that no file that is opened takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # until the end


def _leave_stdout() -> None:
    """Let nothing be written any more, so that Python does not complain when it flushes stdout at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # stays open until the program ends
    finally:
        os.close(devnull)
