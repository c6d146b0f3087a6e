"""The transactions of turns."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions import agents, messages, scripts, sessions, settings, usage
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.provenance import Mark, marks_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from oneclaw_core.sessions.backend import Connection
    from oneclaw_core.sessions.sessions import NewSession, Session
    from oneclaw_core.sessions.settings import ToolStates, UserStates
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.permissions import Grant

_STOP_SETTING = "stop:"
_STOP_REQUESTS = f"SELECT key, value FROM settings WHERE substr(key, 1, {len(_STOP_SETTING)}) = '{_STOP_SETTING}'"
# An older request was left behind by a program that was killed. Clocks of several machines may differ by less.
_STOP_REQUEST_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """Stored data that decides how a turn runs, read before its session is locked or begun.

    Attributes:
        settings: all settings.
        session: the session, ``None`` if there is none of that name.
        agent: the agent asked for, else the session's, else the General Assistant; ``None`` if there is none of that
            name.
        tool_states: the disabled tools and groups.
    """

    settings: dict[str, Any]
    session: Session | None
    agent: Agent | None
    tool_states: ToolStates


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The stored state that a turn continues from, read at one moment.

    Attributes:
        history: the newest turns of what follows on the summary, at least the last one; with a summary it may begin
            within a turn.
        group_loads: the successful calls of ``load_tool_group`` of the whole history.
        pending_calls: the calls without an outcome, left by a turn that was killed.
        grants: the user's decisions on permissions.
        tool_states: the disabled tools and groups.
        summary: stands for what precedes ``history``, ``None`` for nothing.
        summary_until: the ``sequence`` of the last message that it stands for.
        last_input_tokens: what the service counted for the session's last request, ``None`` if it is not known.
        marks: where the text of the whole history comes from.
    """

    history: tuple[Message, ...]
    group_loads: tuple[Message, ...]
    pending_calls: tuple[Message, ...]
    grants: tuple[Grant, ...]
    tool_states: ToolStates
    summary: str | None = None
    summary_until: int | None = None
    last_input_tokens: int | None = None
    marks: tuple[Mark, ...] = ()


def read_setup(connection: Connection, session: str | None, agent: str | None) -> TurnSetup:
    """Read what decides how a turn is to be run.

    Args:
        session: the session's name or id, as for :func:`~oneclaw_core.sessions.sessions.find`; ``None``
            for one that is yet to begin.
        agent: the agent's name or id; ``None`` for the session's.
    """
    found = sessions.find(connection, session) if session is not None else None
    wanted = agent if agent is not None or found is None else found.agent
    states = settings.read_tool_states(connection)
    return TurnSetup(settings.read_settings(connection), found, agents.find_any(connection, wanted), states)


def load(connection: Connection, session_id: str, max_characters: int | None) -> TurnStart:
    """Read all that a turn needs at its start; how long the history is does not matter.

    Args:
        max_characters: the limit of all texts, arguments and shown parts of results in the history; ``None`` for no
            limit.
    """
    summary, until, marks = sessions.read_summary(connection, session_id)
    pending = messages.pending_calls(connection, session_id)
    return TurnStart(
        history=messages.newest_turns(connection, session_id, pending, max_characters, until),
        group_loads=tuple(messages.group_loads(connection, session_id)),
        pending_calls=tuple(pending),
        grants=settings.read_grants(connection),
        tool_states=settings.read_tool_states(connection),
        summary=summary,
        summary_until=until,
        last_input_tokens=usage.last_input_tokens(connection, session_id),
        marks=marks_of_text(marks) if marks else (),
    )


def resume(
    connection: Connection,
    session_id: str,
    max_characters: int | None,
    prompt_sections: str = "",
    prompt_lists: str | None = None,
) -> TurnStart:
    """Read all that is needed to finish a turn that was killed; its open calls stay as they are.

    Args:
        max_characters: as in :func:`load`.
        prompt_sections: as in :func:`begin`.
        prompt_lists: kept with sections that are renewed.
    """
    if sessions.kept_sections(connection, session_id) is None:
        sessions.keep_sections(connection, session_id, prompt_sections, prompt_lists)
    return load(connection, session_id, max_characters)


