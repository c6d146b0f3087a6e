"""Saying once what of a home is not used because its plugin is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.cli.output import warn
from oneclaw_core.distributions import how_to_install, missing_parts

if TYPE_CHECKING:
    from oneclaw_core.app import OneClaw

_NOTED = "missing_plugins_noted"
"""The stored value with the names of the plugins whose absence the user was told."""


async def note_missing_parts(claw: OneClaw) -> None:
    """Warn about each part of the home whose plugin is missing, unless that was done before."""
    missing = missing_parts(claw.home.path, (record.name for record in claw.catalog.plugins))
    if not missing:
        return
    stored = (await claw.store.settings()).get(_NOTED)
    noted = stored if isinstance(stored, list) else []
    new = {plugin: message for plugin, message in missing.items() if plugin not in noted}
    for plugin, message in new.items():
        warn(f"{message}: {how_to_install(plugin)}")
    if new:
        await claw.store.set_setting(_NOTED, [*noted, *new])
