"""Its hook ends the process at once."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    __import__("os")._exit(3)
