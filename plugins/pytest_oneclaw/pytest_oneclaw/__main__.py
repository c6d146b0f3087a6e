"""Write a stored session as a cassette: ``python -m pytest_oneclaw SESSION FILE``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import print_error, print_text
from oneclaw_core.cli.running import with_store
from oneclaw_core.cli.sessions import find_stored
from oneclaw_core.config.keys import known_secret_check
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.system.home import find_home
from pytest_oneclaw.cassette_file import write_cassette
from pytest_oneclaw.stored_session import entries_of_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.sessions.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the answers of the model in a session, and what was said before them, without known secrets.

    Returns:
        The exit status: 0 done, 1 failed, 2 wrong usage.
    """
    parser = ArgumentParser(prog="python -m pytest_oneclaw", description="Write a stored session as a cassette.")
    parser.add_argument("session", help="the name or id of the session")
    parser.add_argument("file", type=Path, help="where to write it, such as tests/cassettes/NAME_OF_THE_TEST.json")
    given = parser.parse_args(arguments)
    try:
        count = with_store(lambda store: _write(store, given.session, given.file), is_read_only=True)
    except OneClawError as error:
        print_error(str(error))
        return error.exit_status
    print_text(f"wrote {count} answers to {given.file}")
    return 0


async def _write(store: Store, name: str, file: Path) -> int:
    session = await find_stored(store, name)
    if (await store.load_turn(session.id, 1)).summary is not None:
        raise UsageError("the session was compacted, so what its model was sent is not stored as it was: no cassette")
    known_secret_check(find_home())("")  # reads the stored secrets, which are left out then
    entries = entries_of_session(await store.messages(session.id))
    write_cassette(file, "conversation", entries)
    return len(entries)


if __name__ == "__main__":
    sys.exit(main())
