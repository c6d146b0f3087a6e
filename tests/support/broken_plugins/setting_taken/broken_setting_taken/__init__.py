"""Two of its settings have the same environment variable."""

from pydantic import BaseModel

from oneclaw_core import hookimpl


class Settings(BaseModel):
    units: str = ""
    UNITS: str = ""


@hookimpl
def register_settings(register):
    register(Settings)
