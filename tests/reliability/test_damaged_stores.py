"""Databases with damage of every kind: one clear line, and never a wrong reading that passes for a right one.

That a whole file of garbage is reported is shown in tests/sessions; here, single bytes, pages and values are wrong.
"""

import asyncio
import random
import shutil
import sqlite3
import traceback
from contextlib import aclosing, closing
from datetime import date

import pytest
from audit import faults_of_file
from how_long import some
from oneclaw_database import copying
from oneclaw_database import status as database_status

from oneclaw_core import OneClaw
from oneclaw_core.cli.main import main
from oneclaw_core.errors import OneClawError
from oneclaw_core.permissions import Grant
from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.types.agents import Agent
from oneclaw_core.types.messages import Attachment, Message, MessageType

pytestmark = pytest.mark.one_python

SESSION = "story"
ODD_VALUES = ("NULL", "''", "'x'", "-1", "9223372036854775807", "1e400", "x'ff00fe'", "'[1'", "'{}'", "'[]'", "'null'")

# Values that once ended in an error of our own.
MENDED = (
    ("messages", "content", "x'ff00fe'"),
    ("messages", "created_at", "'x'"),
    ("sessions", "model", "x'ff00fe'"),
    ("sessions", "search_number", "'x'"),
    ("settings", "key", "x'ff00fe'"),
    ("attachments", "data", "-1"),
)


async def use(home):
    """Do a bit of everything with a home; give the errors, which must all be of one line."""
    errors = []

    async def tried(work):
        try:
            await work
        except OneClawError as error:
            text = str(error)
            assert text.isprintable(), text
            assert text
            errors.append(text)

    async def turn(claw):
        async with aclosing(
            claw.send_message("What time is it in Tokyo?", session=SESSION, model="offline/rules")
        ) as it:
            async for _ in it:
                pass

    async def everything():
        async with OneClaw.open(home, environ={}, start_directory=home, plugins=None) as claw:
            store = claw.store
            session = None

            async def find():
                nonlocal session
                session = await store.find_session(SESSION)

            await tried(find())
            await tried(store.list_sessions())
            await tried(store.settings())
            await tried(store.grants())
            await tried(claw.agents.list())
            await tried(store.usage_totals())
            await tried(claw.services.sessions.search("tokyo", since=date(2000, 1, 1)))
            await tried(claw.preview_request(session=SESSION))
            if session is not None:
                await tried(store.messages(session.id))
                await tried(store.load_turn(session.id, 10_000))
            await tried(turn(claw))

    await tried(everything())
    return errors


@pytest.fixture(scope="module")
def whole_home(tmp_path_factory):
    """A home in which much has happened."""
    home = tmp_path_factory.mktemp("whole") / "home"

    async def fill():
        async with OneClaw.open(home, environ={}, start_directory=home.parent, plugins=None) as claw:
            await claw.store.set_setting("turn_max_tool_rounds", 50)
            await claw.store.set_setting("provider:local", {"type": "openai_compatible", "base_url": "http://x/v1"})
            await claw.store.set_grant(Grant("network.private"))
            await claw.store.set_tool_enabled("tool", "webfetch", False)
            await claw.store.create_agent(
                Agent(name="Poet", description="d", system_prompt="p", parameters={"top_p": 1})
            )
            files = [Attachment("a.png", "image/png", bytes(range(256)) * 40)]
            await claw.begin_session(SESSION)
            session = await claw.store.find_session(SESSION)
            await claw.store.append(
                session.id, [Message(type=MessageType.USER, content="see", attachments=tuple(files))]
            )
            for number in range(6):
                for name in (SESSION, f"other-{number}"):
                    async for _ in claw.send_message("What time is it in Tokyo? " + "word " * 90, session=name):
                        pass

    asyncio.run(fill())
    with closing(sqlite3.connect(home / "oneclaw.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert faults_of_file(home / "oneclaw.db") == []
    assert asyncio.run(use_copy(home, home.parent / "first")) == []
    return home


async def use_copy(home, place):
    shutil.copytree(home, place)
    return await use(place)


@pytest.mark.long
def test_bytes_and_pages_that_are_wrong(whole_home, tmp_path, is_long):
    content = (whole_home / "oneclaw.db").read_bytes()
    chance, faults = random.Random(9), []
    for trial in range(600 if is_long else 10):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 5, 50))):
            start = chance.randrange(100 if chance.random() < 0.1 else len(content))
            size = chance.choice((1, 1, 16, 512, 4096))
            garbage = bytes(size) if chance.random() < 0.3 else chance.randbytes(size)
            damaged[start : start + size] = garbage
        if trial % 8 == 0:
            del damaged[chance.randrange(len(damaged)) :]
        place = tmp_path / str(trial)
        shutil.copytree(whole_home, place)
        (place / "oneclaw.db").write_bytes(damaged)
        try:
            asyncio.run(use(place))
        except Exception as error:  # noqa: BLE001  # this is what is looked for
            faults.append(f"trial {trial}: {_where(error)}")
        shutil.rmtree(place)
    assert not faults, "\n".join(faults)


