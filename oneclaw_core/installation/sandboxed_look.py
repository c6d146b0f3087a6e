"""Look at plugins in a sandbox: what they register is known before anything of them runs with the user's rights."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.plugins.plugin import Plugin
from oneclaw_core.process.programs import run_program
from oneclaw_core.process.sandbox.choice import choose_sandbox
from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy
from oneclaw_core.process.sandbox_rules import SandboxScope, sandbox_policy
from oneclaw_core.process.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.process.sandbox.policy import SandboxBackend

_SECONDS = 60.0
_CHILD = "from oneclaw_core.installation.sandboxed_look import look_in_child; look_in_child()"
_MAX_BYTES = 16 * 1024 * 1024


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


def look_at(plugins: Sequence[Plugin], root: Path | None, sandbox: str, *, needs_sandbox: bool = True) -> Look:
    """Import plugins in a process without network, secrets, the user's files and other programs.

    Args:
        plugins: what to look at.
        root: the directory that they were unpacked to; ``None`` for installed plugins.
        sandbox: the setting ``sandbox``.
        needs_sandbox: False to look without a sandbox where there is none.
    """
    chosen = choose_sandbox(sandbox)
    if chosen.backend is None and needs_sandbox:
        return Look(unseen=f"there is no sandbox here: {chosen.strength.reason}")
    with TemporaryDirectory(prefix="oneclaw-look-") as directory:
        scratch = Scratch(Path(directory).resolve())
        scratch.make()
        request = {"root": None if root is None else str(root), "plugins": [each.to_dict() for each in plugins]}
        (scratch.work / "request.json").write_text(json.dumps(request), "utf-8")
        try:
            confined = None if chosen.backend is None else (chosen.backend, _policy(scratch, root))
            asyncio.run(_run(scratch, confined))
        except (SandboxError, OSError) as error:
            return Look(unseen=str(error))
        return Look(_read_entries(scratch.work / "entries.jsonl"))


async def _run(scratch: Scratch, confined: tuple[SandboxBackend, SandboxPolicy] | None) -> None:
    await run_program(
        [sys.executable, "-P", "-c", _CHILD, str(scratch.work), *sys.path],
        directory=scratch.work,
        environ=scratch.environment(),
        timeout_seconds=_SECONDS,
        on_stdout=lambda _: None,
        sandbox=confined,
    )


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


def look_in_child() -> None:
    """Describe plugins, a line each; this is the process of :func:`look_at`."""
    from oneclaw_core.plugins.manager import Looker
    from oneclaw_core.tools.registry import ToolRegistry

    work, *paths = sys.argv[1:]
    request = json.loads(Path(work, "request.json").read_text("utf-8"))
    sys.path[:] = [*([request["root"]] if request["root"] else []), *paths]
    looker = Looker(ToolRegistry())
    with Path(work, "entries.jsonl").open("w", encoding="utf-8") as file:
        for data in request["plugins"]:
            plugin = Plugin.from_dict(data)
            looker.look(plugin)
            file.write(json.dumps(plugin.to_dict()) + "\n")
            file.flush()


def _read_entries(path: Path) -> dict[str, Plugin]:
    """Read what the process has written; a plugin may have written it itself."""
    found: dict[str, Plugin] = {}
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_BYTES).splitlines()
        for line in lines:
            plugin = Plugin.from_dict(json.loads(line))
            found[plugin.target] = plugin
    except Exception:  # noqa: BLE001  # it may be wrong in any way
        return found
    return found
