"""The tools of the group ``session``, as ``session.json`` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import NobodyToAskError, ToolContext, ToolResult, UsageError
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_agents.settings import AgentSettings
    from oneclaw_core import ChatCommandContext

TODOS = "todos"
_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_GO_ON = "Decide it yourself and say how you decided, or stop and say what you need to know."


async def ask_user(
    question: str, choices: Sequence[str] = (), only_choices: bool = False, *, context: ToolContext
) -> ToolResult:
    """Ask the user a question.

    Args:
        question: what to ask.
        choices: suggested answers.
        only_choices: True to take no other words.
        context: of the call.
    """
    settings: AgentSettings = context.plugin.settings
    seconds = settings.question_seconds
    try:
        answer = await context.ask_user(question, choices, allows_text=not only_choices, timeout_seconds=seconds)
    except UsageError as error:
        return ToolResult.error("validation_error", f"{error}.")
    except NobodyToAskError:
        return ToolResult.error("not_available", f"No person can be asked here. {_GO_ON}")
    except TimeoutError:
        return ToolResult.error("timeout", f"The user has not answered within {seconds} s. {_GO_ON}")
    if answer is None:
        return ToolResult.error("no_answer", f"The user gave no answer. {_GO_ON}")
    return ToolResult.success(answer)


async def update_todos(todos: Sequence[dict[str, str]] | None = None, *, context: ToolContext) -> ToolResult:
    """Replace the to-do list of the conversation, or return it.

    Args:
        todos: the whole list; ``None`` to leave it as it is.
        context: of the call.
    """
    if context.session_id is None:
        return ToolResult.error("not_available", "A to-do list belongs to a conversation, and there is none here.")
    storage = context.plugin.storage.of_session(context.session_id)
    if todos is None:
        return ToolResult.success(_as_text(await storage.get(TODOS, [])))
    kept = [{"content": one_line(each["content"], 500), "status": each["status"]} for each in todos]
    if kept:
        await storage.set(TODOS, kept)
    else:
        await storage.delete(TODOS)
    done = sum(each["status"] == "completed" for each in kept)
    return ToolResult.success(f"The list is kept: {done} of {len(kept)} done.", shown=_as_text(kept))


async def show_todos(context: ChatCommandContext, rest: str) -> str:
    """Show the to-do list of the conversation in a chat."""
    if context.session is None:
        return _as_text([])
    return _as_text(await context.storage.of_session(context.session.id).get(TODOS, []))


def _as_text(todos: Sequence[dict[str, Any]]) -> str:
    if not todos:
        return "The to-do list is empty."
    return "\n".join(f"{_SIGNS.get(each['status'], '[ ]')} {each['content']}" for each in todos)
