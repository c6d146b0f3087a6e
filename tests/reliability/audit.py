"""Looks through a store for what must not be: calls that are lost, doubled or open, and damage to the file."""

from __future__ import annotations

import collections
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from oneclaw_core.types.messages import MessageType, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.types.messages import Message


def faults_of(messages: Sequence[Message]) -> list[str]:
    """What is wrong with a history in which no turn is under way; empty if nothing is."""
    faults = []
    calls = [each for each in messages if each.type is MessageType.TOOL_CALL]
    results = collections.defaultdict(list)
    seen: set[str | None] = set()
    for message in messages:
        if message.type is MessageType.TOOL_CALL:
            seen.add(message.tool_call_id)
        if message.type is MessageType.TOOL_RESULT:
            results[message.tool_call_id].append(message)
            if message.tool_call_id not in seen:
                faults.append(f"result {message.tool_call_id!r} stands before its call, or has none")
    counts = collections.Counter(call.tool_call_id for call in calls)
    faults += [f"{count} calls have the id {call_id!r}" for call_id, count in counts.items() if count > 1]
    for call in calls:
        found = results[call.tool_call_id]
        if len(found) != 1:
            faults.append(f"call {call.tool_call_id!r} has {len(found)} results")
        elif found[0].tool_status is not call.tool_status:
            faults.append(f"call {call.tool_call_id!r} is {call.tool_status}, its result {found[0].tool_status}")
        elif call.tool_status is ToolCallStatus.PENDING:
            faults.append(f"call {call.tool_call_id!r} is still open")
    numbers = [message.sequence or 0 for message in messages]
    if numbers != sorted(set(numbers)):
        faults.append("the entries are not in order")
    return faults


def faults_of_file(path: Path) -> list[str]:
    """What SQLite itself finds wrong with a file, and calls without exactly one result in any of its sessions."""
    with closing(sqlite3.connect(path)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        doubled = connection.execute(
            "SELECT session_id, tool_call_id, count(*) FROM messages WHERE type IN ('tool_call', 'tool_result') "
            "GROUP BY session_id, tool_call_id, type HAVING count(*) > 1"
        )
        found += [f"doubled: {row}" for row in doubled]
        unanswered = connection.execute(
            "SELECT session_id, tool_call_id FROM messages WHERE type = 'tool_call' AND (tool_status = 'pending' OR "
            "NOT EXISTS (SELECT 1 FROM messages AS r WHERE r.type = 'tool_result' "
            "AND r.session_id = messages.session_id AND r.tool_call_id = messages.tool_call_id))"
        )
        return found + [f"unanswered: {row}" for row in unanswered]
