"""The type of a parameter is misspelled."""

from importlib.resources import files

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    register.manifest(files(__package__) / "things.json", module=f"{__package__}.tools")
