"""Gather the contents of the page of plugins, and note what the user has accepted of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.capabilities import (
    Declaration,
    DeclarationError,
    derived_capabilities,
    read_declaration,
    user_reviews,
)
from oneclaw_core.installation import declaration_of, is_ours, package_of, reviewed_package
from oneclaw_core.plugins import find_installed, normalised
from oneclaw_devtools.reviewing.page import ReviewedPlugin, token_cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.capabilities import ReviewedPackage
    from oneclaw_core.plugins import Plugin
    from oneclaw_devtools.reviewing.sandboxed_look import Look

_LOOK_FAILED = "it ended the process that looked at it, or did not end in time"


def new_pages(folder: Path, look: Look) -> list[ReviewedPlugin]:
    """Return what the page shows of plugins that are not installed; OneClaw's own are left out.

    Args:
        folder: with the packages, as they would be in ``site-packages``.
        look: what was found there.
    """
    return seen_plugins(find_installed([str(folder)]), folder, look, user_reviews().read())


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
            declared = _declared_by(plugin, root)
        except DeclarationError as error:
            declared = Declaration(plugin.name, {})
            problems.append(str(error))
        package = f"{plugin.distribution} {plugin.version}"
        looked_at = look.plugins.get(plugin.target)
        if looked_at is not None:
            seen = _seen_plugin(looked_at, package, declared)
        else:
            if not look.unseen:
                problems.append(_LOOK_FAILED)
            unseen = look.unseen or _LOOK_FAILED
            seen = ReviewedPlugin(plugin.name, package, None, declared, unseen=unseen)
        reviewed = known[package_of(plugin)].plugins.get(plugin.name) if package_of(plugin) in known else None
        found.append(replace(seen, name=plugin.name, reviewed=reviewed, problems=(*seen.problems, *problems)))
    return found


def _declared_by(plugin: Plugin, root: Path | None) -> Declaration:
    """Read what a plugin declares.

    Raises:
        DeclarationError: it is invalid.
    """
    if root is not None:
        return read_declaration(plugin.name, plugin.target, root)
    return declaration_of(plugin)


def _seen_plugin(plugin: Plugin, package: str, declared: Declaration) -> ReviewedPlugin:
    """Return what the page shows of a plugin, from what it registers."""
    rows = plugin.registrations
    return ReviewedPlugin(
        plugin.name,
        package,
        derived_capabilities(rows, plugin.hooks),
        declared,
        token_cost(rows),
        tools=sum(row.definition is not None for row in rows),
        problems=tuple(each.cause for each in plugin.problems if each.is_error),
    )


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
