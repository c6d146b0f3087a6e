"""Heal a session that a model service refuses: find the message that it refuses, and leave that out from then on.

A service that refuses a request for a reason that no rule explains would refuse every later request of the session too.
What can be left out of a request without loss is left out before, see :mod:`oneclaw_core.providers.left_out`. Then the
history is compacted once if it is long. Then the newest message is left out, which stays in the session, marked as not
sent. What is refused even so gets an error that names the way out.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import ContextTooLongError, ProviderError, ProviderRequestError
from oneclaw_core.turn.estimate import Estimator, message_tokens
from oneclaw_core.turn.request import not_sent_note
from oneclaw_core.types.messages import OWN_DATA, Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.model_requests import ModelRequest

# A shorter history is not the reason of a refusal that does not say so.
_LONG_TOKENS = 4_000
# The largest part of a known context window that is certainly not too long.
_SURELY_FITS = 4
# Enough for a service to accept the request; the answer is thrown away.
PROBE_OUTPUT_TOKENS = 64
_REASON_CHARACTERS = 300


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
    data = {**(own if isinstance(own, dict) else {}), "not_sent": reason_in(error)}
    return replace(message, provider_data={**(message.provider_data or {}), OWN_DATA: data})


def probe_request(request: ModelRequest, messages: Sequence[Message], error: ProviderError) -> ModelRequest:
    """Return the request without its newest message, to find out whether that is the one that is refused.

    Args:
        request: that was refused.
        messages: those of the request; the last one is the newest.
        error: the refusal.
    """
    note = replace(messages[-1], content=not_sent_note(reason_in(error)), attachments=())
    return replace(request, messages=(*messages[:-1], note), max_output_tokens=PROBE_OUTPUT_TOKENS)


def reason_in(error: ProviderError) -> str:
    """Return what the service said, without our own words before it."""
    return str(error).rpartition("it says: ")[2][:_REASON_CHARACTERS]


def with_way_out(error: ProviderError, session: str) -> ProviderError:
    """Return the error with the command that takes the refused message back."""
    return _like(
        error,
        f"{error}. If it goes on, take your last message back with: oneclaw undo --session {shlex.quote(session)}",
    )


def with_mark_named(error: ProviderError) -> ProviderError:
    """Return the error with what has become of the message."""
    return _like(error, f"{error}. Your message stays in the session, marked as not sent: later messages go without it")


def explained_overflow(
    error: ContextTooLongError, request: ModelRequest, model: ChosenModel, allowed: int | None
) -> ContextTooLongError:
    """Say how long a request is, what the service allows, and what to do.

    Args:
        error: of a request that cannot be made shorter.
        request: the request.
        model: which was asked.
        allowed: the longest request that the service takes, in tokens; ``None`` if it is not known.
    """
    if allowed is None:
        return error
    estimator = Estimator()
    needed = max(error.requested_tokens or 0, estimator.request(request))
    fixed = estimator.request(replace(request, messages=()))
    newest = estimator.request(replace(request, messages=request.messages[-1:])) - fixed
    parts = f"{fixed:,} for instructions and tools, {newest:,} for the newest message"
    explained = _like(
        error,
        f"{model.full_name} reads {allowed:,} tokens, and the request takes about {needed:,} ({parts}): choose a model "
        "that reads more; or let the server read more, with --ctx-size of llama.cpp, --max-model-len of vLLM, Context "
        "Length of LM Studio or OLLAMA_CONTEXT_LENGTH of Ollama; or use an agent with fewer tools, see: oneclaw agents "
        f"--help; it says: {reason_in(error)}",
    )
    assert isinstance(explained, ContextTooLongError)
    explained.allowed_tokens, explained.requested_tokens = allowed, needed
    return explained


def _like(error: ProviderError, message: str) -> ProviderError:
    made = type(error)(message)
    made.__dict__.update({name: value for name, value in error.__dict__.items() if not name.startswith("__")})
    return made
