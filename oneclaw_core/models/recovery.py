"""Go on after an answer that is refused, breaks off, or cannot be used.

A service that refuses a request for a reason that no rule explains would refuse every later request of the session too.
What can be left out of a request without loss is left out before, see :mod:`oneclaw_core.models.left_out`. Then
the history is compacted once if it is long. Then the newest message is left out, which stays in the session, marked as
not sent. What is refused even so gets an error that names the way out.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.compaction.estimate import message_tokens
from oneclaw_core.compaction.plan import CompactionReason, ContextLimits
from oneclaw_core.errors import (
    ProviderError,
    ProviderRequestError,
    SessionBusyError,
    UnfinishedAnswerError,
    UnreadableCallError,
    reworded,
    service_reason,
)
from oneclaw_core.turn.request import left_out, not_sent_note
from oneclaw_core.turn.state import Answer, Ask, TurnState, show_nothing
from oneclaw_core.turn.steps import record_unstored
from oneclaw_core.types.events import RetryEvent
from oneclaw_core.types.messages import OWN_DATA, Message, MessageType, StopReason
from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse, TextDelta, TextWithdrawn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from oneclaw_core.compaction.compacting import Compactor
    from oneclaw_core.types.steps import Handler, Step


# A shorter history is not the reason of a refusal that does not say so.
_LONG_TOKENS = 4_000
# The largest part of a known context window that is certainly not too long.
_SURELY_FITS = 4
_REASON_CHARACTERS = 300
# Enough for a service to accept the request; the answer is thrown away.
PROBE_OUTPUT_TOKENS = 64


def healed(compactor: Compactor) -> Step[Ask, Answer]:
    """Make the step that changes a session whose next request a service refuses without a reason, and asks again.

    It raises ``ProviderError`` where nothing helps, or the refused message was found and the user has to say it
    differently.
    """

    async def asked(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
        turn, tried, not_sent = ask.turn, set[str](), list[Message]()
        while ask.purpose == "answer":
            try:
                answer = await run(ask)
            except ProviderError as error:
                if error.is_final or not is_unexplained(error):
                    raise
                not_sent += await _heal(turn, error, tried, compactor)
                continue
            if not_sent:  # only now is it sure that these were what the service refused
                await turn.store.mark_not_sent(turn.session_id, not_sent)
            return answer
        return await run(ask)

    return asked


async def _heal(turn: TurnState, error: ProviderError, tried: set[str], compactor: Compactor) -> list[Message]:
    """Compact the session once, or leave its newest part out.

    Args:
        turn: that asked.
        error: the refusal.
        tried: what has been done for this request.
        compactor: of conversations.

    Returns:
        The results that are left out from now on.
    """
    session = turn.session
    name = session.info.name or session.info.id
    if "compaction" not in tried:
        tried.add("compaction")
        is_long = may_be_too_long(error, session.history, ContextLimits.of(turn).context_window)
        if is_long and await compactor.compact(turn, CompactionReason.REFUSED):
            return []
    part = newest_part(session.history)
    if not part:
        raise with_way_out(error, name)
    if part[0].type is MessageType.TOOL_RESULT:
        not_sent = [marked_not_sent(each, error) for each in part]
        marked = {each.sequence: left_out(each, each.not_sent or "") for each in not_sent}
        session.history = [marked.get(each.sequence, each) for each in session.history]
        tools = ", ".join(dict.fromkeys(each.tool_name or "" for each in part))
        await turn.emit(RetryEvent(f"{error}; left out: results of {tools}", 0))
        return not_sent
    if "probe" not in tried:
        tried.add("probe")
        probe = probe_request(turn.next_request(), error)
        try:
            with suppress(UnfinishedAnswerError):
                answer = await turn.parts.ask(Ask(turn, probe, show_nothing, "question"))
                await record_unstored(turn, answer)
        except ProviderError:
            raise with_way_out(error, name) from None
        if not (isinstance(error, ProviderRequestError) and error.refuses_content):
            await turn.emit(RetryEvent(str(error), 0))
            return []
    raise await without_newest(turn, error)


async def without_newest(turn: TurnState, error: ProviderError) -> ProviderError:
    """Mark the newest message as not sent, and return the error with that."""
    part = newest_part(turn.session.history)
    if not part:
        return error
    await turn.store.mark_not_sent(turn.session_id, [marked_not_sent(each, error) for each in part])
    return with_mark_named(error) if part[0].type is MessageType.USER else error


def is_unexplained(error: ProviderError) -> bool:
    """Return True if a service refused a request for a reason that no rule explains."""
    return type(error) is ProviderRequestError and error.is_refusal


def may_be_too_long(error: ProviderError, history: Sequence[Message], context_window: int | None) -> bool:
    """Return True if the length of a history may be the reason of an unexplained refusal."""
    if not is_unexplained(error) or getattr(error, "refuses_content", False):
        return False
    tokens = sum(map(message_tokens, history))
    return tokens >= max(_LONG_TOKENS, (context_window or 0) // _SURELY_FITS)


def newest_part(history: Sequence[Message]) -> list[Message]:
    """Return what the model was to answer next: a message of the user, or the results of the last calls.

    Empty if that was left out already.
    """
    part: list[Message] = []
    for message in reversed(history):
        if message.type is MessageType.USER and not part:
            part = [message]
            break
        if message.type is not MessageType.TOOL_RESULT:
            break
        part.append(message)
    return [] if any(each.not_sent or each.sequence is None for each in part) else list(reversed(part))


def marked_not_sent(message: Message, error: ProviderError) -> Message:
    """Return a message with the mark that it goes to no model any more."""
    own = (message.provider_data or {}).get(OWN_DATA)
    data = {**(own if isinstance(own, dict) else {}), "not_sent": service_reason(error, _REASON_CHARACTERS)}
    return replace(message, provider_data={**(message.provider_data or {}), OWN_DATA: data})


def probe_request(request: ModelRequest, error: ProviderError) -> ModelRequest:
    """Return the request without its newest message, to find out whether that is the one that is refused.

    Args:
        request: that was refused.
        error: the refusal.
    """
    messages, text = request.messages, not_sent_note(service_reason(error, _REASON_CHARACTERS))
    note = replace(messages[-1], content=text, attachments=())
    return replace(request, messages=(*messages[:-1], note), max_output_tokens=PROBE_OUTPUT_TOKENS)


def with_way_out(error: ProviderError, session: str) -> ProviderError:
    """Return the error with the command that takes the refused message back."""
    return reworded(
        error,
        f"{error}. If it goes on, take your last message back with: oneclaw undo --session {shlex.quote(session)}",
    )


def with_mark_named(error: ProviderError) -> ProviderError:
    """Return the error with what has become of the message."""
    return reworded(
        error, f"{error}. Your message stays in the session, marked as not sent: later messages go without it"
    )


# In a row; a model that stumbles more often does so again and again.
MOST_ATTEMPTS = 2
_KEPT_CHARACTERS = 2_000
_TOLD = (
    "[This message comes from the program, not from the user.] Your last tool call could not be read, and nothing was "
    "run. Call the tool again: in the tool call format of this API, with its exact name, and with arguments that are "
    "one valid JSON object. If the call is very long, split the work into smaller calls."
)


def told_again(error: UnreadableCallError) -> tuple[Message, Message]:
    """Return what tells the model what became of its call; the history does not get it.

    The roles of the messages alternate as in any other.
    """
    written = error.written[:_KEPT_CHARACTERS].strip() or "[a tool call that could not be read]"
    return Message(type=MessageType.ASSISTANT, content=written), Message(type=MessageType.USER, content=_TOLD)


async def not_empty(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Ask each model once more after an empty answer, and twice after an unreadable call; neither is stored.

    Raises:
        ProviderError: the model answers with nothing, or with calls that cannot be read.
    """
    turn, unreadable, asked_again = ask.turn, 0, set[str]()
    while ask.purpose == "answer":
        try:
            answer = await run(ask)
        except UnreadableCallError as error:
            unreadable += 1
            if unreadable > MOST_ATTEMPTS:
                raise
            ask = replace(ask, added=told_again(error))
            await turn.emit(RetryEvent(str(error), 0))
            continue
        response, model = answer.response, turn.model.full_name
        if response.tool_calls or response.cut_calls or response.text.strip():
            return answer
        await record_unstored(turn, answer)
        fault = empty_answer(model, response)
        if response.stop_reason in (StopReason.CONTENT_FILTER, StopReason.REFUSAL):
            raise await without_newest(turn, fault)
        if model in asked_again:
            raise fault
        asked_again.add(model)
        await turn.emit(RetryEvent(str(fault), 0))
    return await run(ask)


