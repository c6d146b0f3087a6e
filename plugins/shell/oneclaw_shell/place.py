"""The place where a command runs: in the sandbox, or outside of it by the user's grant."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.process import (
    Access,
    Network,
    SandboxError,
    SandboxScope,
    is_system_place,
    run_in_thread,
    sandbox_policy,
)
from oneclaw_shell.network import CommandNetwork, checked_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_core.files import PathGuard
    from oneclaw_core.process import ChosenSandbox, SandboxBackend, SandboxPolicy

PERMISSION = "shell.execute"
UNSANDBOXED_PERMISSION = "shell.execute.unsandboxed"
UNSANDBOXED = "unsandboxed"
_FILES = {"read": "files.read", "write": "files.write"}
_EXPANDED = re.compile(r"[$`]")
_GLOB = re.compile(r"[*?\[{]")
_BETWEEN_WORDS = re.compile(r"[\s'\"=:,;|&()<>]+")
# Options with a value that follows at once, such as -C/PATH.
_WITH_OPTIONS = re.compile(r"[\s'\"=:,;|&()<>]+(?:-[A-Za-z])?")


@dataclass(frozen=True, slots=True)
class Needs:
    """The access beyond its sandbox that a command needs, as the model states it.

    Attributes:
        paths: files and directories, each behind ``read`` or ``write``.
        hosts: what it connects to.
        is_unsandboxed: True to run outside the sandbox.
        reason: why.
    """

    paths: tuple[tuple[str, Path], ...] = ()
    hosts: tuple[str, ...] = ()
    is_unsandboxed: bool = False
    reason: str = ""

    @classmethod
    def read(cls, needs: Sequence[str], reason: str) -> Needs:
        """Read the argument of a call.

        Raises:
            UsageError: one of them is none.
        """
        paths, hosts = [], []
        for each in needs:
            kind, _, value = each.partition(":")
            if kind in _FILES and value.startswith("/"):
                path = _existing(Path(value))
                if kind == "write" and is_system_place(path):
                    raise UsageError(
                        f"needs names {str(path)!r}, which belongs to the system: no command may write there"
                    )
                paths.append((kind, path))
            elif kind == "network" and value:
                hosts.append(checked_host(value))
            elif each != UNSANDBOXED:
                raise UsageError(
                    f"needs has {each!r}; it takes write:/PATH, read:/PATH, network:HOST and {UNSANDBOXED}"
                )
        return cls(tuple(paths), tuple(hosts), UNSANDBOXED in needs, reason)


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a command runs.

    Attributes:
        backend: the sandbox; ``None`` outside of it.
        policy: what holds in the sandbox.
        network: the hosts that can be reached from the sandbox; ``None`` if none can.
    """

    backend: SandboxBackend | None = None
    policy: SandboxPolicy | None = None
    network: CommandNetwork | None = None

    @property
    def sandbox(self) -> tuple[SandboxBackend, SandboxPolicy] | None:
        """The arguments of :func:`oneclaw_core.process.run_program`."""
        return None if self.backend is None or self.policy is None else (self.backend, self.policy)

    def without_network(self) -> Place:
        """Return the same place with no way to any host."""
        assert self.policy is not None
        return Place(self.backend, replace(self.policy, network=Network.NONE))


OUTSIDE = Place()


