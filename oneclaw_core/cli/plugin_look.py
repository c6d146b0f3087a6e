"""Look at plugins in a sandbox: what they register is known before anything of them runs with the user's rights."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core.capabilities.declaration import Declaration, DeclarationError, read_declaration
from oneclaw_core.capabilities.page import ReviewedPlugin
from oneclaw_core.capabilities.record import user_reviews
from oneclaw_core.errors import SandboxError
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.installation.reviewing import is_ours, package_of, reviewed_package, seen_plugin
from oneclaw_core.plugins.distributions import normalised
from oneclaw_core.plugins.plugin import Plugin
from oneclaw_core.process.programs import run_program
from oneclaw_core.process.sandbox.choice import choose_sandbox
from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy
from oneclaw_core.process.sandbox_rules import SandboxScope, sandbox_policy
from oneclaw_core.process.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.capabilities.record import ReviewedPackage
    from oneclaw_core.process.sandbox.backend import SandboxBackend

_SECONDS = 60.0
_CHILD = "from oneclaw_core.cli.plugin_look import look_in_child; look_in_child()"
_LOOK_FAILED = "it ended the process that looked at it, or did not end in time"
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
    from oneclaw_core.plugins.looking import Looker
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


def seen_plugins(
    plugins: Sequence[Plugin], root: Path | None, look: Look, known: Mapping[str, ReviewedPackage]
) -> list[ReviewedPlugin]:
    """Put together what the page shows of plugins; OneClaw's own are left out, as they need no review.

    Args:
        plugins: the plugins.
        root: where they were unpacked to; ``None`` for installed plugins.
        look: what was found.
        known: what the user has reviewed, by package.
    """
    found: list[ReviewedPlugin] = []
    for plugin in plugins:
        if is_ours(plugin):
            continue
        problems: list[str] = []
        try:
            declared = declared_by(plugin, root)
        except DeclarationError as error:
            declared = Declaration(plugin.name, {})
            problems.append(str(error))
        package = f"{plugin.distribution} {plugin.version}"
        looked_at = look.plugins.get(plugin.target)
        if looked_at is not None:
            seen = seen_plugin(looked_at, package, declared)
        else:
            if not look.unseen:
                problems.append(_LOOK_FAILED)
            unseen = look.unseen or _LOOK_FAILED
            seen = ReviewedPlugin(plugin.name, package, None, declared, unseen=unseen)
        reviewed = known[package_of(plugin)].plugins.get(plugin.name) if package_of(plugin) in known else None
        found.append(replace(seen, name=plugin.name, reviewed=reviewed, problems=(*seen.problems, *problems)))
    return found


def declared_by(plugin: Plugin, root: Path | None) -> Declaration:
    """Read what a plugin declares.

    Raises:
        DeclarationError: it is invalid.
    """
    if root is not None:
        return read_declaration(plugin.name, plugin.target, root)
    from oneclaw_core.installation.reviewing import declaration_of

    return declaration_of(plugin)


def look_at_unpacked(folder: Path) -> list[ReviewedPlugin]:
    """Look at plugins that are not installed, in the sandbox that the settings choose; OneClaw's own are left out.

    Args:
        folder: with the packages, as they would be in ``site-packages``.
    """
    from oneclaw_core.cli.catalog import load_catalog
    from oneclaw_core.config.plugin_choices import sandbox_setting
    from oneclaw_core.plugins.installed import find_installed

    plugins = [each for each in find_installed([str(folder)]) if not is_ours(each)]
    if not plugins:
        return []
    setting = sandbox_setting(load_catalog(is_quiet=True).states.settings, os.environ)
    return seen_plugins(plugins, folder, look_at(plugins, folder, setting), user_reviews().read())


def note_reviewed(seen: Iterable[ReviewedPlugin], removed: Iterable[str] = ()) -> list[str]:
    """Note that the user has accepted what a page has shown of packages that are installed now.

    Args:
        seen: plugins that were shown; one that nothing has looked at stays without a review.
        removed: packages that were uninstalled, whose reviews are forgotten.

    Returns:
        The names of plugins that still need a review.

    Raises:
        OneClawError: that cannot be written.
    """
    from oneclaw_core.plugins.installed import find_installed

    record = user_reviews()
    for name in removed:
        record.forget(normalised(name))
    shown = {(each.name, each.package): each for each in seen}
    missing: list[str] = []
    for plugin in find_installed() if shown else ():
        each = shown.get((plugin.name, f"{plugin.distribution} {plugin.version}"))
        if each is not None and each.derived is not None:
            record.note(package_of(plugin), reviewed_package(plugin, {plugin.name: each.capabilities}))
        elif each is not None:
            missing.append(plugin.name)
    return missing
