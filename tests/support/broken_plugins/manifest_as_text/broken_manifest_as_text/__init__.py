"""It names its manifest with a text."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    register.manifest("things.json")
