"""A question of a plugin to the user's default model, outside any conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.outputs.form import OutputFaults, OutputForm
from oneclaw_core.outputs.turn_output import output_mode, with_instruction
from oneclaw_core.sessions.for_plugins import session_info
from oneclaw_core.turn.state import Ask, SessionState, TurnState, show_nothing
from oneclaw_core.turn.steps import record_unstored
from oneclaw_core.turn.stream import Deadline
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import SpendingLimits, TurnBudget
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ModelRequest, Output
from oneclaw_core.types.tool_groups import ActiveTools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.turn.state import TurnParts

_ATTEMPTS = 2


async def answer_plugin(parts: TurnParts, plugin: str, prompt: str, schema: Mapping[str, Any] | None) -> Any:
    """Ask the default model, and note its usage for a session of the plugin.

    See :meth:`oneclaw_core.PluginContext.ask_model`.
    """
    setup, request = await parts.store.turn_setup(None, None), TurnRequest()
    settings = parts.choices.read(setup)
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
    question = ModelRequest(
        model=turn.model.info.name,
        system_prompt="",
        messages=(Message(type=MessageType.USER, content=prompt),),
        tools=ActiveTools(()),
        session_id=session.id,
    )
    form = None if schema is None else OutputForm.of(Output(schema, name="answer"))
    fault = "it gave no answer"
    async with parts.models.held(turn.model):
        for _ in range(_ATTEMPTS):
            asked = question if form is None else _asked(question, form, turn)
            try:
                answer = await parts.ask(Ask(turn, asked, show_nothing, "question"))
            except UnfinishedAnswerError:
                continue
            await record_unstored(turn, answer)
            text = answer.response.text
            if not text.strip():
                continue
            if form is None:
                return text
            try:
                return form.read(text)
            except OutputFaults as error:
                fault = " ".join(error.faults)
                question = _told(question, text, error)
    raise ProviderError(f"the model did not answer as it was asked: {fault}")


def _asked(question: ModelRequest, form: OutputForm, turn: TurnState) -> ModelRequest:
    """Ask for the form natively where the model can, else by the prompt: it has no tools here."""
    native = replace(question, output=form.told)
    if output_mode(form, native, turn.model) == "native":
        return native
    first, *others = question.messages
    asked = with_instruction(replace(question, messages=(first,)), form)
    return replace(asked, messages=(*asked.messages, *others))


def _told(question: ModelRequest, text: str, error: OutputFaults) -> ModelRequest:
    """Tell the model what is wrong with its answer."""
    wrong = "\n".join(["Your answer is not what was asked for:", *(f"- {each}" for each in error.faults)])
    written = Message(type=MessageType.ASSISTANT, content=text)
    return replace(question, messages=(*question.messages, written, Message(type=MessageType.USER, content=wrong)))
