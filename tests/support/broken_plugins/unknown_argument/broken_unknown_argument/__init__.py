"""Its hook wants something that no one gives it."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register, settings):
    pass
