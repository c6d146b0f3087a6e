"""Refusals of the store, word for word: each message says what is wrong and what to do."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from histories import assistant, call, success, user
from how_long import some

from oneclaw_core.errors import OneClawError, StoreDamagedError, StoreVersionError
from oneclaw_core.sessions import SCHEMA_VERSION, plugin_storage
from oneclaw_core.sessions.sqlite_backend import SqliteBackend, path_of
from oneclaw_core.sessions.store import Store
from oneclaw_core.types.agents import Agent

pytestmark = pytest.mark.only("sqlite")
ID, PART = "0" * 32, "1" * 32
POET = Agent(name="Poet", description="", system_prompt="You write.")


class Shelf:
    """A store with the session ``story``: a message, an answer, a call, its result, a message."""

    def __init__(self, store, session, path):
        self.store, self.session, self.path = store, session, path
        self.storage = store.plugin_storage("notes")

    def end(self, first, part=PART):
        return self.store.end_history(self.session.id, first, part)

    async def ended_and_gone_on(self):
        await self.end(5)
        await self.store.append(self.session.id, [user("Another")])
        await self.store.restore_history(self.session.id, PART)

    async def twice(self, name):
        await self.store.create_agent(POET)
        await self.store.create_agent(replace(POET, name=name))

    async def full(self):
        for number in range(4):
            await self.storage.set(f"key {number}", number)

    async def written(self, statement):
        tables = await self.storage.tables([])
        await tables.write(lambda it: it.execute(statement))

    async def tables(self, name, migrations=()):
        await self.store.plugin_storage(name).tables(migrations)


def step(connection):
    connection.execute("CREATE TABLE notes__a (x TEXT)")


async def newer_tables(it):
    await it.tables("notes", [step, lambda connection: None])
    await it.store.plugin_storage("notes").tables([step])


async def same_prefix(it):
    await it.tables("a-b", [lambda connection: None])
    await it.tables("a_b", [lambda connection: None])


NO_SESSION = f"there is no session {ID} (any more): `oneclaw sessions list` shows those there are"
REFUSALS = {
    "a name that is taken": (
        lambda it: it.store.create_session(name="story", agent="Poet"),
        "there is a session named 'story' already: continue it, or choose another name",
    ),
    "a new name that is taken": (
        lambda it: it.store.rename_session(it.other.id, "story"),
        "there is a session named 'story' already: choose another name",
    ),
    "an empty name": (
        lambda it: it.store.create_session(name=" ", agent="Poet"),
        "a session's name must not be empty: give it a name, or none at all",
    ),
    "a name with a line end": (
        lambda it: it.store.rename_session(it.session.id, "a\nb"),
        "a session's name must hold no line ends or other control characters, as 'a\\nb' does: give it another name",
    ),
    "a session that is gone": (lambda it: it.store.append(ID, [user("Hi")]), NO_SESSION),
    "a parent that is gone": (lambda it: it.store.create_session(agent="Poet", parent_id=ID), NO_SESSION),
    "no id": (
        lambda it: it.store.end_history(it.session.id, 5, "part"),
        "'part' is not a session's id: find the session first",
    ),
    "a summary until nothing": (
        lambda it: it.store.set_summary(it.session.id, "They met.", 99),
        "the session has no message 99 at which a summary could end",
    ),
    "a summary between call and result": (
        lambda it: it.store.set_summary(it.session.id, "They met.", 3),
        "a summary until message 3 would part a tool call from its result",
    ),
    "an end at nothing": (lambda it: it.end(99), "the session has no message 99 at which its history could end"),
    "an end between call and result": (
        lambda it: it.end(4),
        "a history that ends before message 4 would part a tool call from its result",
    ),
    "a part before what was said since": (
        Shelf.ended_and_gone_on,
        "the session went on since these messages were taken back: take back first what was said since",
    ),
    "a branch between call and result": (
        lambda it: it.store.branch_session(it.session.id, None, 4),
        "a branch before message 4 would part a tool call from its result",
    ),
    "a branch of nothing": (
        lambda it: it.store.branch_session(it.session.id, None, 1),
        "there is nothing to copy: the session has no message before that",
    ),
    "a message as a result": (
        lambda it: it.store.finish_calls(it.session.id, [user("Hi")]),
        "a call is finished by its result, not by a message of type 'user'",
    ),
    "a result without a status": (
        lambda it: it.store.finish_calls(it.session.id, [replace(success("c1"), tool_status=None)]),
        "the result of a tool call is either a success or an error: set its tool_status",
    ),
    "a result without a call": (
        lambda it: it.store.finish_calls(it.session.id, [success("c9")]),
        "the session has no tool call 'c9' that a result could belong to",
    ),
    "data that is no JSON": (
        lambda it: it.store.append(it.session.id, [replace(assistant(), provider_data={"x": {1}})]),
        "provider_data must be what JSON can hold (Object of type set is not JSON serializable)",
    ),
    "a setting that is no JSON": (
        lambda it: it.store.set_setting("x", {1}),
        "the value of setting 'x' must be what JSON can hold (Object of type set is not JSON serializable)",
    ),
    "a kind that is no switch": (
        lambda it: it.store.set_tool_enabled("plugin", "x", False),
        "'tool' or 'group' can be enabled and disabled, not 'plugin'",
    ),
    "an agent's name that is taken": (
        lambda it: it.twice("POET"),
        "there is an agent named 'POET' already (case does not count): choose another name",
    ),
    "an agent's name like an id": (
        lambda it: it.store.create_agent(replace(POET, name=ID)),
        "32 hexadecimal digits cannot be an agent's name: they would be taken for an id",
    ),
    "an agent that is not there": (
        lambda it: it.store.delete_agent("x" * 200),
        f"there is no agent {'x' * 100!r}; list those there are with: oneclaw agents list",
    ),
    "a storage that is full": (
        Shelf.full,
        "the storage of plugin notes is full: it holds 3 keys already; delete some, or use tables",
    ),
    "a key that is too long": (
        lambda it: it.storage.set("k" * 501, 1),
        "a key of a plugin's storage is a text of 1 to 500 characters",
    ),
    "a key that is no text": (
        lambda it: it.storage.set_if_absent(5, 1),
        "a key of a plugin's storage is a text of 1 to 500 characters",
    ),
    "a time that is over": (
        lambda it: it.storage.set("k", 1, ttl_seconds=0),
        "ttl_seconds is a number of seconds above 0, not 0",
    ),
    "a value that is no JSON": (
        lambda it: it.storage.change("k", lambda value: {1}),
        "the value of 'k' must be what JSON can hold (Object of type set is not JSON serializable)",
    ),
    "a value that is too long": (
        lambda it: it.storage.set("k", "x" * 999),
        "the value of 'k' has 1001 bytes as JSON, 1000 are allowed: use a file in the plugin's folder, or tables",
    ),
    "tables of a session": (
        lambda it: it.storage.of_session(it.session.id).tables([]),
        "tables belong to a plugin, not to a session: ask the plugin's storage for them",
    ),
    "a value of a session that is gone": (
        lambda it: it.storage.of_session(ID).set("k", 1),
        f"there is no session {ID} that a value could belong to",
    ),
    "a statement of another kind": (
        lambda it: it.written("PRAGMA user_version = 5"),
        "a plugin's statement begins with one of ALTER, CREATE, DELETE, DROP, INSERT, SELECT, UPDATE, VALUES, WITH",
    ),
    "two statements": (lambda it: it.written("SELECT 1; SELECT 2"), "a plugin's statements are run one by one"),
    "a trigger": (
        lambda it: it.written("CREATE TRIGGER notes__t AFTER DELETE ON notes__a BEGIN SELECT 1 END"),
        "a plugin creates, alters and drops tables, indexes and views, and nothing else",
    ),
    "a table of others": (
        lambda it: it.written("DELETE FROM sessions"),
        "a plugin's statement may use tables and indexes whose names begin with 'notes__' only, not 'sessions'",
    ),
    "a name of others": (
        lambda it: it.written("CREATE TABLE other__a (x TEXT)"),
        "a plugin's statement may use tables and indexes whose names begin with 'notes__' only, not 'other__a'",
    ),
    "a name that makes no prefix": (
        lambda it: it.tables("no__tables"),
        "a plugin named 'no__tables' can have no tables: its name needs to be letters and digits, with single hyphens "
        "or underscores between them, 40 characters at most",
    ),
    "tables of a newer plugin": (
        newer_tables,
        "the tables of plugin notes were written by a newer version of it (schema 2, this one knows 1): upgrade the "
        "plugin's package",
    ),
    "tables with the same prefix": (
        same_prefix,
        "plugin a_b can have no tables: those of plugin a-b have the same prefix; if that is gone, remove what it left "
        "with: oneclaw plugins forget a-b",
    ),
}


async def opened(tmp_path, work):
    async with await Store.open(SqliteBackend(tmp_path / "test.db"), lock_directory=tmp_path) as store:
        session = await store.create_session(name="story", agent="General Assistant")
        await store.append(session.id, [user("One"), assistant(""), call("c1"), success("c1"), user("Two")])
        shelf = Shelf(store, session, tmp_path)
        shelf.other = await store.create_session(agent="General Assistant")
        return await work(shelf)


@pytest.mark.parametrize("refusal", some(list(REFUSALS), 3))
def test_a_refusal_says_what_is_wrong_and_what_to_do(tmp_path, monkeypatch, refusal):
    monkeypatch.setattr(plugin_storage, "MAX_KEYS", 3)
    monkeypatch.setattr(plugin_storage, "MAX_VALUE_BYTES", 1_000)
    work, said = REFUSALS[refusal]
    with pytest.raises(OneClawError) as caught:
        asyncio.run(opened(tmp_path, work))
    assert str(caught.value) == said


DAMAGES = {
    "UPDATE agents SET parameters = '{'": (
        lambda it: it.store.list_agents(),
        "the database holds a damaged agent (AGENT): put a backup copy in its place",
    ),
    "UPDATE sessions SET created_at = 'x'": (
        lambda it: it.store.find_session("story"),
        "the database holds a damaged session (SESSION): put a backup copy in its place",
    ),
    "UPDATE messages SET type = 'x' WHERE sequence = 1": (
        lambda it: it.store.messages(it.session.id),
        "the database holds a damaged message (number 1): put a backup copy in its place",
    ),
    "UPDATE settings SET value = '{'": (
        lambda it: it.store.settings(),
        "the database holds a damaged setting (x): put a backup copy in its place",
    ),
    "UPDATE plugin_values SET value = '{'": (
        lambda it: it.storage.get("k"),
        "the database holds a damaged value of a plugin (k): put a backup copy in its place",
    ),
}


@pytest.mark.parametrize("statement", DAMAGES)
def test_damage_is_named_with_what_to_do(tmp_path, statement):
    look, said = DAMAGES[statement]

    async def work(it):
        agent = await it.store.create_agent(POET)
        await it.store.set_setting("x", 1)
        await it.storage.set("k", 1)
        with closing(sqlite3.connect(it.path / "test.db")) as connection, connection:
            connection.execute(statement)
        with pytest.raises(StoreDamagedError) as caught:
            await look(it)
        assert str(caught.value) == said.replace("AGENT", agent.id).replace("SESSION", it.session.id)

    asyncio.run(opened(tmp_path, work))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///", "the database URL names no file: write sqlite:///PATH"),
        ("sqlite:///:memory:", "the database URL names no file: write sqlite:///PATH"),
        ("sqlite:///file:x", "the database URL names no file: write sqlite:///PATH"),
        ("mysql://x", "databases of type 'mysql' are not supported"),
        ("secret", "the database URL is not understood"),
    ],
)
def test_a_url_that_is_refused_is_told_with_those_that_are_not(url, said):
    with pytest.raises(OneClawError) as caught:
        path_of(url)
    hint = ": write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    assert str(caught.value) == (said if "names no file" in said else said + hint)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            1,
            "the database PATH was written by an older OneClaw (schema 1, this one needs NOW), and a command that only "
            "reads does not migrate it; to migrate it: oneclaw db migrate",
        ),
        (99, "the database PATH was written by a newer OneClaw (schema 99, this one knows NOW): upgrade oneclaw-core"),
    ],
)
def test_a_database_of_another_version_says_what_to_upgrade(tmp_path, version, said):
    backend = SqliteBackend(tmp_path / "test.db")
    backend.prepare().close()
    with closing(sqlite3.connect(backend.path)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = ?", (version,))
    with pytest.raises(StoreVersionError) as caught:
        backend.prepare_read_only()
    assert str(caught.value) == said.replace("PATH", backend.name).replace("NOW", str(SCHEMA_VERSION))
