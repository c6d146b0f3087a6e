"""Outside of conversations: tool calls of programs and of the command line, and questions of plugins to a model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.outputs.form import OutputFaults, OutputForm
from oneclaw_core.outputs.turn_output import output_mode, with_instruction
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.tools.calls.call import Caller, ToolClient, ToolOutcome, ToolProgress
from oneclaw_core.turn.state import Ask, SessionState, TurnParts, TurnState, show_nothing
from oneclaw_core.turn.steps import record_unstored
from oneclaw_core.turn.stream import Deadline, TurnTracker
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import SpendingLimits, TurnBudget
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.model_requests import ModelRequest, Output
from oneclaw_core.types.tool_groups import ActiveTools
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolCalls:
    """Tool calls outside of conversations.

    Args:
        parts: of the open home.
        tracker: ends them before the home is closed.
    """

    def __init__(self, parts: TurnParts, tracker: TurnTracker) -> None:
        self._parts = parts
        self._tracker = tracker

    async def call(
        self, name: str, arguments: str, caller: Literal["program", "command line"], client: ToolClient | None = None
    ) -> ToolOutcome:
        """Run one tool outside a conversation; see :meth:`oneclaw_core.OneClaw.call_tool`."""
        parts = self._parts
        states = await parts.choices.refresh()
        await parts.plugins.refresh_settings(states.settings)
        await parts.tool_sources.refresh()
        call = ToolCall(new_id(), name, arguments)
        if client is not None:
            return await self._tracker.run(partial(self._call_for, client, call, caller))
        behalf = Caller(parts.registry.toolset().all_active, GENERAL_ASSISTANT.name, kind=caller)
        (outcome,) = await self._tracker.run(partial(parts.executor.execute, [call], behalf))
        return outcome

    async def _call_for(
        self, client: ToolClient, call: ToolCall, caller: Literal["program", "command line"]
    ) -> ToolOutcome:
        parts = self._parts
        found = parts.registry.find(call.name)
        if client.is_read_only and found is not None and not found.definition.read_only:
            text = f"Tool '{call.name}' may change something, and this call is for reading alone."
            return ToolOutcome(call, ToolResult.error("not_available", text), 0.0)
        asked_in = f"{client.name}/{call.id}"
        behalf = Caller(
            parts.registry.toolset(client.selection).all_active,
            client.agent,
            selection=client.selection,
            kind=caller,
            conversation=client.provenance,
            # Each call asks for itself, so that no client waits for the answer of another.
            asked_in=asked_in,
        )
        outcome: ToolOutcome | None = None
        asked = parts.people.answered_by(
            asked_in, client.ask, client.ask_user, or_nobody=True, shows_forms=client.shows_forms
        )
        with asked:
            async for item in parts.executor.execute_as_completed([call], behalf):
                if isinstance(item, ToolOutcome):
                    outcome = item
                elif isinstance(item, ToolProgress) and client.progress is not None:
                    await client.progress(item.message, item.fraction)
        assert outcome is not None
        return outcome


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
        session=SessionState(info=session, agent=agent),
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
