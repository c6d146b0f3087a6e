"""A new database has the tables that databases of earlier versions get."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from histories import database_path, opened, rows

SQLITE = Path(__file__).with_name("schema_17_sqlite.sql").read_text(encoding="utf-8")


def compared(statement: str) -> str:
    """A statement without what makes no difference: spaces and quotes."""
    return re.sub(r"\s+", "", statement).replace('"', "")


@pytest.mark.only("sqlite")
def test_a_new_sqlite_database_has_the_tables_of_version_17(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path):
            pass

    asyncio.run(main())
    assert database_path(tmp_path).is_file()
    made = {compared(sql) for (sql,) in rows(tmp_path, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    wanted = {compared(each) for each in re.sub("--.*", "", SQLITE).split(";") if each.strip()}
    assert len(wanted) > 20
    assert wanted - made == set()
