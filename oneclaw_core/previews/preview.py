"""Show what a model would be sent next, and the state of a session: its model, its use of the context, what it used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.compaction.estimate import definition_tokens, message_tokens, text_tokens
from oneclaw_core.models.adapted import loading_of, prepare_request
from oneclaw_core.providers.base import WireRequest, wire_request
from oneclaw_core.sessions.conversations import no_session
from oneclaw_core.sessions.usage import UsageTotals
from oneclaw_core.turn.beginning import look, resolve
from oneclaw_core.turn.request import shown_history
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ModelRequest, ToolLoading

if TYPE_CHECKING:
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import TurnParts
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.tools import ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPreview:
    """The next request to a model.

    Attributes:
        model: ``PROVIDER/MODEL``.
        provider_type: the wire format.
        tool_loading: how loaded groups are told to the model; never a way that its provider does not have.
        request: what is sent, whichever the wire format.
        wire: the same as its provider writes it; ``None`` if not asked for, for a provider that does not show it, or
            sends nothing.
    """

    model: str
    provider_type: str
    tool_loading: ToolLoading
    request: ModelRequest
    wire: WireRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """The state of a session between two turns.

    Attributes:
        model: that answers the next message, as ``PROVIDER/MODEL``.
        context_window: what the model reads and writes together, in tokens; ``None`` if it is not known.
        context_tokens: what the service counted for the last request; ``None`` for a new session, or if it did not.
        groups: the loaded tool groups, in the order of loading.
        usage: what the session's requests used and cost.
    """

    model: str
    context_window: int | None
    context_tokens: int | None
    groups: tuple[str, ...]
    usage: UsageTotals

    @property
    def context_share(self) -> float | None:
        """Return the share of the context window that is used, from 0 to 1; ``None`` if it is not known."""
        if not self.context_window or self.context_tokens is None:
            return None
        return min(self.context_tokens / self.context_window, 1.0)


class Previews:
    """Shows what would be sent next, and the state of sessions.

    Args:
        parts: of the open home.
    """

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts

    async def preview(self, asked: TurnRequest, *, is_wired: bool) -> RequestPreview:
        """Show the next request as it is sent; see :meth:`oneclaw_core.OneClaw.preview_request`."""
        request, chosen = await self.next_request(asked)
        loading = loading_of(chosen, request)
        sent = prepare_request(request, chosen)
        if loading.is_native and not chosen.loads_natively:
            loading = ToolLoading.APPEND
        return RequestPreview(
            model=chosen.full_name,
            provider_type=chosen.config.type,
            tool_loading=loading,
            request=sent,
            wire=wire_request(chosen.provider, sent) if is_wired else None,
        )

    async def next_request(self, asked: TurnRequest) -> tuple[ModelRequest, ChosenModel]:
        """Make the next request, without the user's message; see :meth:`oneclaw_core.OneClaw.next_request`."""
        turn, setup = await resolve(self._parts, asked)
        session = turn.session
        if setup.session is not None:
            start = await look(turn)
            # The user's message would follow.
            *session.history, _ = shown_history([*start.history, Message(type=MessageType.USER)])
        elif asked.session is not None:
            raise no_session(asked.session)
        else:
            session.info = replace(session.info, id="")
            session.prompt = await self._parts.prompts.of(session.info, session.agent, is_new=True)
        return turn.next_request(), turn.model

    async def status(self, asked: TurnRequest) -> SessionStatus:
        """Read the status of a session; see :meth:`oneclaw_core.OneClaw.session_status`."""
        request, chosen = await self.next_request(asked)
        tokens, usage = None, UsageTotals()
        if request.session_id:
            tokens = (await self._parts.store.load_turn(request.session_id, 0)).last_input_tokens
            usage = await self._parts.store.usage_totals(request.session_id)
        return SessionStatus(
            model=chosen.full_name,
            context_window=chosen.info.context_window,
            context_tokens=tokens,
            groups=tuple(each.name for each in request.tools.groups),
            usage=usage,
        )


def request_document(preview: RequestPreview) -> dict[str, Any]:
    """Describe a request, each part with its estimated size in tokens."""
    request = preview.request
    group_of = {definition.name: group.name for group in request.tools.groups for definition in group.tools}
    tools = [_tool_document(definition, group_of.get(definition.name)) for definition in request.tools]
    messages = [_message_document(message) for message in request.messages]
    sizes = {
        "system_prompt": text_tokens(request.system_prompt),
        "tools": sum(tool["estimated_tokens"] for tool in tools),
        "messages": sum(message["estimated_tokens"] for message in messages),
    }
    return {
        "model": preview.model,
        "tool_loading": str(preview.tool_loading),
        "max_output_tokens": request.max_output_tokens,
        "parameters": dict(request.parameters),
        "system_prompt": request.system_prompt,
        "tools": tools,
        "messages": messages,
        "estimated_tokens": {**sizes, "total": sum(sizes.values())},
    }


def _tool_document(definition: ToolDefinition, group: str | None) -> dict[str, Any]:
    sent = {"name": definition.name, "description": definition.description, "parameters": definition.parameters}
    return {**sent, "group": group, "estimated_tokens": definition_tokens(definition)}


def _message_document(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"type": str(message.type)}
    if message.tool_name is not None:
        document |= {"tool_call_id": message.tool_call_id, "tool_name": message.tool_name}
    if message.type is MessageType.TOOL_CALL:
        document["arguments"] = message.tool_input
    else:
        document["content"] = message.content
    if message.type is MessageType.TOOL_RESULT:
        document |= {"status": str(message.tool_status), "error_type": message.error_type}
    if message.provider_data is not None:
        document["provider_data"] = message.provider_data
    return {**document, "estimated_tokens": message_tokens(message)}
