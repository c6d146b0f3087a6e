"""Its hook forgets to register."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    return
