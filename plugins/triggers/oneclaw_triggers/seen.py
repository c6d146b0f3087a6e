"""The state of a trigger in the storage of the plugin: changes made while no worker runs are reported later."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import PluginContext

_KEPT_SECONDS = 400 * 86_400


class Seen:
    """The stored state of one trigger with its parameters.

    Args:
        context: of the plugin.
        kind: of trigger.
        parameters: given to it.

    Attributes:
        key: identifies the state, and begins the keys of events.
    """

    def __init__(self, context: PluginContext, kind: str, parameters: Mapping[str, str]) -> None:
        text = json.dumps(dict(parameters), sort_keys=True)
        self.key = f"trigger {kind} {hashlib.sha256(text.encode()).hexdigest()[:24]}"
        self._storage = context.storage

    async def read(self) -> Any:
        """Return the state, ``None`` before the first :meth:`write`."""
        return await self._storage.get(self.key)

    async def write(self, state: Any) -> None:
        """Store JSON data as the state."""
        await self._storage.set(self.key, state, ttl_seconds=_KEPT_SECONDS)
