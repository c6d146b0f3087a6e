"""The place where a command runs: in the sandbox, or outside of it by the user's grant."""

from __future__ import annotations

import os
import re
import shlex
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
    run_in_thread,
    sandbox_policy,
)
from oneclaw_shell.closed_places import owner_of_closed
from oneclaw_shell.network import CommandNetwork, checked_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_core.files import PathGuard
    from oneclaw_core.process import ChosenSandbox, SandboxBackend, SandboxPolicy

PERMISSION = "shell.execute"
UNSANDBOXED_PERMISSION = "shell.execute.unsandboxed"
UNSANDBOXED = "unsandboxed"
_FILES = {"read": "files.read", "write": "files.write"}
_EXPANDED = re.compile(r"[$`]")
_GLOB = re.compile(r"[*?\[{]")
# Their meaning depends on the process that reads them.
_OF_PROCESSES = re.compile(r"/proc/|/dev/(?:fd|std)")
_QUOTING = str.maketrans("", "", "'\"\\")
_BETWEEN_PATHS = re.compile(r"[\s=:,;|&()<>@]+")
# Options are written together, with a value that follows at once: -kC/PATH.
_MOST_OPTION_CHARACTERS = 10
# A command that is longer is not looked through.
_MOST_CHARACTERS = 8_000


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
                paths.append((kind, _existing(Path(value))))
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
    if policy is not None:
        _check_needs(needs, context.paths, policy)
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

    The paths decide, not the state of the sandbox, which a model can cause to fail. What cannot be told counts as such
    a place: a variable could name any. So does a directory with a file in it that the user has let tools write.

    Args:
        command: as the shell reads it.
        directory: where it runs, without symbolic links.
        paths: the directories of tools.
    """
    roots, opened = list(paths.written_directories()), paths.opened_places()
    if paths.home is not None:  # with the temporary files of commands, their outputs and what was moved away
        roots.append(paths.home.resolve())
    if _EXPANDED.search(command) or len(command) > _MOST_CHARACTERS:
        return True
    if _OF_PROCESSES.search(command.translate(_QUOTING)):
        return True
    return any(
        place.is_relative_to(root) or ((is_pattern or root in opened) and root.is_relative_to(place))
        for place, is_pattern in _places(command, directory)
        for root in (*roots, *opened)
    )


def _places(command: str, directory: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the places that a command may name, each with True if it is where a pattern of names begins."""
    yield directory, False
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation without its end, which no pattern covers
        words = command.split()
    # Programs may take quotes away too, such as `sh -c`.
    words += [each.translate(_QUOTING) for each in words]
    parts = {each for word in words for each in (word, *_BETWEEN_PATHS.split(word))}
    found = {each[start:] for each in parts for start in _starts(each)}
    for each in found:
        name, *rest = _GLOB.split(each, maxsplit=1)
        yield _real(directory, os.path.dirname(name) if rest else name), bool(rest)  # noqa: PTH120


def _starts(word: str) -> Iterator[int]:
    """Yield where a path may begin in a word: behind the letters of options, or at its first slash."""
    slash = word.find("/")
    yield 0
    if word.startswith("-"):
        yield from range(1, min(len(word), _MOST_OPTION_CHARACTERS) if slash < 0 else slash + 1)
    elif slash > 0 and not _GLOB.search(word):
        yield slash


def _real(directory: Path, name: str) -> Path:
    try:
        return Path(os.path.realpath(directory / os.path.expanduser(name)))  # noqa: PTH111
    except (OSError, ValueError):  # the shell finds nothing there either
        return Path("/")


def _check_needs(needs: Needs, paths: PathGuard, policy: SandboxPolicy) -> None:
    """Refuse places that stay closed.

    Raises:
        UsageError: the command needs one.
    """
    for kind, path in needs.paths:
        owner = owner_of_closed(kind, path, paths, policy)
        if owner:
            raise UsageError(f"needs names {str(path)!r}, which belongs to {owner}: no command may {kind} there")


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
