"""Show what a model would be sent next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.contract.arguments import SessionInfo
from oneclaw_core.providers.base import wire_request
from oneclaw_core.sessions.for_plugins import no_session, session_info
from oneclaw_core.turn.compaction import with_summary
from oneclaw_core.turn.context import check_texts
from oneclaw_core.turn.request import model_request, prepare_request, shown_history, tool_names
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ToolLoading
from oneclaw_core.types.tool_groups import restore_loaded_groups

if TYPE_CHECKING:
    from oneclaw_core.providers.base import WireRequest
    from oneclaw_core.turn.context import TurnParts
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.model_requests import ModelRequest


@frozen_dataclass(kw_only=True)
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


async def preview(
    parts: TurnParts, session: str | None, agent: str | None, model: str | None, *, is_wired: bool
) -> RequestPreview:
    """Show the next request as it is sent; see :meth:`oneclaw_core.OneClaw.preview_request`."""
    request, chosen = await next_request(parts, session, agent, model)
    loading = chosen.loading_of(request, chosen.tool_loading, chosen.left_out)
    sent = prepare_request(request, chosen.info, loading, chosen.max_output_tokens, chosen.left_out, chosen.reasoning)
    if loading.is_native and not chosen.loads_natively:
        loading = ToolLoading.APPEND
    return RequestPreview(
        model=chosen.full_name,
        provider_type=chosen.config.type,
        tool_loading=loading,
        request=sent,
        wire=wire_request(chosen.provider, sent) if is_wired else None,
    )


async def next_request(
    parts: TurnParts, session: str | None, agent: str | None, model: str | None
) -> tuple[ModelRequest, ChosenModel]:
    """Make the next request, without the user's message; see :meth:`oneclaw_core.OneClaw.next_request`."""
    check_texts(session=session, agent=agent, model=model)
    setup = await parts.store.turn_setup(session, agent)
    settings = parts.settings.read(setup.settings)
    found = setup.session
    if session is not None and found is None:
        raise no_session(session)
    persona, chosen = await parts.models.choose(setup, agent, model)
    await parts.plugins.refresh_settings(setup.settings)
    parts.apply_settings(setup.settings)
    parts.registry.set_disabled(setup.tool_states.disabled_tools, setup.tool_states.disabled_groups)
    history: list[Message] = []
    groups: list[str] = []
    info = session_info(found) if found is not None else SessionInfo(id="", agent=persona.name)
    prompt = await parts.prompt_of(info, persona, is_new=found is None, is_cached=chosen.writes_summaries)
    if found is not None:
        start = await parts.store.load_turn(found.id, settings.history_max_characters, prompt.sections)
        parts.apply_states(start)
        # The user's message would follow.
        *shown, _ = shown_history([*start.history, Message(type=MessageType.USER)])
        history = with_summary(shown, start.summary)
        groups = restore_loaded_groups(start.group_loads)
    request = model_request(
        persona,
        parts.registry,
        chosen.info.name,
        info.id,
        history,
        groups,
        kept_sections=prompt.sections,
        lists=prompt.shown,
        began_with=tool_names(prompt.shown),
    )
    return request, chosen
