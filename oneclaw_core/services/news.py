"""Reports about services while they run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ServiceChange(StrEnum):
    """A change of a service."""

    STARTED = "started"
    READY = "ready"
    SHOWS = "shows"
    FAILED = "failed"
    ENDED = "ended"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class ServiceNews:
    """A change of a service.

    Attributes:
        change: which.
        service: the name of the service.
        plugin: the name of its plugin.
        text: for the user: of a service that is ready, such as an address; of one that failed, why and what follows.
    """

    change: ServiceChange
    service: str
    plugin: str
    text: str = ""

    def __str__(self) -> str:
        what = f"{self.service} of plugin {self.plugin}"
        return {
            ServiceChange.STARTED: f"{what} runs" + (f": {self.text}" if self.text else ""),
            ServiceChange.READY: f"{what} is ready" + (f": {self.text}" if self.text else ""),
            ServiceChange.SHOWS: self.text,
            ServiceChange.FAILED: f"{what} failed ({self.text})",
            ServiceChange.ENDED: f"{what} has ended",
            ServiceChange.LEFT: f"{what} did not stop and was left to itself",
        }[self.change]
