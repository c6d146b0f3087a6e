"""The narrow services that a plugin's hooks and tools get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from pathlib import Path


@dataclass(slots=True)
class PluginContext:
    """What a plugin gets from OneClaw, the same object for each of its hooks while a home is open.

    Attributes:
        name: of the plugin.
        folder: a directory in the home for the plugin's files, made when it is first asked for.
        logger: writes to the log in the home, under the plugin's name.
    """

    name: str
    folder: Path
    logger: logging.Logger
