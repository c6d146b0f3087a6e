"""Its hook is an async function."""

from oneclaw_core import hookimpl


@hookimpl
async def register_tools(register):
    pass
