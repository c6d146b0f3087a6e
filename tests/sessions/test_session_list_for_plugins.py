"""What the list of sessions tells plugins and programs."""

import asyncio
from datetime import UTC, datetime, timedelta

from oneclaw_core import OneClaw


def test_the_list_has_what_a_history_shows(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()

    async def run():
        home = tmp_path / "home"
        async with OneClaw.open(home, environ={}, start_directory=directory, plugins=["builtin", "offline"]) as claw:
            async for _ in claw.send_message("What time is it?", session="clock", model="offline/rules"):
                pass
            async for _ in claw.send_message("And now?"):
                pass
            return await claw.services.sessions.list()

    unnamed, named = asyncio.run(run())
    assert (named.name, named.title, named.model) == ("clock", "What time is it?", "offline/rules")
    assert (unnamed.name, unnamed.title, unnamed.model) == (None, "And now?", None)
    for each in (named, unnamed):
        assert each.directory == str(directory.resolve())
        assert each.agent == "General Assistant"
        assert datetime.now(UTC) - timedelta(minutes=5) < each.created_at <= each.updated_at <= datetime.now(UTC)
