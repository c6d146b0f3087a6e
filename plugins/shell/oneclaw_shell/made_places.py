"""Settle what a command in the sandbox made that other programs run or obey.

A sandbox protects only what is there. So what a command makes is asked for after it, and moved away if the user does
not agree.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, PermissionDeniedError
from oneclaw_core.process import made_protected_places, run_in_thread

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_shell.place import Place

_MOST_ASKED = 5
_FOLDER = "withheld"
_UNSEARCHED = "[there is too much to search all of it for files that other programs obey: tell the user]"


async def settle_made_places(place: Place, context: ToolContext) -> list[str]:
    """Ask for each protected place that a command made; return a note for the model on each that was moved away.

    Args:
        place: where the command ran.
        context: of its call; a call that has ended cannot ask, which counts as no.
    """
    if place.policy is None:
        return []
    made, is_all = await run_in_thread(partial(made_protected_places, place.policy))
    notes = [] if is_all else [_UNSEARCHED]
    for number, path in enumerate(made):
        if number < _MOST_ASKED and await _is_agreed(path, context):
            continue
        kept = await run_in_thread(partial(_move_away, path, context.paths.home or context.paths.workspace))
        notes.append(
            f"[{path} is a place that other programs run or obey, and the user did not agree to it. It was moved to "
            f"{kept}. Write it with write_file, which asks, or leave it out.]"
        )
    return notes


async def _is_agreed(path: Path, context: ToolContext) -> bool:
    detail = f"keep {path}, which a command made, and which other programs run or obey"
    try:
        await context.ask_permission("files.write", detail, str(path))
    except PermissionDeniedError:
        return False
    except OneClawError:  # a command in the background outlives its call
        return False
    return True


def _move_away(path: Path, home: Path) -> Path:
    import shutil

    folder = home / _FOLDER / f"{time.time_ns()}"
    folder.mkdir(mode=0o700, parents=True)
    target = folder / path.name
    if os.path.lexists(path):
        shutil.move(path, target)
    return target
