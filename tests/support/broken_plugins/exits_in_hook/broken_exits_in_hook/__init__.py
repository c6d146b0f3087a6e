"""Its hook ends the program."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    raise SystemExit(3)
