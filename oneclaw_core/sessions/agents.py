"""Store, find, change and delete agents."""

# ruff: noqa: RUF001  # letters that look alike

from __future__ import annotations

import json
import re
import unicodedata
import uuid
from dataclasses import asdict, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import AgentError, ConstraintError, DuplicateError, NotFoundError
from oneclaw_core.sessions import schema
from oneclaw_core.sessions.backend import Connection, damaged_value, insertion, now, to_datetime, to_stored
from oneclaw_core.types.agents import (
    BUILTIN_AGENTS,
    GENERAL_ASSISTANT,
    Agent,
    AgentLimits,
    builtin_agent,
    check_own,
    name_key,
)
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tools import ToolSelection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_ID = re.compile(r"[0-9a-f]{32}")
_WRITTEN = tuple(each.name for each in schema.agents.columns)
_COLUMNS = tuple(each for each in _WRITTEN if each != "name_key")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM agents"
_LIST = f"{_SELECT} ORDER BY name_key"
_FIND_BY_NAME = f"{_SELECT} WHERE name_key = :it"
_FIND_BY_ID = f"{_SELECT} WHERE id = :it"
_INSERT = insertion("agents", _WRITTEN)
_CHANGED = tuple(each for each in _WRITTEN if each not in ("id", "created_at"))
_UPDATE = f"UPDATE agents SET {', '.join(f'{each} = :{each}' for each in _CHANGED)} WHERE id = :it"
_DELETE_GRANTS = "DELETE FROM grants WHERE agent = :name"
_RENAME_GRANTS = "UPDATE grants SET agent = :new_name WHERE agent = :old_name"
# What is denied to those that make an agent is denied to it, too.
_COPY_DENIALS = """
    INSERT INTO grants (permission, pattern, agent, task, directory, decision, expires_at, source, created_at)
    SELECT permission, pattern, :name, task, directory, decision, expires_at, source, :moment FROM grants
    WHERE agent = :maker AND decision = 'deny'
    ON CONFLICT (permission, pattern, agent, task, directory) DO NOTHING"""
_HAND_OVER = "UPDATE sessions SET agent = :new_name WHERE agent = :old_name"

# Letters of other alphabets, small capitals, digits and signs that fonts hardly tell from Latin letters.
_LETTERS = (
    "аaеeоoрpсcуyхxіiјjѕsԁdһhԛqԝwкkтtмmгrүyАAВBЕEКKМMНHОOРPСCТTУYХXІlЈJЅSӀlӏlԌGԚQԜWҮY"
    "οoαaνvρpιiυuκkγyσoτtΑAΒBΕEΖZΗHΙlΚKΜMΝNΟOΡPΤTΥYΧXϹCϲcϳjͿJ"
    "օoսuոnհhցgզqՕOՍUՏSԼL"
    "ᎪAᎬEᎳWᏚSᏢPᎢTᎡRᎷMᎻHᏀGᏟCᏙVᏞLᏦKᏴBᏃZᎫJᎠD"
    "ᴀaʙbᴄcᴅdᴇeɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzıiɑaɡgɩiȷj"
    "Il1l|lǀl0O`'´'‘'’'ʹ'ʼ'‐-‑-‒-–-—-−-·."
)
_LIKE = str.maketrans({letter: _LETTERS[place + 1] for place, letter in enumerate(_LETTERS) if place % 2 == 0})
# Letters and signs to Unicode, and nothing to see; what chooses between pictures of a character.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_KINDS_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def listed(connection: Connection) -> list[Agent]:
    """List the stored agents, by their names in alphabetical order."""
    return [_to_agent(row) for row in connection.execute(_LIST)]


def find(connection: Connection, name_or_id: str) -> Agent | None:
    """Find a stored agent by its name, in any case, or its id."""
    wanted = clean_text(name_or_id)
    row = connection.execute(_FIND_BY_NAME, {"it": name_key(wanted)}).fetchone()
    if row is None and _ID.fullmatch(wanted):
        row = connection.execute(_FIND_BY_ID, {"it": wanted}).fetchone()
    return None if row is None else _to_agent(row)


def find_any(connection: Connection, name_or_id: str | None) -> Agent | None:
    """Find an agent, built in or stored, by its name, in any case, or its id; no name is the General Assistant."""
    if name_or_id is None:
        return GENERAL_ASSISTANT
    return builtin_agent(name_or_id) or find(connection, name_or_id)


def create(connection: Connection, agent: Agent, makers: Sequence[str] = ()) -> Agent:
    """Store a new agent.

    Args:
        agent: as it is to be.
        makers: the names of the agents that make it; what is denied to them is denied to it.

    Returns:
        The agent as it is stored, with its id.

    Raises:
        DuplicateError: there is one of that name already.
    """
    moment = to_datetime(now())
    stored = replace(agent, id=uuid.uuid4().hex, is_builtin=False, created_at=moment, updated_at=moment)
    _check_name_is_free(connection, stored)
    try:
        connection.execute(_INSERT, {"id": stored.id, "created_at": to_stored(moment), **_values(stored)})
    except ConstraintError:
        raise _duplicate(stored.name) from None
    for maker in makers:
        connection.execute(_COPY_DENIALS, {"name": stored.name, "maker": maker, "moment": to_stored(moment)})
    return stored


