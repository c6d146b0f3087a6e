"""The output that a program wants of a turn: how its model is asked, what it gives, and what is wrong with that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OutputError, UsageError
from oneclaw_core.models.left_out import OUTPUT, TOOLS
from oneclaw_core.outputs.form import NOT_YET, OutputFaults, OutputForm
from oneclaw_core.tools.registry import RegisteredTool
from oneclaw_core.turn.state import Answer, Ask, Ending, TurnState
from oneclaw_core.turn.turn_hooks import marked_context
from oneclaw_core.types.events import OutputEvent, TurnFinishedEvent
from oneclaw_core.types.messages import Message, MessageType, StopReason
from oneclaw_core.types.model_requests import ArgumentsDelta, TextDelta, TextWithdrawn
from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tools import ToolBehaviour, ToolDefinition, ToolResult, ToolSourceInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse, OutputMode
    from oneclaw_core.types.steps import Handler

MOST_RETRIES = 20
# The part is read again once a fiftieth more has arrived.
_NEXT_PART = 50


class TurnOutput(Ending):
    """The output of one turn.

    Args:
        form: that it is to have.
        retries: how often the model is told what is wrong before the turn fails.

    Attributes:
        value: what the model gave.
        text: the same as JSON text.
        is_given: True once it has given it.
        tool: takes it, where the model is asked in that way.
    """

    def __init__(self, form: OutputForm, retries: int) -> None:
        self.form = form
        self.value: Any = None
        self.text = ""
        self.is_given = False
        self.tool: RegisteredTool = RegisteredTool(_ResultTool(self), _definition(form), ToolSourceInfo.BUILTIN)
        self._begin: int | None = None  # the ``sequence`` of the message that the turn answers
        self._mode: OutputMode = "prompted"
        self._retries, self._left = retries, retries
        self._faults: tuple[str, ...] = ()  # of the last answer

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.form.told.name

    def begin(self, message: Message) -> None:
        """Note the message that asks for it."""
        self._begin = message.sequence

    def asked(self, request: ModelRequest, model: ChosenModel) -> ModelRequest:
        """Return a request that asks for the output, in the best way that its model takes."""
        native = replace(request, output=self.form.told, model=model.info.name)
        self._mode = output_mode(self.form, native, model)
        if self._mode == "native":
            return native
        if self._mode == "tool":
            of_turn = (*request.tools.of_turn, self.tool.definition)
            return replace(request, tools=replace(request.tools, of_turn=of_turn))
        return with_instruction(request, self.form, self._begin)

    def comes_from(self, tool: str | None) -> bool:
        """Return True if the output is in the arguments of calls of a tool; ``None`` for the text of an answer."""
        return tool == (self.name if self._mode == "tool" else None)

    def retry_of(self, response: ModelResponse, *, is_last: bool) -> Message | None:
        """Take the output in an answer; return what tells the model what is wrong with it."""
        self.text, self._faults = response.text, self._faults_of(response)
        if not self._faults or is_last or not self._left:
            return None
        self._left -= 1
        wrong = "Your answer is not what was asked for:\n" + "\n".join(f"- {each}" for each in self._faults)
        how = (
            f"Call the tool {self.name} with the result."
            if self._mode == "tool"
            else "Answer again, with the corrected JSON alone."
        )
        # No user has said it.
        return Message(type=MessageType.USER, content=marked_context("oneclaw", f"{wrong}\n{how}")).of_output()

    def kept(self, entries: list[Message], *, is_retried: bool = False) -> list[Message]:
        """Mark the entries that belong to the way to an output: calls of its tool, their results, or all."""
        names = {each.tool_name for each in entries if each.type is MessageType.TOOL_CALL}
        is_whole = is_retried or (names == {self.name} and not entries[0].content)
        return [each.of_output() if is_whole or each.tool_name == self.name else each for each in entries]

    def check(self) -> None:
        """Refuse an answer that is not of the form."""
        if self._faults:
            raise self._error()

    def text_given(self, results: Sequence[Message]) -> str | None:
        """Return the output that was given by a call; a call that was refused counts as an attempt."""
        if self.is_given:  # the conversation holds it in later turns, which do not have the call
            return self.text
        if refused := [each.content for each in results if each.tool_name == self.name]:
            if not self._left:
                self._faults = tuple(refused[-1].split("\n")[1:]) or tuple(refused)
                raise self._error()
            self._left -= 1
        return None

    def finished(self, event: TurnFinishedEvent) -> TurnFinishedEvent:
        """Return the last event with the output, unless the model declined."""
        if not self.is_given:
            return event
        return replace(event, text=self.text, stop_reason=StopReason.COMPLETE, output=self.value)

    def take(self, value: Any, text: str) -> None:
        """Take what the model gave."""
        self.value, self.text, self.is_given = value, text, True

    def _faults_of(self, response: ModelResponse) -> tuple[str, ...]:
        """Take the output in an answer; there is nothing wrong with one in which the model declines."""
        if response.stop_reason is StopReason.REFUSAL:
            return ()
        try:
            self.take(self.form.read(response.text), response.text)
        except OutputFaults as error:
            if response.stop_reason is not StopReason.COMPLETE:
                return (f"/: the answer was ended by {response.stop_reason.ended_by}; make it shorter", *error.faults)
            return error.faults
        return ()

    def _error(self) -> OutputError:
        times = "once" if self._retries == 0 else f"{self._retries + 1} times"
        error = OutputError(f"the model was asked {times} and gave no valid output: {self._faults[0]}")
        error.text, error.faults = self.text, self._faults
        return error


def ending_of(turn: TurnState) -> Ending:
    """Return what a turn ends with: the output that its program wants, else a text.

    Raises:
        UsageError: the output cannot be described, or has the name of a tool.
    """
    request = turn.request
    if request.output is None:
        return Ending()
    output = TurnOutput(OutputForm.of(request.output), checked_retries(request.output_retries))
    if output.name in turn.own_tools or turn.parts.registry.find(output.name) is not None:
        raise UsageError(f"the output cannot be called {output.name!r}, as a tool is: use Output(..., name=...)")
    return output


def checked_retries(retries: object) -> int:
    """Return the number of retries.

    Raises:
        UsageError: it is none.
    """
    if type(retries) is not int or not 0 <= retries <= MOST_RETRIES:
        raise UsageError(f"output_retries is a whole number from 0 to {MOST_RETRIES}, not {str(retries)[:100]!a}")
    return retries


def output_mode(form: OutputForm, native: ModelRequest, model: ChosenModel) -> OutputMode:
    """Return the way in which a model is asked for an output.

    Args:
        form: of the output.
        native: the request as it would be sent natively.
        model: that is asked.

    Raises:
        UsageError: the program wants a way that the model does not have.
    """
    wanted, modes = form.wanted.mode, model.info.output_modes
    takes = getattr(model.provider, "takes_output", None)
    is_said = None if modes is None else "native" in modes
    if wanted == "native":
        if takes is None:
            raise UsageError(f"{model.full_name} has no native output: use another mode")
        return "native" if OUTPUT not in model.left_out else "prompted"
    takes_tools = TOOLS not in model.left_out and model.writes_summaries
    if wanted == "prompted" or (wanted == "tool" and not takes_tools):
        return "prompted"
    if wanted == "tool":
        return "tool"
    if takes is not None and is_said is not False and OUTPUT not in model.left_out and takes(native, is_said):
        return "native"
    return "tool" if takes_tools else "prompted"


def with_instruction(request: ModelRequest, form: OutputForm, begin: int | None = None) -> ModelRequest:
    """Have a request ask for JSON, behind the message of the user that it answers.

    Args:
        request: with its messages.
        form: of the JSON.
        begin: the ``sequence`` of the message; ``None`` for the last one of the user.
    """
    messages = list(request.messages)
    users = [at for at, each in enumerate(messages) if each.type is MessageType.USER]
    place = next((at for at in users if begin is not None and messages[at].sequence == begin), users[-1])
    text = f"{messages[place].content}\n\n{marked_context('oneclaw', form.instruction())}"
    messages[place] = replace(messages[place], content=text)
    return replace(request, messages=tuple(messages))


class _ResultTool:
    """Takes the output as the arguments of a call."""

    def __init__(self, output: TurnOutput) -> None:
        self._output = output

    @property
    def definition(self) -> ToolDefinition:
        return self._output.tool.definition

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        output = self._output
        output.text = compact_json(arguments)
        try:
            output.take(output.form.accept(arguments), output.text)
        except OutputFaults as error:
            return ToolResult.error("validation_error", "\n".join(["The result is not valid:", *error.faults]))
        return ToolResult.success("The result is taken.")


def _definition(form: OutputForm) -> ToolDefinition:
    told = form.told
    text = "Give the final result. Call it once, when everything else is done; this ends your work."
    return ToolDefinition(
        name=told.name,
        description=f"{text} {told.description}".strip(),
        parameters=dict(told.schema),
        read_only=True,
        behaviour=ToolBehaviour(checks_own_arguments=True),
    )


async def output_shown(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Emit the part of the output that has arrived, after each piece of the answer that adds to it."""
    output = ask.turn.ending
    if not isinstance(output, TurnOutput) or ask.purpose != "answer":
        return await run(ask)
    part = _Part(output)

    async def show_both(event: ModelEvent, value: Any) -> None:
        if (shown := ask.show(event)) is not None:
            await shown
        await ask.turn.emit(OutputEvent(value))

    def show(event: ModelEvent) -> Awaitable[None] | None:
        value = part.after(event)
        return ask.show(event) if value is NOT_YET else show_both(event, value)

    return await run(replace(ask, show=show))


class _Part:
    """The part of an output that has arrived."""

    def __init__(self, output: TurnOutput) -> None:
        self._output = output
        self._pieces: list[str] = []
        self._length = self._next = 0

    def after(self, event: ModelEvent) -> Any:
        """Take a piece of the answer; return the part of the output so far, ``NOT_YET`` if there is nothing new."""
        if isinstance(event, TextWithdrawn):
            self._pieces.clear()
            self._length = self._next = 0
        if not isinstance(event, (TextDelta, ArgumentsDelta)):
            return NOT_YET
        if not self._output.comes_from(event.tool if isinstance(event, ArgumentsDelta) else None):
            return NOT_YET
        self._pieces.append(event.text)
        self._length += len(event.text)
        if self._length < self._next:
            return NOT_YET
        self._next = self._length + self._length // _NEXT_PART
        return self._output.form.part_of("".join(self._pieces))