def begin(
    connection: Connection,
    session_id: str,
    message: Message,
    interrupted: Message,
    max_characters: int | None,
    prompt_sections: str = "",
    prompt_lists: str | None = None,
) -> TurnStart:
    """Begin a turn: answer the calls that a killed turn left open, store the user's message, and read the rest.

    Args:
        message: the user's.
        interrupted: the result for each open call, without its id and name.
        max_characters: as in :func:`load`.
        prompt_sections: the sections as they are now; the turn gets those that are kept with the session, unless they
            are to be renewed, see :func:`oneclaw_core.sessions.sessions.kept_sections`.
        prompt_lists: the lists to keep with the session from now on, as JSON; ``None`` to leave those that are kept.

    Raises:
        NotFoundError: the session is gone.
    """
    # First, for a message ends the session's rest.
    kept = sessions.kept_sections(connection, session_id)
    lists = prompt_lists if kept is None or prompt_lists is not None else kept.lists
    if kept is None or kept.lists != lists:
        sections = prompt_sections if kept is None else kept.text
        sessions.keep_sections(connection, session_id, sections, lists)
    pending = messages.pending_calls(connection, session_id)
    answers = [replace(interrupted, tool_call_id=it.tool_call_id, tool_name=it.tool_name) for it in pending]
    answers = scripts.cut_off(connection, session_id, answers)
    messages.append(connection, session_id, [*answers, message])
    return load(connection, session_id, max_characters)


def begin_session(
    connection: Connection,
    session_id: str,
    message: Message,
    *,
    prompt_sections: str = "",
    prompt_lists: str | None = None,
    **about: Unpack[NewSession],
) -> tuple[Session, TurnStart]:
    """Begin a session without a name together with its first turn: both or neither is done.

    Args:
        session_id: from :func:`oneclaw_core.sessions.sessions.new_id`, so that it can be locked before.
        message: the user's.
        prompt_sections: as for :func:`begin`.
        prompt_lists: as for :func:`begin`.
        about: as for :func:`oneclaw_core.sessions.sessions.create`.

    Raises:
        NotFoundError: there is no session of the id ``parent_id``.
    """
    session = sessions.create(
        connection, session_id=session_id, prompt_sections=prompt_sections, prompt_lists=prompt_lists, **about
    )
    messages.append(connection, session_id, [message])
    return session, load(connection, session_id, None)


def store_answer(
    connection: Connection, session_id: str, new: Sequence[Message], used: UsageRecord | None
) -> tuple[list[Message], UserStates | None]:
    """Store an answer of a model, and read what decides whether its calls may run.

    Args:
        new: the entries of the answer, as for :func:`oneclaw_core.sessions.messages.append`.
        used: by the request; ``None`` for an answer that no model has given.

    Returns:
        The entries as they are stored, and what the user has set by now; ``None`` for an answer without calls.
    """
    stored = messages.append(connection, session_id, new)
    if used is not None:
        usage.record(connection, session_id, used)
    has_calls = any(each.type is MessageType.TOOL_CALL for each in stored)
    return stored, settings.read_user_states(connection) if has_calls else None


def request_stop(connection: Connection, session_id: str) -> None:
    """Ask the process that runs the turn of a session to stop it; that process withdraws the request when it has."""
    settings.set_setting(connection, _STOP_SETTING + session_id, time.time())


def stop_requests(connection: Connection) -> set[str]:
    """Return the ids of the sessions whose turns are to be stopped."""
    oldest = time.time() - _STOP_REQUEST_SECONDS
    requests = connection.execute(_STOP_REQUESTS).fetchall()
    return {key.removeprefix(_STOP_SETTING) for key, requested in requests if float(requested) >= oldest}


def withdraw_stop(connection: Connection, session_id: str) -> bool:
    """Remove the request to stop the turn of a session; return True if there was one."""
    return settings.remove_setting(connection, _STOP_SETTING + session_id)
