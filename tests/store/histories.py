"""Short ways to write down entries of a history, and to open a store."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.store.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def user(text: str = "hello") -> Message:
    return Message(type=MessageType.USER, content=text)


def assistant(text: str = "hello yourself") -> Message:
    return Message(type=MessageType.ASSISTANT, content=text)


def call(call_id: str, name: str = "read_file", arguments: str = "{}") -> Message:
    return Message(
        type=MessageType.TOOL_CALL,
        tool_call_id=call_id,
        tool_name=name,
        tool_input=arguments,
        tool_status=ToolCallStatus.PENDING,
    )


def success(call_id: str, text: str = "done", name: str = "read_file") -> Message:
    return Message(
        type=MessageType.TOOL_RESULT,
        content=text,
        tool_call_id=call_id,
        tool_name=name,
        tool_status=ToolCallStatus.SUCCESS,
        duration_ms=1.5,
    )


def failure(call_id: str, error_type: str = "execution_error", name: str = "read_file") -> Message:
    return Message(
        type=MessageType.TOOL_RESULT,
        content="it broke",
        tool_call_id=call_id,
        tool_name=name,
        tool_status=ToolCallStatus.ERROR,
        error_type=error_type,
    )


def database_path(home: Path) -> Path:
    return home / "oneclaw.db"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Store]:
    async with await Store.open(url_of(database_path(home)), lock_directory=home / "locks") as store:
        yield store