def change(connection: Connection, name_or_id: str, change: Callable[[Agent], Agent]) -> Agent:
    """Change a stored agent; its sessions and the decisions on its permissions follow a change of its name.

    Args:
        name_or_id: which agent.
        change: returns the new agent for the one that is stored now; what it raises is passed on.

    Returns:
        The agent as it is stored from now on.

    Raises:
        NotFoundError: there is no such agent.
        ProtectedError: it is built in.
        DuplicateError: there is another one of the new name.
    """
    old = _changeable(connection, name_or_id, "changed")
    new = replace(change(old), id=old.id, is_builtin=False, created_at=old.created_at, updated_at=to_datetime(now()))
    if new.name != old.name:
        _check_name_is_free(connection, new)
    try:
        connection.execute(_UPDATE, {"it": old.id, **_values(new)})
    except ConstraintError:
        raise _duplicate(new.name) from None
    if new.name != old.name:
        connection.execute(_DELETE_GRANTS, {"name": new.name})
        connection.execute(_RENAME_GRANTS, {"old_name": old.name, "new_name": new.name})
        _hand_over(connection, old.name, new.name)
    return new


def remove(connection: Connection, name_or_id: str) -> tuple[Agent, int]:
    """Delete a stored agent; its sessions continue with the General Assistant.

    The decisions on its permissions are deleted too, so that a later agent of the same name has none of them.

    Returns:
        The agent that is gone, and how many sessions it had.

    Raises:
        NotFoundError: there is no such agent.
        ProtectedError: it is built in.
    """
    agent = _changeable(connection, name_or_id, "deleted")
    connection.execute("DELETE FROM agents WHERE id = :it", {"it": agent.id})
    connection.execute(_DELETE_GRANTS, {"name": agent.name})
    return agent, _hand_over(connection, agent.name, GENERAL_ASSISTANT.name)


def not_found(name_or_id: str) -> NotFoundError:
    """Return the error for an unknown agent."""
    return NotFoundError(
        f"there is no agent {clean_text(name_or_id)[:100]!r}; list those there are with: oneclaw agents list"
    )


def _changeable(connection: Connection, name_or_id: str, done: str) -> Agent:
    # What is changed must be what is stored when it is changed.
    connection.lock("agents")
    agent = find_any(connection, name_or_id)
    if agent is None:
        raise not_found(name_or_id)
    check_own(agent, done)
    return agent


def _check_name_is_free(connection: Connection, agent: Agent) -> None:
    """Reject names of built-in agents, which have no row, names that look like another's, and those of an id's form."""
    if builtin_agent(agent.name) is not None:
        raise _duplicate(agent.name)
    if _ID.fullmatch(agent.name):
        raise AgentError("32 hexadecimal digits cannot be an agent's name: they would be taken for an id")
    if _has_unseen(agent.name):
        raise AgentError(f"an agent's name must not hold characters that cannot be seen, as {agent.name!a} does")
    others = [*BUILTIN_AGENTS, *listed(connection)]
    alike = next((each for each in others if each.id != agent.id and _look(each.name) == _look(agent.name)), None)
    if alike is not None and name_key(alike.name) != name_key(agent.name):
        raise DuplicateError(f"{agent.name!r} looks like the name of the agent {alike.name!r}: choose another name")


def _duplicate(name: str) -> DuplicateError:
    return DuplicateError(f"there is an agent named {name!r} already (case does not count): choose another name")


def _hand_over(connection: Connection, old_name: str, new_name: str) -> int:
    return connection.execute(_HAND_OVER, {"old_name": old_name, "new_name": new_name}).rowcount


def _values(agent: Agent) -> dict[str, Any]:
    assert agent.updated_at is not None, agent.name
    return {
        "name": agent.name,
        "name_key": name_key(agent.name),
        "description": agent.description,
        "system_prompt": clean_text(agent.system_prompt),
        "model": agent.model,
        "parameters": _json(dict(agent.parameters)),
        **asdict(agent.limits),
        "selected_tools": _names_to_text(agent.selection.tools),
        "selected_groups": _names_to_text(agent.selection.groups),
        "updated_at": to_stored(agent.updated_at),
    }


def _json(value: Any) -> str:
    return clean_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _names_to_text(names: Iterable[str] | None) -> str | None:
    return None if names is None else _json(sorted(names))


def _to_names(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(json.loads(text))


@lru_cache(maxsize=64)  # each turn reads its agent, and nearly all find it as it was
def _to_agent(row: tuple[Any, ...]) -> Agent:
    it = dict(zip(_COLUMNS, row, strict=True))
    try:
        return Agent(
            limits=AgentLimits(**{each.name: it.pop(each.name) for each in fields(AgentLimits)}),
            selection=ToolSelection(_to_names(it.pop("selected_tools")), _to_names(it.pop("selected_groups"))),
            parameters=json.loads(it.pop("parameters")),
            created_at=to_datetime(it.pop("created_at")),
            updated_at=to_datetime(it.pop("updated_at")),
            **it,
        )
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged_value(f"agent ({row[0]})") from error


def _has_unseen(name: str) -> bool:
    """Return True if a name holds a character that a person does not see, or that reorders others."""
    return _UNSEEN.search(name) is not None or any(unicodedata.category(each) in _KINDS_UNSEEN for each in name)


def _look(name: str) -> str:
    """Return a form that is equal for names that a person takes for one another, whatever their case."""
    seen = "".join(each for each in name if not _has_unseen(each))
    latin = unicodedata.normalize("NFKC", seen).translate(_LIKE).casefold()
    return " ".join(unicodedata.normalize("NFKC", latin).translate(_LIKE).replace("rn", "m").split())
