"""Its tools are in no group, so that every request carries them."""

from importlib.resources import files

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    for number in range(8):
        register.manifest(files(__package__) / f"thing_lookup_{number}.json", module=f"{__package__}.tools")
