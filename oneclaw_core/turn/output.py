"""The output that a program wants of a turn: how its model is asked, what it gives, and what is wrong with that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OutputError, UsageError
from oneclaw_core.providers.left_out import OUTPUT, TOOLS
from oneclaw_core.tools.registry import RegisteredTool
from oneclaw_core.turn.output_form import NOT_YET, OutputFaults, OutputForm
from oneclaw_core.turn.turn_hooks import marked_context
from oneclaw_core.types.messages import Message, MessageType, StopReason
from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tool_definition import ToolBehaviour, ToolDefinition
from oneclaw_core.types.tools import ToolResult, ToolSourceInfo

if TYPE_CHECKING:
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.model_requests import ModelRequest, ModelResponse
    from oneclaw_core.types.output import OutputMode

MOST_RETRIES = 20
# Of what has come, how much more must come before it is read again.
_NEXT_PART = 50


class TurnOutput:
    """The output of one turn.

    Args:
        form: that it is to have.
        retries: how often the model is told what is wrong before the turn fails.

    Attributes:
        value: what the model gave.
        text: the same as JSON text.
        is_given: True once it has given it.
        tool: takes it, where the model is asked in that way.
        begin: the ``sequence`` of the message that the turn answers; ``None`` for the last one.
    """

    def __init__(self, form: OutputForm, retries: int) -> None:
        self.form = form
        self.value: Any = None
        self.text = ""
        self.is_given = False
        self.begin: int | None = None
        self.tool = RegisteredTool(_ResultTool(self), _definition(form), ToolSourceInfo.BUILTIN)
        self._mode: OutputMode = "prompted"
        self._retries, self._left = retries, retries
        self._pieces: list[str] = []
        self._length = self._next = 0

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.form.told.name

    def asked(self, request: ModelRequest, model: ChosenModel) -> ModelRequest:
        """Return a request that asks for the output, in the best way that its model takes."""
        native = replace(request, output=self.form.told, model=model.info.name)
        self._mode = output_mode(self.form, native, model)
        if self._mode == "native":
            return native
        if self._mode == "tool":
            of_turn = (*request.tools.of_turn, self.tool.definition)
            return replace(request, tools=replace(request.tools, of_turn=of_turn))
        return with_instruction(request, self.form, self.begin)

    # What the model writes

    def begin_answer(self) -> None:
        """Forget what has come of an answer: another one begins."""
        self._pieces.clear()
        self._length = self._next = 0

    def add(self, text: str, tool: str | None = None) -> Any:
        """Take a piece of the answer; return what has come of the output, ``NOT_YET`` for nothing new.

        Args:
            text: of its text, or of the arguments of a call.
            tool: that is called; ``None`` for text.
        """
        if tool != (self.name if self._mode == "tool" else None):
            return NOT_YET
        self._pieces.append(text)
        self._length += len(text)
        if self._length < self._next:
            return NOT_YET
        self._next = self._length + self._length // _NEXT_PART
        return self.form.part_of("".join(self._pieces))

    # What it has given

    def fault_of(self, response: ModelResponse) -> tuple[str, ...]:
        """Take the output in an answer without calls; return what is wrong with it, nothing if it is given.

        An answer in which the model declines gives none, and there is nothing wrong with it.
        """
        if response.stop_reason is StopReason.REFUSAL:
            return ()
        try:
            self.take(self.form.read(response.text), response.text)
        except OutputFaults as error:
            if response.stop_reason is not StopReason.COMPLETE:
                return (f"/: the answer was ended by {response.stop_reason.ended_by}; make it shorter", *error.faults)
            return error.faults
        return ()

    def take(self, value: Any, text: str) -> None:
        """Take what the model gave."""
        self.value, self.text, self.is_given = value, text, True

    def retried(self, text: str, faults: tuple[str, ...]) -> str:
        """Count one more attempt; return what the model is told.

        Raises:
            OutputError: there have been enough.
        """
        if not self._left:
            raise self.error(text, faults)
        self._left -= 1
        wrong = "Your answer is not what was asked for:\n" + "\n".join(f"- {each}" for each in faults)
        how = (
            f"Call the tool {self.name} with the result."
            if self._mode == "tool"
            else "Answer again, with the corrected JSON alone."
        )
        return marked_context("oneclaw", f"{wrong}\n{how}")

    def count_refused(self, refused: list[str]) -> None:
        """Count a call that gave no valid output; its result has told the model what is wrong.

        Raises:
            OutputError: there have been enough.
        """
        if not self._left:
            raise self.error(self.text, tuple(refused[-1].split("\n")[1:]) or tuple(refused))
        self._left -= 1

    @property
    def has_retries(self) -> bool:
        """True if the model may be told once more."""
        return self._left > 0

    def error(self, text: str, faults: tuple[str, ...]) -> OutputError:
        """Return the error for a model that does not give the output."""
        times = "once" if self._retries == 0 else f"{self._retries + 1} times"
        error = OutputError(f"the model was asked {times} and gave no valid output: {faults[0] if faults else ''}")
        error.text, error.faults = text, faults
        return error


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


def retry_message(text: str) -> Message:
    """Return the entry of the history that tells a model what is wrong with its answer; no user has said it."""
    return Message(type=MessageType.USER, content=text).of_output()
