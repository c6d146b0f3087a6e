"""A plugin for tests of the fixtures: a tool that asks for a permission, one that fails, and one from the web."""

from oneclaw_core import ToolContext, ToolGroupDefinition, ToolResult, hookimpl, tool


@tool(group="greetings")
async def greet(who: str, context: ToolContext, politely: bool = False) -> str | ToolResult:
    """Greet somebody.

    Args:
        who: a name.
        politely: with a title, which the user has to allow.
    """
    if who == "nobody":
        return ToolResult.error("nobody_there", "There is no one: ask the user for a name.")
    if politely:
        await context.ask_permission("greetings.politeness", f"greet {who} politely")
    return f"Hello {who}"


@tool(group="greetings", timeout_seconds=1.5)
async def fetch_greeting(url: str, context: ToolContext) -> str:
    """Fetch a greeting from the web.

    Args:
        url: where it is.
    """
    answer = await context.http.get(url)
    answer.raise_for_status()
    return answer.text


@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("greetings", "Greetings", "Greet people by name; fetch a greeting from the web"))


@hookimpl
def register_tools(register):
    register(greet)
    register(fetch_greeting)
