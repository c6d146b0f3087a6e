"""Its hook raises an exception."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    raise RuntimeError("the catalogue is empty")
