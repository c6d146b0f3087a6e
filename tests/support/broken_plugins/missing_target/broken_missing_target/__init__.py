"""The module of its command is not there."""

from oneclaw_core import hookimpl


@hookimpl
def register_commands(register):
    register("things", "broken_missing_target.commands:things", help="List things.")
