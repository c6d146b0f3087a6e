"""What it registers is a text."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    register("look at me")
