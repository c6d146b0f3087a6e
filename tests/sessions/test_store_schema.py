"""A new database has the tables that databases of earlier versions get."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from histories import database_path, opened, rows

from oneclaw_core.sessions.schema import TABLES

PLUGIN_TABLES = """
    CREATE TABLE plugin_values (
        plugin TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, session_id TEXT,
        expires_at BIGINT, updated_at BIGINT NOT NULL,
        PRIMARY KEY (plugin, namespace, key), FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
    );
    CREATE INDEX plugin_values_by_session ON plugin_values (session_id) WHERE session_id IS NOT NULL;
    CREATE INDEX plugin_values_by_expiry ON plugin_values (plugin, expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE plugin_schemas (plugin TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (plugin));
"""
SQLITE = PLUGIN_TABLES + Path(__file__).with_name("schema_18_sqlite.sql").read_text(encoding="utf-8")


def compared(statement: str) -> str:
    """A statement without what makes no difference: spaces and quotes."""
    return re.sub(r"\s+", "", statement).replace('"', "")


@pytest.mark.only("sqlite")
def test_a_new_sqlite_database_has_the_tables_of_version_18(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path):
            pass

    asyncio.run(main())
    assert database_path(tmp_path).is_file()
    made = {compared(sql) for (sql,) in rows(tmp_path, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    wanted = {compared(each) for each in re.sub("--.*", "", SQLITE).split(";") if each.strip()}
    assert len(wanted) > 20
    assert wanted - made == set()
    of_search = re.compile(r"CREATETABLE'\w+_search_|CREATETABLEsqlite_sequence")
    assert [each for each in made - wanted if not of_search.match(each)] == []


def test_remarks_on_columns_are_sentences() -> None:
    columns = {f"{table.name}.{column.name}": column.remark for table in TABLES for column in table.columns}
    remarks = [remark for remark in columns.values() if remark]
    assert [each for each in remarks if not re.fullmatch(r"[A-Z].*[a-z]{2}.*\.", each)] == []
    assert len(remarks) == len(set(remarks)) == 38
    assert columns["sessions.name"] == ""
