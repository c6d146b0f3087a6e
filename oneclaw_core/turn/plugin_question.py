"""A question of a plugin to the user's default model, outside any conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.tools.arguments import argument_faults, compile_schema
from oneclaw_core.tools.toolset import ActiveTools
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.sessions.store import Store
    from oneclaw_core.turn.model import ModelCalls

_ATTEMPTS = 2


async def ask_model(
    store: Store, calls: ModelCalls, model: str, session_id: str, prompt: str, schema: Mapping[str, Any] | None = None
) -> Any:
    """Ask a model, and store what it used.

    Args:
        store: where usage is stored.
        calls: to the model.
        model: its name at its provider.
        session_id: the session that usage is stored for.
        prompt: the question.
        schema: JSON Schema of the answer; ``None`` for text.

    Returns:
        The answer's text; with a schema, the JSON data in it.

    Raises:
        ProviderError: the model could not be asked, or did not answer by the schema.
        SpendingLimitError: a limit of the day is reached.
    """
    if schema is not None:
        prompt += "\n\nAnswer with JSON alone, which this JSON Schema describes:\n" + json.dumps(schema)
    fault = "it gave no answer"
    for _ in range(_ATTEMPTS):
        message = Message(type=MessageType.USER, content=prompt)
        request = ModelRequest(
            model=model, system_prompt="", messages=(message,), tools=ActiveTools(()), session_id=session_id
        )
        response = await calls.ask(request)
        if response is None:
            continue
        record, _event = await calls.note(response.usage)
        await store.record_usage(session_id, record)
        if schema is None:
            return response.text
        value, fault = _json_in(response.text, schema)
        if not fault:
            return value
    raise ProviderError(f"the model did not answer as it was asked: {fault}")


def _json_in(text: str, schema: Mapping[str, Any]) -> tuple[Any, str]:
    text = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, f"its answer is not JSON: {error}"
    return value, " ".join(argument_faults(compile_schema(dict(schema)), value))
