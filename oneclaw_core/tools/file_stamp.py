"""Noticing that a file has changed, without reading it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os

# File systems count time in steps: a file that is changed again within one looks unchanged.
_SETTLED_NS = 100_000_000


class FileStamp(NamedTuple):
    """State of a file that differs after a change; all zero for a file without a readable state."""

    modified_ns: int = 0
    changed_ns: int = 0
    size_bytes: int = 0
    number: int = 0

    @classmethod
    def of(cls, found: os.stat_result) -> FileStamp:
        """Take the stamp from what ``os.stat`` returned."""
        return cls(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    @property
    def is_settled(self) -> bool:
        """True if every later change will alter the stamp."""
        return time.time_ns() - max(self.modified_ns, self.changed_ns) > _SETTLED_NS
