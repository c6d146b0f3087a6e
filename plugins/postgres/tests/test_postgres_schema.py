"""A new database has the tables that databases of earlier versions get."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from databases import backend_of
from histories import database_url, rows
from postgres_server import database_on_server

from oneclaw_core.sessions.database import Database

if TYPE_CHECKING:
    from postgres_server import PostgresServer

POSTGRESQL = json.loads(Path(__file__).with_name("schema_10_postgresql.json").read_text(encoding="utf-8"))


def test_a_new_postgresql_database_has_the_tables_of_version_10(postgres: PostgresServer, tmp_path: Path) -> None:
    url = database_on_server(postgres.uri("postgres"), tmp_path, "template0")

    async def main() -> None:
        await (await Database.open(backend_of(url))).close()

    asyncio.run(main())
    assert database_url(tmp_path) == url
    of_ours = "WHERE connamespace = 'oneclaw'::regnamespace"
    made = {
        "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
        "FROM information_schema.columns WHERE table_schema = 'oneclaw'",
        "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'oneclaw'",
        "constraints": f"SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint {of_ours}",
        "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'oneclaw'::regnamespace",
    }
    assert POSTGRESQL.keys() == made.keys()
    for kind, query in made.items():
        assert {tuple(row) for row in POSTGRESQL[kind]} - set(rows(tmp_path, query)) == set()
