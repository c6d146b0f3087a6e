"""Look at plugins in a sandbox: what they register is known before anything of them runs with the user's rights."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core.cli import load_catalog
from oneclaw_core.files import PathGuard
from oneclaw_core.plugins import PluginCache, cache_path, find_installed
from oneclaw_core.process import (
    SANDBOXES,
    Network,
    SandboxError,
    SandboxPolicy,
    SandboxScope,
    choose_sandbox,
    looking_command,
    read_answers,
    run_program,
    sandbox_policy,
)
from oneclaw_devtools.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from oneclaw_core.plugins import Plugin

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Look:
    """The findings of a look at plugins.

    Attributes:
        plugins: the plugins with what they register, by their targets; one that ended or disturbed the process is not
            among them.
        unseen: why nothing was looked at; ``""`` if it was.
    """

    plugins: Mapping[str, Plugin] = field(default_factory=dict)
    unseen: str = ""


def look_at_unpacked(folder: Path) -> Look:
    """Look at plugins that are not installed.

    Args:
        folder: with the packages, as they would be in ``site-packages``.
    """
    plugins = find_installed([str(folder)])
    return _look_at(plugins, folder) if plugins else Look()


def look_at_installed(plugins: Sequence[Plugin], withheld: Collection[str], *, needs_sandbox: bool) -> Look:
    """Look at installed plugins; one whose files are as they were at an earlier look is not imported again.

    Args:
        plugins: what to look at.
        withheld: names of plugins that are not loaded before their review.
        needs_sandbox: False to look without a sandbox where there is none.
    """
    cache = PluginCache(cache_path())
    unknown = {each.target for each in cache.unknown(plugins)}
    missing = [each for each in plugins if each.name in withheld or each.target in unknown]
    look = _look_at(missing, None, needs_sandbox=needs_sandbox) if missing else Look()
    known = {each.target: cache.known(each) for each in plugins if each not in missing}
    return Look({**known, **look.plugins}, look.unseen)


def _look_at(plugins: Sequence[Plugin], root: Path | None, *, needs_sandbox: bool = True) -> Look:
    """Import plugins in a process without network, secrets, the user's files and other programs.

    It is in the sandbox that the settings choose.

    Args:
        plugins: what to look at.
        root: the directory that they were unpacked to; ``None`` for installed plugins.
        needs_sandbox: False to look without a sandbox where there is none.
    """
    chosen = choose_sandbox(_sandbox_setting())
    if chosen.backend is None and needs_sandbox:
        return Look(unseen=f"there is no sandbox here: {chosen.strength.reason}")
    with TemporaryDirectory(prefix="oneclaw-look-") as directory:
        scratch = Scratch(Path(directory).resolve())
        scratch.make()
        command = looking_command(plugins, scratch.work, [*([str(root)] if root is not None else []), *sys.path])
        try:
            work = run_program(
                command,
                directory=scratch.work,
                environ=scratch.environment(),
                timeout_seconds=_SECONDS,
                on_stdout=lambda _: None,
                sandbox=None if chosen.backend is None else (chosen.backend, _policy(scratch, root)),
            )
            asyncio.run(work)
        except (SandboxError, OSError) as error:
            return Look(unseen=str(error))
        found, _ = read_answers(scratch.work)
        return Look({each.target: each for each in found})


def _sandbox_setting() -> str:
    """Read the setting ``sandbox`` though others may be invalid; an unknown value counts as ``auto``."""
    value = os.environ.get("ONECLAW_SANDBOX") or load_catalog(is_quiet=True).states.settings.get("sandbox")
    return value if value in SANDBOXES else "auto"


def _policy(scratch: Scratch, root: Path | None) -> SandboxPolicy:
    places: list[str | Path] = [
        sys.prefix,
        sys.base_prefix,
        *filter(None, sys.path),
        *([root] if root is not None else []),
    ]
    readable = {Path(each).resolve() for each in places if Path(each).exists()}
    policy = sandbox_policy(PathGuard(scratch.work, scratch.home), SandboxScope(readable=tuple(sorted(readable))))
    return replace(
        policy,
        read_roots=_without_inner(policy.read_roots, policy.hidden_folders),
        network=Network.NONE,
        environment=tuple(scratch.environment().items()),
        temporary=scratch.root / "tmp",
    )


def _without_inner(roots: Sequence[Path], hidden: Sequence[Path]) -> tuple[Path, ...]:
    """Leave out what lies in another directory; Landlock lets none be listed that has a rule for a part of it."""

    def is_inner(path: Path) -> bool:
        outer = next((each for each in path.parents if each in roots or each in hidden), None)
        return outer in roots

    return tuple(each for each in roots if not is_inner(each))
