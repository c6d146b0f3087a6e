"""The check of ``oneclaw doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_checkpoints.recorder import recorder_of
from oneclaw_core import CheckResult, Health, OneClawError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import PluginContext


def check_room(context: PluginContext) -> Iterator[CheckResult]:
    """Tell how much room checkpoints take."""
    recorder = context.once(recorder_of)
    settings = recorder.settings
    if not settings.enabled:
        yield CheckResult(Health.WARNING, "off", "oneclaw config set checkpoints.enabled true")
    elif not recorder.exists:
        yield CheckResult(Health.OK, "none yet")
    else:
        try:
            room, count = recorder.database.room()
        except OneClawError as error:
            yield CheckResult(Health.PROBLEM, str(error))
        else:
            yield CheckResult(
                Health.OK, f"{count} calls can be taken back, {room / 1e6:.1f} of {settings.max_megabytes} MB"
            )
