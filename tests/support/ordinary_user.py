"""Tests of files that cannot be read or written, also where they run as root."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Run as another user if this is root, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
