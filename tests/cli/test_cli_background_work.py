"""`oneclaw background`: list and stop sub-agents and commands."""

import asyncio
from dataclasses import asdict

from databases import backend_of

from oneclaw_core import find_home
from oneclaw_core.sessions import BackgroundWork, Store

# Of a process and a machine that are gone by now.
WORK = BackgroundWork(id="nap-1", kind="agent", title="sl\x1beep", plugin="agents", began_at=0)


def test_work_is_listed_and_only_what_runs_is_stopped(home, oneclaw, ok):
    async def write():
        found = find_home()
        found.create()
        async with await Store.open(backend_of(found.database_url), lock_directory=found.locks) as store:
            await store.set_setting("background:nap-1", asdict(WORK))

    asyncio.run(write())
    assert "nap-1  agent  running  1970-01-01T00:00:00Z  sl\\x1beep" in ok("background", "list")
    (document,) = ok("background", "list", "--json")
    assert document == {
        **{"id": "nap-1", "kind": "agent", "title": "sl\x1beep", "plugin": "agents", "session_id": None},
        **{"state": "running", "outcome": "", "host": "", "began_at": "1970-01-01T00:00:00+00:00"},
    }
    outcome = oneclaw("background", "stop", "nap-2")
    assert outcome.status == 2
    assert "nothing of the id 'nap-2' runs" in outcome.stderr
