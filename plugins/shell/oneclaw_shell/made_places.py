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
from oneclaw_core.files import (
    ENVIRONMENTS,
    OBEYED_PARTS,
    VERSION_CONTROL,
    find_made_files,
    folded_name,
    is_protected_name,
)
from oneclaw_core.process import run_in_thread

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_core.process import SandboxPolicy
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


def made_protected_places(policy: SandboxPolicy) -> tuple[list[Path], bool]:
    """Find what came into the writable directories of a policy since it was made, and other programs run or obey.

    A new repository is left out with all that is in it, and so is a new virtual environment: a clone brings the files
    of its authors, as everywhere. A repository within another one is not: a program that is run there would obey it.

    Returns:
        The places, and True if everything was searched.
    """
    known = {*policy.protected, *policy.write_roots, *policy.read_roots}
    found, is_all = find_made_files(each for each in policy.write_roots if each.is_dir())
    old = {each.parent for each in policy.protected if each.name in OBEYED_PARTS}
    old_trees = {each.parent for each in old if each.name == ".git"}
    new = [each for each in found.repositories if each not in old]
    nested = [each for each in new if not old_trees.isdisjoint(each.parents)]
    apart = {each.parent if each.name == ".git" else each for each in new if each not in nested}

    def is_made(path: Path) -> bool:
        if path in known or not apart.isdisjoint(path.parents):
            return False
        name = folded_name(path.name)
        if name in VERSION_CONTROL:
            return not old_trees.isdisjoint(path.parents)
        return path in found.named or (is_protected_name(name) and name not in ENVIRONMENTS)

    # Without its HEAD, a folder of any other name is no repository.
    places = [each if each.name == ".git" else each / "HEAD" for each in nested]
    return list(dict.fromkeys([*places, *filter(is_made, found.protected)])), is_all


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
