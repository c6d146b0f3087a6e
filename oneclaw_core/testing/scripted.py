"""A model and a user that answer as the test says, and a model whose answers a function makes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NobodyToAskError, PermissionDeniedError, ProviderRequestError
from oneclaw_core.hookspecs import hookimpl
from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.providers.model_object import OwnModel
from oneclaw_core.types.messages import TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from oneclaw_core.plugins.registrars import ProviderRegistrar
    from oneclaw_core.types.user_question import UserQuestion


class ScriptedUser:
    """Answers questions.

    Attributes:
        asked: all questions for permissions so far.
        questions: all other questions of tools so far.
    """

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []
        self.questions: list[UserQuestion] = []
        self._answers: dict[str | None, list[PermissionAnswer]] = {}
        self._replies: list[str | None] = []

    def says(self, answer: PermissionAnswer | str, *more: PermissionAnswer | str, to: str | None = None) -> None:
        """Say how questions are answered from now on.

        Args:
            answer: ``once``, ``script``, ``session``, ``always``, ``no`` or ``never``.
            more: given one after the other; the last one stays.
            to: the permission that is asked for; by default any that has no answer.

        Raises:
            ValueError: there is no such answer.
        """
        self._answers[to] = [PermissionAnswer(each) for each in (answer, *more)]

    def replies(self, reply: str | None, *more: str | None) -> None:
        """Say how the next questions of tools are answered.

        Args:
            reply: what is typed, such as the number of a choice; ``None`` for no answer.
            more: to the questions after that.
        """
        self._replies += [reply, *more]

    async def reply(self, question: UserQuestion) -> str | None:
        """Answer a question of a tool.

        Raises:
            NobodyToAskError: the test did not say how.
        """
        self.questions.append(question)
        if not self._replies:
            raise NobodyToAskError("no one can be asked: the test does not say how the user answers")
        reply = self._replies.pop(0)
        return None if reply is None else question.answer_to(reply)

    async def answer(self, request: PermissionRequest) -> PermissionAnswer:
        """Answer a question.

        Raises:
            PermissionDeniedError: the test did not say how.
        """
        self.asked.append(request)
        answers = self._answers.get(request.permission) or self._answers.get(None)
        if not answers:
            permission = request.permission
            raise PermissionDeniedError(
                f"Permission '{permission}' is not granted, and the test does not say how the user answers: "
                f'oneclaw.user.says("once", to="{permission}")',
                permission,
            )
        return answers.pop(0) if len(answers) > 1 else answers[0]


PROVIDER = "scripted"
MODEL = f"{PROVIDER}/model"
_CHARACTERS_PER_TOKEN = 4

Function = Callable[[ModelRequest], "str | ModelResponse"]


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer of the script.

    Attributes:
        text: what the model says.
        calls: the tools it calls, with the arguments as JSON text.
        function: makes the answer from the request instead.
        error: raised instead.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    function: Function | None = None
    error: Exception | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"fails with {type(self.error).__name__}"
        if self.function is not None:
            return f"answers by {getattr(self.function, '__name__', 'a function')}"
        parts = [f"says {self.text!r}"] if self.text or not self.calls else []
        return ", ".join([*parts, *(f"calls {name}({arguments})" for name, arguments in self.calls)])

    def response(self, request: ModelRequest, number: int) -> ModelResponse:
        """Make the answer to a request.

        Raises:
            Exception: the script says so.
        """
        if self.error is not None:
            raise self.error
        if self.function is not None:
            made = self.function(request)
            return made if isinstance(made, ModelResponse) else ModelResponse(text=made)
        calls = tuple(ToolCall(f"call_{number}_{place}", *call) for place, call in enumerate(self.calls, 1))
        return ModelResponse(text=self.text, tool_calls=calls)


class ScriptedModel(OwnModel):
    """A script of answers, each for one request; every method adds to it and returns the model.

    A turn takes it as its model: ``claw.send_message("Greet Ada", model=ScriptedModel().says("Hello Ada"))``.

    ::

        model.calls("load_tool_group", group_name="pdf").calls("pdf_info", path="a.pdf").then("It has 3 pages.")

    Attributes:
        requests: everything that the model was sent, in order.
        faults: what went against the script; a test with any fails.
    """

    config = ProviderConfig(name=PROVIDER, type=PROVIDER, is_local=True)
    name = MODEL.partition("/")[2]

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.faults: list[str] = []
        self._script: list[ScriptedAnswer] = []
        self._used = 0

    @property
    def has_script(self) -> bool:
        """True if the test has said what the model answers."""
        return bool(self._script)

    @property
    def unused(self) -> tuple[ScriptedAnswer, ...]:
        """The answers that were not asked for."""
        return tuple(self._script[self._used :])

    def says(self, text: str) -> ScriptedModel:
        """Answer with a text, which ends the turn."""
        return self._add(ScriptedAnswer(text=text))

    def calls(self, name: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> ScriptedModel:
        """Answer with a tool call.

        Args:
            name: of the tool.
            arguments: a JSON object; a text is sent as it is, whatever it holds.
            named: more arguments.
        """
        return self._add(ScriptedAnswer(calls=(_call(name, arguments, named),)))

    def also_calls(self, name: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any) -> ScriptedModel:
        """Add a tool call to the answer before: the two run at once.

        Args:
            name: as for :meth:`calls`.
            arguments: as for :meth:`calls`.
            named: as for :meth:`calls`.

        Raises:
            ValueError: there is no answer before it, or one that a function makes.
        """
        last = self._script[-1] if self.unused else None
        if last is None or last.function is not None or last.error is not None:
            raise ValueError("also_calls() adds to an answer of calls() or says(): there is none before it")
        self._script[-1] = replace(last, calls=(*last.calls, _call(name, arguments, named)))
        return self

    def then(self, answer: str | Function) -> ScriptedModel:
        """Go on with a text, or with what a function makes of the request: a text or a ``ModelResponse``."""
        return self.says(answer) if isinstance(answer, str) else self._add(ScriptedAnswer(function=answer))

    def fails(self, error: Exception) -> ScriptedModel:
        """Raise an error instead of answering, such as ``ProviderUnavailableError("overloaded")``."""
        return self._add(ScriptedAnswer(error=error))

    def answer(self, request: ModelRequest) -> ModelResponse:
        """Note a request and take the next answer.

        Raises:
            ProviderRequestError: the script has ended; it is noted as a fault.
            Exception: the script says so.
        """
        self.requests.append(request)
        number = len(self.requests)
        if self._used == len(self._script):
            written = "".join(f"\n  {place}. {each}" for place, each in enumerate(self._script, 1))
            last = request.messages[-1].content if request.messages else ""
            fault = (
                f"the scripted model was asked for answer {number}, and its script has {len(self._script)}:{written}\n"
                f"The last message it was sent: {last[:500]!r}\nAdd what it answers, such as: model.then('Done.')"
            )
            self.faults.append(fault)
            raise ProviderRequestError(fault)
        self._used += 1
        return counted(self._script[self._used - 1].response(request, number), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request from the script."""
        for event in streamed(self.answer(request)):
            yield event

    def _add(self, answer: ScriptedAnswer) -> ScriptedModel:
        self._script.append(answer)
        return self


