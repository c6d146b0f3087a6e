"""Databases of older versions open, keep what is in them, and end up with the tables of a new one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from databases import backend_of
from histories import assistant, database_path, opened, url_of, user

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.settings import read_states
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageRecord
from oneclaw_core.types.messages import Attachment, Message, MessageType, TokenUsage

# PostgreSQL came with version 4; its migrations are in tests/sessions/test_store_postgres.py.
pytestmark = pytest.mark.only("sqlite")

SESSION = "0123456789abcdef0123456789abcdef"
VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    """A home with a database of version 1."""
    home = tmp_path / "old"
    home.mkdir()
    with closing(sqlite3.connect(database_path(home))) as connection:
        connection.executescript(VERSION_1)
    return home


def schema(path: Path) -> dict[str, object]:
    """Everything about the tables that has an effect, without how it is written down."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith("sqlite_")
        ]
        found: dict[str, object] = {}
        for table in tables:
            # The order of columns is that of their making, and nothing relies on it.
            columns = sorted(row[1:] for row in connection.execute(f"PRAGMA table_info({table})"))
            keys = sorted(row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({table})"))
            indexes = {
                name: (unique, partial, connection.execute(f"PRAGMA index_xinfo({name})").fetchall())
                for _, name, unique, _, partial in connection.execute(f"PRAGMA index_list({table})")
            }
            found[table] = (columns, keys, {name: index[:2] for name, index in indexes.items()})
            found[f"{table} indexes"] = {
                name: [(row[2], row[3], row[5]) for row in index[2]] for name, index in indexes.items()
            }
        return found


def test_a_database_of_version_1_keeps_its_rows(old_home: Path) -> None:
    async def main() -> None:
        async with opened(old_home) as store:
            session = await store.find_session("work")
            assert session is not None
            assert (session.id, session.title, session.model) == (SESSION, "a title", "openai/gpt")
            read = await store.messages(SESSION)
            assert [(each.sequence, each.content) for each in read] == [
                (1, "read it"),
                (2, ""),
                (4, "text"),
                (5, "it says text"),
            ]
            assert read[3].provider_data == {"openai": {"id": 1}}
            assert read[3].is_incomplete is False
            start = await store.load_turn(SESSION, None)
            assert (list(start.history), start.summary) == (read, None)
            assert [(each.name, each.source) for each in start.grants] == [("network.private", "version 0.1")]
            assert await store.settings() == {"model": "openai/gpt"}
            totals = await store.usage_totals(SESSION)
            assert (totals.requests, totals.input_tokens, totals.cached_input_tokens) == (2, 230, 60)
            assert (totals.cost, totals.priced_requests, totals.prefix_breaks) == (0.25, 1, 0)
            assert totals.at_least_requests == 0

    asyncio.run(main())


def test_a_database_of_version_1_can_do_what_is_new(old_home: Path) -> None:
    picture = Attachment("a.png", "image/png", b"\x89PNG\x00")

    async def main() -> None:
        async with opened(old_home) as store:
            used = UsageRecord(
                "openai", "gpt", TokenUsage(cache_write_tokens=7), prefix=PrefixFingerprint("t", "s", "h")
            )
            message = Message(type=MessageType.USER, attachments=(picture,))
            [stored, _] = await store.append(SESSION, [message, assistant()], usage=used)
            assert stored.sequence == 6
            await store.set_summary(SESSION, "a file was read", 5)
            start = await store.load_turn(SESSION, None)
            assert start.summary == "a file was read"
            assert [each.attachments for each in start.history] == [(picture,), ()]
            assert (await store.usage_totals()).cache_write_tokens == 7
            assert await store.delete_session(SESSION) is True
            assert (await store.usage_totals()).requests == 3

    asyncio.run(main())


def test_a_migrated_database_has_the_tables_of_a_new_one(old_home: Path, tmp_path: Path) -> None:
    async def main() -> None:
        for home in (old_home, tmp_path / "new"):
            async with opened(home):
                pass

    asyncio.run(main())
    assert schema(database_path(old_home)) == schema(database_path(tmp_path / "new"))


def test_listings_read_an_old_database_without_migrating_it(old_home: Path) -> None:
    states = read_states(backend_of(url_of(database_path(old_home))))
    assert states.settings == {"model": "openai/gpt"}
    assert states.disabled_tools == {"web_fetch"}
    with closing(sqlite3.connect(database_path(old_home))) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchone() == (1,)


def test_migrating_is_done_once(old_home: Path) -> None:
    async def main() -> None:
        for _ in range(2):
            async with opened(old_home) as store:
                await store.append(SESSION, [user()])

    asyncio.run(main())
    with closing(sqlite3.connect(database_path(old_home))) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(SCHEMA_VERSION,)]
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (6,)
        assert connection.execute("SELECT count(*) FROM usage").fetchone() == (2,)