async def find_place(command: str, directory: Path, needs: Needs, context: ToolContext) -> Place:
    """Decide where a command runs, and ask the user where that is needed.

    A command that the user has granted runs outside. Where tools can have written what it runs, such as a Makefile,
    that takes a grant for all commands: a pattern is not enough, unless the user turned the sandbox off. Others run
    in the sandbox without a question if it enforces the whole policy; what they need beyond it is asked for. Without
    such a sandbox each command is asked for.

    Raises:
        PermissionDeniedError: the user does not let it run.
        UsageError: the sandbox cannot give what it needs, or does not show its directory.
    """
    try:
        choose = context.services.sandbox
    except OneClawError:  # the tool is executed by hand, where nothing is asked
        return OUTSIDE
    chosen = await choose()
    subject, place = command, str(directory)
    gap, policy = _gap(chosen), None
    if chosen.backend is not None:
        try:
            policy = await run_in_thread(partial(sandbox_policy, context.paths))
        except (SandboxError, OSError) as error:
            chosen, gap = _without(chosen), f"the sandbox cannot be used here: {error}"
    is_asked = bool(gap) or needs.is_unsandboxed
    # The user who turned the sandbox off has decided that patterns are enough.
    as_a_whole = not chosen.is_off and await run_in_thread(
        partial(runs_what_tools_write, command, directory, context.paths)
    )
    if await context.is_granted(PERMISSION, subject, place, "" if is_asked else chosen.name, as_a_whole=as_a_whole):
        return OUTSIDE
    if needs.is_unsandboxed and chosen.backend is not None:
        detail = _detail(f"run it outside the sandbox {chosen.name}", needs)
        await context.ask_permission(UNSANDBOXED_PERMISSION, detail, subject, place)
        return OUTSIDE
    if needs.hosts and chosen.backend is not None and not chosen.backend.allows_domains:
        raise UsageError(f"the sandbox {chosen.name} cannot reach single hosts: ask for {UNSANDBOXED} instead")
    if gap:
        what = f"run it without a sandbox: {gap}"
        if chosen.backend is not None:
            what = (
                f"run it in the sandbox {chosen.name}, which is incomplete: {gap}; if you answer session or always, "
                "run it outside of it, now and later"
            )
        await context.ask_permission(PERMISSION, _detail(what, needs), subject, place, as_a_whole=as_a_whole)
        if chosen.backend is None or await context.is_granted(
            PERMISSION, subject, place, chosen.name, as_a_whole=as_a_whole
        ):
            return OUTSIDE
    assert chosen.backend is not None
    if needs.paths:
        scope = await _scope(needs, context)
        policy = await run_in_thread(partial(sandbox_policy, context.paths, scope))
    assert policy is not None
    if policy.access(directory) is Access.HIDDEN:
        raise UsageError(
            f"working_directory {place!r} is hidden in the sandbox: leave it out, or name what is needed in needs, "
            f"such as read:{place}"
        )
    if not chosen.backend.allows_domains:
        return Place(chosen.backend, policy)
    network = CommandNetwork(context, directory)
    await network.ask(needs.hosts, partial(_detail, needs=needs))
    return Place(chosen.backend, replace(policy, network=Network.DOMAINS), network)


def runs_what_tools_write(command: str, directory: Path, paths: PathGuard) -> bool:
    """Return True if a command runs in, or names, a place where tools can write without the user.

    The paths decide, not the state of the sandbox, which a model can cause to fail. A variable could name any place.

    Args:
        command: as the shell reads it.
        directory: where it runs, without symbolic links.
        paths: the directories of tools.
    """
    roots = paths.written_directories()
    if not roots:
        return False
    if _EXPANDED.search(command):
        return True
    for word in {"", *_BETWEEN_WORDS.split(command), *_WITH_OPTIONS.split(command)}:
        start, *rest = _GLOB.split(word, maxsplit=1)
        place = os.path.realpath(directory / os.path.expanduser(os.path.dirname(start) if rest else start))  # noqa: PTH111, PTH120
        if any(Path(place).is_relative_to(root) or (rest and root.is_relative_to(place)) for root in roots):
            return True
    return False


def _gap(chosen: ChosenSandbox) -> str:
    """Say why commands are asked for; ``""`` if they need not be."""
    if chosen.strength.is_whole:
        return ""
    return "; ".join(chosen.strength.gaps) or chosen.strength.reason


def _without(chosen: ChosenSandbox) -> ChosenSandbox:
    from oneclaw_core.process import ChosenSandbox

    return ChosenSandbox(None, chosen.strength)


async def _scope(needs: Needs, context: ToolContext) -> SandboxScope:
    """Ask for the files that a command needs beyond the sandbox."""
    for kind, path in needs.paths:
        await context.ask_permission(_FILES[kind], _detail(f"let a command {kind} {path}", needs), str(path))
    return SandboxScope(
        writable=tuple(path for kind, path in needs.paths if kind == "write"),
        readable=tuple(path for kind, path in needs.paths if kind == "read"),
    )


def _existing(path: Path) -> Path:
    """Resolve a path that the sandbox can show.

    Raises:
        UsageError: there is none, or it is the root.
    """
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"needs names {str(path)[:200]!r}, which is not there: name the directory it is in") from None
    if resolved.parent == resolved or Path.home().is_relative_to(resolved):
        raise UsageError(f"needs names {str(resolved)!r}, which holds too much: name a part of it, or {UNSANDBOXED}")
    return resolved


def _detail(what: str, needs: Needs) -> str:
    return f"{what}; because, as the model says: {needs.reason}" if needs.reason else what
