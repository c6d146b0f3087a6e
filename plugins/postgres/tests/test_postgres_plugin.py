"""The plugin opens the databases of its schemes."""

import asyncio

import pytest
from histories import database_url
from oneclaw_postgres.backend import PostgresBackend

from oneclaw_core import OneClaw
from oneclaw_core.installation.stores import backend_of

pytestmark = pytest.mark.lowest_versions


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgresql", "postgres", "POSTGRESQL"])
def test_every_scheme_is_opened(scheme):
    backend = backend_of(f"{scheme}://clara@db.example/one", {})

    assert isinstance(backend, PostgresBackend)
    assert backend.name == "postgresql://db.example/one"


@pytest.mark.long
def test_a_program_that_chooses_its_plugins_can_store_in_postgresql(postgres, tmp_path):
    environ = {"ONECLAW_DATABASE_URL": database_url(tmp_path)}

    async def work():
        async with OneClaw.open(tmp_path / "home", environ=environ, plugins=[]) as claw:
            await claw.begin_session("kept")
            return [each.name for each in await claw.store.list_sessions()]

    assert asyncio.run(work()) == ["kept"]
