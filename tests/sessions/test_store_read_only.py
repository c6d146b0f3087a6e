"""Stores opened for reading: on a read-only home, and with an older schema."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from databases import backend_of
from histories import database_path, opened, url_of, user
from ordinary_user import ordinary_user

from oneclaw_core.errors import StoreError, StoreVersionError
from oneclaw_core.sessions.store import Store

pytestmark = pytest.mark.only("sqlite")


def copied_read_only(home: Path, target: Path) -> Path:
    """Copy a home's database to where an ordinary user can read it but not write."""
    target.mkdir()
    for file in home.glob("oneclaw.db*"):
        shutil.copyfile(file, target / file.name)
        (target / file.name).chmod(0o444)
    target.chmod(0o555)
    return target


def texts(home: Path) -> list[str]:
    async def main() -> list[str]:
        backend = backend_of(url_of(database_path(home)))
        async with await Store.open(backend, lock_directory=home, is_read_only=True) as store:
            [session] = await store.list_sessions(None)
            return [each.content for each in await store.messages(session.id)]

    return asyncio.run(main())


@pytest.mark.parametrize("kept", [[], ["-wal", "-shm"], ["-wal"]], ids=["closed", "killed", "copied"])
def test_a_read_only_home_is_read_with_its_recent_transactions(tmp_path: Path, kept: list[str]) -> None:
    home = tmp_path / "home"

    async def store_text() -> None:
        async with opened(home) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user("first")])
        async with opened(home) as store:
            await store.append(session.id, [user("second")])
            # As a killed process leaves the files: the second message is in the log alone.
            if kept:
                shutil.copytree(home, tmp_path / "killed")

    asyncio.run(store_text())
    source = tmp_path / "killed" if kept else home
    for suffix in ("-wal", "-shm"):
        if suffix not in kept:
            (source / f"oneclaw.db{suffix}").unlink(missing_ok=True)
    assert texts(home) == ["first", "second"]  # imports all that is imported when it is used
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        copy = copied_read_only(source, Path(directory) / "copy")
        before = sorted(file.name for file in copy.iterdir())
        with ordinary_user():
            assert texts(copy) == ["first", "second"]
        assert sorted(file.name for file in copy.iterdir()) == before
        copy.chmod(0o755)


def test_a_store_opened_for_reading_cannot_write(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path):
            pass
        backend = backend_of(url_of(database_path(tmp_path)))
        async with await Store.open(backend, lock_directory=tmp_path, is_read_only=True) as store:
            with pytest.raises(StoreError, match="cannot be written"):
                await store.set_setting("key", 1)

    asyncio.run(main())


def test_reading_does_not_migrate_an_older_database(tmp_path: Path) -> None:
    path = database_path(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8"))
    before = path.read_bytes()
    with pytest.raises(StoreVersionError, match=r"\(schema 1, this one needs \d+\).*: oneclaw db migrate$"):
        texts(tmp_path)
    assert path.read_bytes() == before