def test_a_migration_that_fails_leaves_the_database_as_it_was(old_home: Path) -> None:
    path = database_path(old_home)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE grants (colour TEXT)")
    before = schema(path)

    async def main() -> None:
        async with opened(old_home):
            pass

    with pytest.raises(StoreError):
        asyncio.run(main())
    assert schema(path) == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM usage").fetchone() == (2,)


def test_a_grant_of_version_1_is_narrowed_to_what_does_no_harm(old_home: Path) -> None:
    with closing(sqlite3.connect(database_path(old_home))) as connection, connection:
        connection.executemany(
            "INSERT INTO permissions (name, decision, updated_at) VALUES (?, ?, 0)",
            [
                ("google.gmail.write", "grant"),
                ("google.drive.write", "deny"),
                ("files.write", "deny"),
                ("my.service.write", "grant"),
                ("my.service.organize", "deny"),
            ],
        )

    async def main() -> dict[str, list[str]]:
        async with opened(old_home) as store:
            found: dict[str, list[str]] = {"grant": [], "deny": []}
            for each in await store.grants():
                found[each.decision].append(each.name)
            return found

    assert asyncio.run(main()) == {
        "grant": ["google.gmail.organize", "google.gmail.write", "my.service.write", "network.private"],
        "deny": [
            "files.write",
            *(f"google.drive.{part}" for part in ("delete", "forward", "organize", "send", "share", "write")),
            "my.service.organize",
        ],
    }


def test_a_stored_provider_that_a_tool_added_is_marked(old_home: Path) -> None:
    stored = {
        "provider:stripe": {"type": "openai_compatible", "base_url": "https://evil.example/v1"},
        "provider:trick": {"type": "openai_compatible", "base_url": "https://trick.example/v1/"},
        "provider:lab": {"type": "openai_compatible", "base_url": "https://lab.example/v1"},
        "provider:openai": {"enabled": False},
    }
    calls = [
        ("create_provider", {"name": "stripe", "api_base_url": "https://evil.example/v1/"}),
        ("call_tool", {"name": "update_provider", "arguments": {"api_base_url": "https://trick.example/v1"}}),
        ("webfetch", {"url": "https://lab.example/v1"}),
    ]
    with closing(sqlite3.connect(database_path(old_home))) as connection, connection:
        rows = [(key, json.dumps(value)) for key, value in stored.items()]
        connection.executemany("INSERT INTO settings VALUES (?, ?, 0)", rows)
        for sequence, (tool, arguments) in enumerate(calls, 100):
            connection.execute(
                "INSERT INTO messages (session_id, sequence, type, tool_name, tool_input, content, created_at) "
                "SELECT session_id, ?, 'tool_call', ?, ?, '', 0 FROM messages LIMIT 1",
                (sequence, tool, json.dumps(arguments)),
            )

    async def main() -> list[str]:
        async with opened(old_home) as store:
            settings = await store.settings()
            return [key for key in stored if settings[key].get("address_set_by_tool")]

    assert asyncio.run(main()) == ["provider:stripe", "provider:trick"]
