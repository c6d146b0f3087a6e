"""Questions to the person at an MCP client, in both eras of the protocol.

A server of the old era sends a request while the call goes on. In the new era the call is answered with the question,
and the client repeats it with the answer; meanwhile the tool waits where it was, so nothing runs twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core import PermissionAnswer
from oneclaw_core.permissions import approval_question, question_text, user_question_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_types import InputRequiredResult

    from oneclaw_core import PermissionRequest, UserQuestion

_Result = TypeVar("_Result")

ANSWER_SECONDS = 600.0
MAX_WAITING = 32
_COLUMNS = 80
_KEY = "answer"
_ANSWERS = (PermissionAnswer.ONCE, PermissionAnswer.SCRIPT, PermissionAnswer.NO)


class ClientUser:
    """The person at the client of one call.

    Attributes:
        context: the SDK's context of the request that is answered now.
        key: of the open question, which its answer has too.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.key = _KEY
        self.question: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[Any] | None = None
        self._asking = asyncio.Lock()
        self._is_modern = is_modern(context)
        self._progress = 0.0

    @property
    def can_be_asked(self) -> bool:
        """True if the client shows forms."""
        asked = getattr(self.context.session.client_capabilities, "elicitation", None)
        if asked is None or (asked.form is None and asked.url is not None):
            return False
        return self._is_modern or bool(self.context.session.can_send_request)

    async def ask(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask for a permission; the answer holds for one call, or for the rest of a script."""
        question = approval_question(request)
        question = replace(question, choices=tuple(each for each in question.choices if each.answer in _ANSWERS))
        choices = [each.answer.value for each in question.choices]
        answer = await self._answered(question_text(question, _COLUMNS), choices, "Whether to allow it")
        return PermissionAnswer(answer) if answer in choices else PermissionAnswer.NO

    async def ask_user(self, question: UserQuestion) -> str | None:
        """Ask a question of a tool; the answer to one with a form is the JSON text of its values."""
        if question.form is not None:
            values = await self._given(user_question_text(question, _COLUMNS), dict(question.form), question.form_name)
            return json.dumps(values) if values is not None else None
        choices = [] if question.allows_text or not question.choices else list(question.choices)
        answer = await self._answered(user_question_text(question, _COLUMNS), choices, "Your answer")
        return question.answer_to(answer) if answer is not None else None

    async def report(self, message: str, fraction: float | None) -> None:
        """Pass on the progress of the tool; it only grows, as the protocol demands."""
        before = self._progress
        self._progress = max(before + 0.001, fraction * 100 if fraction is not None else 0.0)
        await self.context.session.report_progress(self._progress, 100.0 if fraction is not None else None, message)

    def answer(self, response: Any) -> bool:
        """Take the answer to the open question; return False if it is none, and the question stays open."""
        if getattr(response, "action", None) not in ("accept", "decline", "cancel"):
            return False
        assert self._answer is not None
        self.question = asyncio.get_running_loop().create_future()
        if not self._answer.done():
            self._answer.set_result(response)
        return True

    async def _answered(self, text: str, choices: list[str], label: str) -> str | None:
        field: dict[str, Any] = {"type": "string", "description": label}
        if choices:
            field["enum"] = choices
        schema = {"type": "object", "properties": {_KEY: field}, "required": [_KEY]}
        value = (await self._given(text, schema, _KEY) or {}).get(_KEY)
        return value if isinstance(value, str) else None

    async def _given(self, text: str, schema: dict[str, Any], key: str) -> dict[str, Any] | None:
        """Show a form; return what the user filled in, ``None`` for nothing."""
        async with self._asking:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self.key = key
                    result = await self._elicited(text, schema)
            except TimeoutError:
                return None
            except asyncio.CancelledError:
                raise
            except Exception:  # noqa: BLE001  # the client refuses the question, or is gone
                return None
        return dict(result.content or {}) if result.action == "accept" else None

    async def _elicited(self, text: str, schema: dict[str, Any]) -> Any:
        if not self._is_modern:
            return await self.context.session.elicit_form(text, schema, related_request_id=self.context.request_id)
        self._answer = asyncio.get_running_loop().create_future()
        self.question.set_result({"message": text, "requestedSchema": schema})
        return await self._answer


@dataclass(slots=True)
class _Waiting:
    user: ClientUser
    task: asyncio.Future[Any]
    request: str
    timer: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class OpenCalls:
    """The calls of the clients of one server, with those that wait for an answer."""

    _waiting: dict[str, _Waiting] = field(default_factory=dict)

    async def run(
        self, context: Any, parameters: Any, work: Callable[[ClientUser], Awaitable[_Result]]
    ) -> _Result | InputRequiredResult:
        """Run a call, or go on with one whose question was answered.

        Args:
            context: the SDK's context of the request.
            parameters: of the request.
            work: makes the call.

        Raises:
            MCPError: the state is not that of a question to this request.
        """
        state = parameters.request_state
        if state is None:
            user = ClientUser(context)
            call = _Waiting(user, asyncio.ensure_future(work(user)), _digest(parameters))
        else:
            call = self._taken(state, parameters)
            call.user.context = context
            if not call.user.answer((parameters.input_responses or {}).get(call.user.key)):
                return self._asked(call)
        try:
            await asyncio.wait({call.task, call.user.question}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.task.cancel()
            await asyncio.gather(call.task, return_exceptions=True)
            raise
        if call.task.done():
            result: _Result = call.task.result()
            return result
        return self._asked(call)

    async def aclose(self) -> None:
        """End the calls that wait for an answer."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for call in waiting:
            if call.timer is not None:
                call.timer.cancel()
            call.task.cancel()
        await asyncio.gather(*(each.task for each in waiting), return_exceptions=True)

    def _taken(self, state: str, parameters: Any) -> _Waiting:
        from mcp import MCPError

        call = self._waiting.get(state)
        if call is None or call.request != _digest(parameters):
            raise MCPError(
                -32602,
                "this question is not open: it was answered, or is too old; its call may have had its effect, "
                "see: oneclaw mcp calls",
            )
        del self._waiting[state]
        if call.timer is not None:
            call.timer.cancel()
        return call

    def _asked(self, call: _Waiting) -> InputRequiredResult:
        """Keep a call until its question is answered."""
        from mcp_types import InputRequiredResult

        if len(self._waiting) >= MAX_WAITING:
            self._forget(next(iter(self._waiting)))
        state = secrets.token_urlsafe(32)
        call.timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._forget, state)
        self._waiting[state] = call
        form = {"method": "elicitation/create", "params": {"mode": "form", **call.user.question.result()}}
        return InputRequiredResult.model_validate({"inputRequests": {call.user.key: form}, "requestState": state})

    def _forget(self, state: str) -> None:
        call = self._waiting.pop(state, None)
        if call is not None:
            if call.timer is not None:
                call.timer.cancel()
            call.task.cancel()


def is_modern(context: Any) -> bool:
    """Return True if a request is of the era without a handshake."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    return context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


def _digest(parameters: Any) -> str:
    """Return what a repeated request has in common with the first one."""
    document = parameters.model_dump(mode="json", by_alias=True, exclude={"meta", "input_responses", "request_state"})
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
