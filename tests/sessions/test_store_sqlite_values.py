"""Values that do not belong into their columns are noticed, whether they are read or only used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from histories import assistant, change, opened, user

from oneclaw_core.errors import StoreDamagedError, UsageError
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.search import SearchRange
from oneclaw_core.types.messages import Attachment, Message, MessageType

if TYPE_CHECKING:
    from pathlib import Path

# PostgreSQL takes no such values.
pytestmark = [pytest.mark.every_python, pytest.mark.only("sqlite")]


def filled(home: Path) -> str:
    async def main() -> str:
        async with opened(home) as store:
            session = await store.create_session("work", agent="default", title="a title")
            files = (Attachment("a.png", "image/png", b"\x89PNG"),)
            await store.append(session.id, [Message(type=MessageType.USER, content="see", attachments=files)])
            await store.append(session.id, [user("one word"), assistant("two words")])
            return session.id

    return asyncio.run(main())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages SET content = x'ff00fe' WHERE sequence = 2",
        "UPDATE messages SET shown_characters = x'00' WHERE sequence = 3",
        "UPDATE attachments SET media_type = x'ff'",
        "UPDATE attachments SET data = 5",
        "UPDATE attachments SET data = 'text'",
    ],
)
def test_a_history_with_a_wrong_value_is_reported_as_damaged(tmp_path: Path, statement: str) -> None:
    session_id = filled(tmp_path)
    change(tmp_path, statement)

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.messages(session_id)

    with pytest.raises(StoreDamagedError, match=r"damaged .*: put a backup copy in its place"):
        asyncio.run(main())


def test_a_wrong_value_that_is_only_used_is_found_when_something_goes_wrong(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, "UPDATE sessions SET search_number = 'x'")

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_session("another", agent="default", title="word")
            await store.search(parse_query("word"), SearchRange(), wants_all=True)

    with pytest.raises(StoreDamagedError, match="holds a damaged value: put a backup copy in its place") as raised:
        asyncio.run(main())
    assert isinstance(raised.value.__cause__, TypeError)


def test_an_error_that_no_value_is_to_blame_for_stays_what_it_is(tmp_path: Path) -> None:
    def work(connection: object) -> None:
        raise TypeError("a fault of our own")

    async def main() -> None:
        async with opened(tmp_path) as store:
            with pytest.raises(TypeError, match="a fault of our own"):
                await store._database.read(work)
            with pytest.raises(UsageError):
                await store.create_session("", agent="default")

    asyncio.run(main())