def empty_answer(model: str, response: ModelResponse) -> ProviderError:
    """Return the error for an answer without text and calls, which names the model and the reason."""
    quoted = shlex.quote(model)
    hints = {
        StopReason.LENGTH_LIMIT: (
            "it spent all tokens before it said anything: let it think less with: oneclaw models set "
            f"{quoted} reasoning low, or allow more with: oneclaw models set {quoted} max_output_tokens NUMBER"
        ),
        StopReason.CONTENT_FILTER: "say it differently, or start a new session",
        StopReason.REFUSAL: "say it differently, or start a new session",
    }
    hint = hints.get(response.stop_reason, "try again, or choose another model")
    return ProviderError(
        f"{model} answered with nothing (finish reason: {response.finish_reason or response.stop_reason}); {hint}"
    )


async def kept(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Store the part of an answer that was shown before it broke off; it belongs to the history."""
    if ask.purpose not in ("answer", "explanation"):
        return await run(ask)
    read: list[str] = []

    def show(event: ModelEvent) -> Awaitable[None] | None:
        if isinstance(event, TextDelta):
            read.append(event.text)
        elif isinstance(event, TextWithdrawn):
            read.clear()
        return ask.show(event)

    try:
        return await run(replace(ask, show=show))
    except BaseException:
        if text := "".join(read):
            name = ask.turn.model.full_name
            partial = Message(type=MessageType.ASSISTANT, content=text, is_incomplete=True, model=name)
            with suppress(SessionBusyError):  # another turn's by now: why this one ends is what matters
                await ask.turn.store.append(ask.turn.session_id, [partial])
        raise
