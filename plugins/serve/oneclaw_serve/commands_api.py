"""Commands of a chat, such as ``/model``, typed by a person at the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_channels import ChatState, Conversation, SlashCommands
from pydantic import Field
from starlette.responses import JSONResponse

from oneclaw_core import NotFoundError, OneClawError
from oneclaw_core.channels import expandable_command, is_slash_command
from oneclaw_core.tools import printable
from oneclaw_serve.endpoint import PERSON, Body, Endpoint
from oneclaw_serve.errors import Refusal
from oneclaw_serve.waiting import CHANNEL, Options

if TYPE_CHECKING:
    from starlette.requests import Request

    from oneclaw_core import ChatAnswer, TurnEvent
    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site

_NOTHING_TO_LEAVE = "There is nothing to leave. /clear begins a new session."


class TypedCommand(Body):
    """A line that a person typed."""

    text: str = Field(max_length=100_000)
    session: str | None = Field(None, max_length=200, description="where it was typed; null before the first message")
    agent: str | None = Field(None, max_length=200, description="chosen before the first message")
    model: str | None = Field(None, max_length=200, description="chosen before the first message")
    confirmed: list[str] = Field(default_factory=list, max_length=20, description="questions answered with yes")


class _ConfirmationNeededError(OneClawError):
    """A command asks the person a question of yes or no."""


class _NoView:
    """Shows nothing: turns that a command begins are shown as all others."""

    def show(self, event: TurnEvent) -> None:
        """See ``TurnListener``."""

    def finish(self) -> None:
        """See ``TurnListener``."""


async def _names(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    summaries = await SlashCommands(site.claw).summaries()
    return JSONResponse({"commands": [{"name": name.strip(), "summary": each} for name, each in summaries.items()]})


async def _run(site: Site, caller: Caller, request: Request, body: TypedCommand) -> JSONResponse:
    """Do what the line says; a message, or a command that becomes one, is left to the client to send."""
    if not is_slash_command(body.text) or await expandable_command(site.claw, body.text) is not None:
        return JSONResponse({"state": "message"})
    session = None
    if body.session is not None:
        found = await site.claw.store.find_session(body.session)
        if found is None:
            raise NotFoundError(f"there is no session {body.session!r}")
        session = found.id
    commands = SlashCommands(site.claw)
    is_running = session is not None and await site.log.running_turn(session) is not None
    if is_running and not commands.is_immediate(body.text):
        raise Refusal(409, "session_busy", "a turn runs: wait for its end, or stop it, before this command")
    stopped: list[str] = []
    conversation = await _conversation(site, session, body, stopped, is_running=is_running)
    try:
        answer = await commands.run(conversation, body.text)
    except _ConfirmationNeededError as question:
        return JSONResponse({"state": "question", "text": printable(str(question))})
    for each in stopped:
        await site.turns.stop(each)
    if session is not None and (live := site.turns.live(session)) is not None:
        for text in live.requeue(conversation.steering, conversation.waiting):
            await site.turns.send(session, text, (), Options())
    chosen = ChatState(session, conversation.agent, conversation.model, conversation.reasoning)
    if session is not None:
        await site.waiting.mailbox.keep_chat(session, chosen)
    await _follow(site, answer.session or session, answer)
    return JSONResponse(_document(answer, chosen))


async def _conversation(
    site: Site, session: str | None, body: TypedCommand, stopped: list[str], *, is_running: bool
) -> Conversation:
    def stop() -> bool:
        stopped.extend([session] if session is not None else [])
        return is_running

    async def confirm(text: str) -> bool:
        if printable(text) in body.confirmed:
            return True
        raise _ConfirmationNeededError(text)

    notices: list[str] = []
    state = await site.waiting.mailbox.chat(session) if session else ChatState(None, body.agent, body.model)
    live = site.turns.live(session) if session else None
    return Conversation(
        site.claw,
        _NoView(),
        notices.append,
        session_name=session,
        agent=state.agent,
        model=state.model,
        reasoning=state.reasoning,
        channel=CHANNEL,
        confirm=confirm,
        stop=stop,
        steering=list(live.steering) if live is not None else [],
        waiting=list(live.later) if live is not None else [],
        is_running=is_running,
    )


async def _follow(site: Site, session: str | None, answer: ChatAnswer) -> None:
    if session is None:
        return
    if answer.resume:
        await site.turns.resume(session)
    if answer.send is not None:
        files = [site.waiting.file_of(each) for each in answer.attachments]
        await site.turns.send(session, answer.send, files, Options())


def _document(answer: ChatAnswer, chosen: ChatState) -> dict[str, Any]:
    return {
        "state": "done",
        "text": _NOTHING_TO_LEAVE if answer.leave else printable(answer.text),
        "session": answer.session,
        "copy": answer.copy,
        "send": answer.send if chosen.session is None and not answer.session else None,
        "agent": chosen.agent,
        "model": chosen.model,
    }


ENDPOINTS = (
    Endpoint("GET", "/api/commands", PERSON, "List the commands of a chat", _names),
    Endpoint("POST", "/api/commands", PERSON, "Run a command of a chat", _run, TypedCommand),
)
