"""OneClaw: opening a home whose plugins are not used."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.work import CHANNEL_PLUGINS, OPENING

_OPENINGS = 40
_CONFIGURED = {
    "notify.mail_server": "mail.example:587",
    "notify.mail_address": "me@mail.example",
    "telegram.token": "123456:token",
    "telegram.agents": "assistant",
    "serve.public_hosts": ["lab.example"],
    "triggers.mail_server": "mail.example:993",
    "triggers.mail_user": "me",
}


async def opening_seconds(home: Path, **options: Any) -> float:
    """Return the least time of a processor that opening a home and making a request took."""
    from oneclaw_core import OneClaw

    seconds = []
    for _ in range(_OPENINGS):
        started = time.process_time()
        async with OneClaw.open(home, **options) as claw:
            await claw.next_request()
            seconds.append(time.process_time() - started)
    return min(seconds)


async def channels(size: int) -> dict[str, float]:
    """The plugins are configured, or disabled."""
    from oneclaw_core import OneClaw

    with tempfile.TemporaryDirectory() as folder:
        async with OneClaw.open(Path(folder)) as claw:
            settings = _CONFIGURED if size else {"disabled_plugins": list(CHANNEL_PLUGINS)}
            for key, value in settings.items():
                await claw.store.set_setting(key, value)
        return {OPENING: await opening_seconds(Path(folder))}