class ScriptedModelPlugin:
    """Brings a scripted model into a home, as plugins bring model services."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    @hookimpl
    def register_providers(self, register: ProviderRegistrar) -> None:
        """Register the provider type."""
        register(PROVIDER, lambda config: self._model)


def _call(name: str, arguments: Mapping[str, Any] | str | None, named: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(arguments, str):
        if named:
            raise ValueError(f"the arguments of {name} are either a text or named, not both")
        return name, arguments
    return name, json.dumps({**(arguments or {}), **named}, ensure_ascii=False)


def streamed(response: ModelResponse) -> Iterator[ModelEvent]:
    """Return the events of an answer: its text in two pieces, then all of it."""
    middle = len(response.text) // 2
    for piece in filter(None, (response.text[:middle], response.text[middle:])):
        yield TextDelta(piece)
    yield response


def counted(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Return an answer with an estimate of its tokens, if it has no count."""
    return replace(response, usage=_usage(request, response)) if response.usage == TokenUsage() else response


def _usage(request: ModelRequest, response: ModelResponse) -> TokenUsage:
    """Estimate tokens at four characters each, as there is no count."""
    sent = len(request.system_prompt) + sum(len(each.content) + len(each.tool_input or "") for each in request.messages)
    written = len(response.text) + sum(len(call.name) + len(call.arguments) for call in response.tool_calls)
    return TokenUsage(
        input_tokens=-(-sent // _CHARACTERS_PER_TOKEN), output_tokens=-(-written // _CHARACTERS_PER_TOKEN)
    )


AnswerFunction = Callable[[ModelRequest], "str | ModelResponse | Awaitable[str | ModelResponse]"]
"""Answers a request, with a text or a ``ModelResponse``; may be async, and may raise."""


class FunctionModel(OwnModel):
    """A model that a function answers for. A turn takes it as its model, in a program that opens ``OneClaw`` itself.

    ::

        model = FunctionModel(lambda request: f"You said: {request.messages[-1].content}")
        claw.send_message("Hello", model=model)

    Args:
        function: makes the answer to a request. What it raises is raised to the turn, such as a ``ProviderError``.
        name: of the model, in events and usage after ``function/``.

    Attributes:
        requests: everything that the model was sent, in order.
    """

    config = ProviderConfig(name="function", type="function", is_local=True)

    def __init__(self, function: AnswerFunction, *, name: str = "model") -> None:
        self.requests: list[ModelRequest] = []
        self.name = name
        self._function = function

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request by the function."""
        self.requests.append(request)
        made = self._function(request)
        answer = await made if inspect.isawaitable(made) else made
        response = ModelResponse(text=answer) if isinstance(answer, str) else answer
        for event in streamed(counted(response, request)):
            yield event
