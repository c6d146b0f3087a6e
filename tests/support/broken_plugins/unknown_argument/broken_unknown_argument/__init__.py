"""Its hook wants something that nobody gives it."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register, settings):
    pass
