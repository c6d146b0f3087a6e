"""The trigger ``mail_received``: mail that comes to a mailbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from oneclaw_triggers.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire

_SECONDS = 60.0


async def mail_received(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report each mail that has come and matches."""
    from oneclaw_triggers.mail_box import new_mails

    state = Seen(context, "mail", parameters)
    while True:
        mails, seen = await asyncio.to_thread(new_mails, context.settings, parameters, await state.read())
        for identity, text in mails:
            await fire(text, key=f"{state.key} {identity}")
        await state.write(seen)
        await asyncio.sleep(_SECONDS)
