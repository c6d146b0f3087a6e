"""A question of a plugin to the user's default model, outside any conversation."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.json_schema.arguments import argument_faults, compile_schema
from oneclaw_core.sessions.for_plugins import session_info
from oneclaw_core.turn.spending import record_unstored
from oneclaw_core.turn.state import Ask, SessionState, TurnState, show_nothing
from oneclaw_core.turn.stream import Deadline
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import SpendingLimits, TurnBudget
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.turn.parts import TurnParts

_ATTEMPTS = 2


async def answer_plugin(parts: TurnParts, plugin: str, prompt: str, schema: Mapping[str, Any] | None) -> Any:
    """Ask the default model, and note its usage for a session of the plugin.

    See :meth:`oneclaw_core.PluginContext.ask_model`.
    """
    setup, request = await parts.store.turn_setup(None, None), TurnRequest()
    settings = parts.settings.read(setup.settings)
    agent, model = await parts.models.choose(setup, request)
    session = await parts.store.find_or_create_session(
        f"plugin {plugin}", agent=GENERAL_ASSISTANT.name, title=f"Requests of the plugin {plugin}"
    )
    spending = SpendingLimits(day_max_tokens=settings.day_max_tokens, day_max_cost=settings.day_max_cost)
    turn = TurnState(
        parts=parts,
        request=request,
        settings=settings,
        session=SessionState(info=session_info(session), agent=agent),
        model=model,
        budget=TurnBudget((spending,), 1),
        deadline=Deadline(settings.turn_deadline_seconds),
    )
    if schema is not None:
        prompt += "\n\nAnswer with JSON alone, which this JSON Schema describes:\n" + json.dumps(schema)
    question = ModelRequest(
        model=turn.model.info.name,
        system_prompt="",
        messages=(Message(type=MessageType.USER, content=prompt),),
        tools=ActiveTools(()),
        session_id=session.id,
    )
    fault = "it gave no answer"
    async with parts.providers.acquired(turn.model.provider), turn.model.fallback or nullcontext():
        for _ in range(_ATTEMPTS):
            try:
                answer = await parts.ask(Ask(turn, question, show_nothing, "question"))
            except UnfinishedAnswerError:
                continue
            await record_unstored(turn, answer)
            text = answer.response.text
            if not text.strip():
                continue
            if schema is None:
                return text
            value, fault = _json_in(text, schema)
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
