"""Its hook waits for something that never comes."""

from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    __import__("time").sleep(3600)