@pytest.mark.long
def test_a_name_in_the_schema_that_is_no_text(whole_home, tmp_path, capsys):
    home = tmp_path / "home"
    shutil.copytree(whole_home, home)
    path = home / "oneclaw.db"
    # SQLite's message about the statement quotes the name, and the driver cannot decode that.
    content = path.read_bytes()
    for right, wrong in (
        (b"indexmessages_by_sessionmessages", b"index\xff\x8b\x99sages_by_sessionmessages"),
        (b"CREATE INDEX messages_by_session", b"CREATE INDXX messages_by_session"),
    ):
        assert right in content
        content = content.replace(right, wrong)
    path.write_bytes(content)
    errors = asyncio.run(use(home))
    assert len(errors) == 1
    assert "is damaged or not a database: move it away" in errors[0]
    assert main(["tools", "list"]) == 0
    assert "is damaged or not a database" in capsys.readouterr().err
    assert main(["doctor"]) == 1
    assert "is damaged or not a database" in capsys.readouterr().out


def _where(error):
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


def test_every_column_with_values_that_do_not_belong_there(whole_home, tmp_path, is_long):
    with closing(sqlite3.connect(whole_home / "oneclaw.db")) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%fts5%'"
            )
            if not name.startswith(("sqlite_", "message_search", "session_search"))
        ]
        columns = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]
    assert len(columns) > 50
    chance, faults = random.Random(9), []
    cases = [(table, column, value) for table, column in columns for value in ODD_VALUES]
    for number, (table, column, value) in enumerate(cases if is_long else [*MENDED, *chance.sample(cases, 8)]):
        place = tmp_path / str(number)
        shutil.copytree(whole_home, place)
        with closing(sqlite3.connect(place / "oneclaw.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            try:
                connection.execute(f"UPDATE OR REPLACE {table} SET {column} = {value}")
            except sqlite3.IntegrityError:
                continue  # the database itself refuses it
        try:
            asyncio.run(use(place))
        except Exception as error:  # noqa: BLE001  # this is what is looked for
            faults.append(f"{table}.{column} = {value}: {_where(error)}")
        shutil.rmtree(place)
    assert not faults, "\n".join(faults)


COMMANDS = (
    ("run", "--session", SESSION, "hello"),
    ("sessions", "list"),
    ("sessions", "show", SESSION),
    ("sessions", "search", "tokyo"),
    ("sessions", "export", SESSION),
    ("tools", "list"),
    ("groups", "list"),
    ("agents", "list"),
    ("models", "list"),
    ("providers", "list"),
    ("config", "set", "turn_max_tool_rounds", "7"),
    ("permissions", "grant", "network.private"),
    ("usage",),
    ("memory", "show"),
    ("db", "status"),
    ("db", "migrate"),
    ("doctor",),
    ("call", "get_current_time"),
)


@pytest.mark.parametrize(
    "damage", some(["truncated", "garbage in the middle", "another program's", "newer", "no database"], 4)
)
def test_every_command_says_in_a_line_what_is_wrong(whole_home, tmp_path, monkeypatch, capsys, damage):
    home = tmp_path / "home"
    shutil.copytree(whole_home, home)
    path = home / "oneclaw.db"
    content = path.read_bytes()
    if damage == "newer":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE schema_version SET version = ?", (SCHEMA_VERSION + 1,))
    elif damage == "another program's":
        path.unlink()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE theirs (a)")
    else:
        half = len(content) // 2
        path.write_bytes(
            {
                "truncated": content[: half // 4096 * 4096],
                "garbage in the middle": content[:4096] + b"\xde\xad" * (half // 2) + content[4096 + half // 2 * 2 :],
                "no database": b"Dear diary\n" * 999,
            }[damage]
        )
    before = path.read_bytes()
    for command in COMMANDS:
        status = main([*command])
        printed = capsys.readouterr()
        lines = [line for line in printed.err.splitlines() if line.strip()]
        assert "Traceback" not in printed.err + printed.out, command
        assert "unexpected" not in printed.err, (command, printed.err)
        if status and command != ("doctor",):
            # What lists plugins goes on without what the user has set for them, and warns that it does.
            said = [line for line in lines if not line.startswith("oneclaw: warning: ")]
            assert len(said) == 1, (command, printed.err)
            assert said[0].startswith("oneclaw: "), (command, printed)
            assert str(path) in said[0], (command, printed)
    # "SELECT" may make the side files of a database; the file itself is as it was, whatever was tried.
    assert path.read_bytes() == before


@pytest.mark.long
def test_a_damaged_database_is_not_copied_as_if_it_were_whole(whole_home, tmp_path):
    content = (whole_home / "oneclaw.db").read_bytes()
    chance = random.Random(4)
    source, target = tmp_path / "source.db", tmp_path / "target.db"
    refused = 0
    for _ in range(25):
        damaged = bytearray(content)
        start = chance.randrange(4096, len(content) - 4096)
        damaged[start : start + 4096] = chance.randbytes(4096)
        source.write_bytes(damaged)
        error = refusal(source, target)
        refused += bool(error)
        assert error.isprintable()
        if error and target.exists():
            assert not any(database_status.status(SqliteBackend(target)).rows.values())
        for each in tmp_path.glob("*.db*"):
            each.unlink()
    assert refused > 5


def refusal(source, target):
    """Copy a database; give the error, if there is one."""
    try:
        copying.copy(SqliteBackend(source), SqliteBackend(target), lambda name, count: None)
    except OneClawError as error:
        return str(error)
    return ""
