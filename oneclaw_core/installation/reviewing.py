"""Reviews of plugins: withhold what goes beyond what the user has reviewed.

OneClaw's own distributions need no review. A plugin that was never reviewed, such as one that pip installed, works
unless the setting ``reviewed_plugins_only`` is on. If what was reviewed cannot be read, no plugin of others is loaded.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from oneclaw_core.capabilities.capability import (
    HOOK,
    SETTINGS_HOOK,
    Capability,
    derived_capabilities,
    withheld_rows,
    without_secrets,
)
from oneclaw_core.capabilities.declaration import Declaration, DeclarationError, beyond, read_declaration
from oneclaw_core.capabilities.record import ReviewedPackage, ReviewRecord, user_reviews
from oneclaw_core.errors import OneClawError
from oneclaw_core.installation.origins import content_of, package_of
from oneclaw_core.plugins.distributions import is_ours

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from oneclaw_core.capabilities.capability import Row
    from oneclaw_core.plugins.plugin import Plugin

REVIEW = "review"
"""The step of a plugin that problems of a review name."""

_MOST_SHOWN = 5
_log = logging.getLogger("oneclaw.plugins")


def _withhold(plugin: Plugin, rows: Collection[Row], new: frozenset[Capability]) -> None:
    """Take some rows and hooks from a plugin, and secrets that are new from its settings."""
    withheld = {(row.hook, row.name) for row in rows}
    hooks = {each.name for each in new if each.kind == HOOK}
    plugin.registrations = [
        replace(each, options=without_secrets(each.options, new)) if each.hook == SETTINGS_HOOK else each
        for each in plugin.registrations
        if (each.hook, each.name) not in withheld
    ]
    plugin.hooks = {name: options for name, options in plugin.hooks.items() if name not in hooks}


class Reviews:
    """The reviewed capabilities, applied while plugins of others are loaded.

    Args:
        is_required: True to load nothing that was not reviewed.
        record: what was reviewed; by default by this user in this environment.
    """

    def __init__(self, *, is_required: bool = False, record: ReviewRecord | None = None) -> None:
        self._is_required = is_required
        self._record = record if record is not None else user_reviews()
        self._error = ""
        self._known: Mapping[str, ReviewedPackage] | None = None

    def blocks(self, plugin: Plugin) -> bool:
        """Return True if a plugin is not to be loaded, and not even imported; it is reported then."""
        known = self._read()
        if known is None:
            cause = f"what you have reviewed of plugins cannot be read, so it is not loaded: {self._error}"
            plugin.report(REVIEW, cause, "repair that file", check="review.unreadable")
            return True
        if self._is_required and self._reviewed(plugin) is None:
            cause = "it was not reviewed, so it is not loaded: the setting reviewed_plugins_only is on"
            plugin.report(REVIEW, cause, review_command(plugin.name), check="review.missing")
            return True
        reviewed_content = known[package_of(plugin)].content if self._is_required else ""
        if reviewed_content and reviewed_content != content_of(plugin):
            cause = "its files are not those that you reviewed, so it is not loaded: reviewed_plugins_only is on"
            plugin.report(REVIEW, cause, review_command(plugin.name), check="review.changed")
            return True
        return False

    def hold(self, plugin: Plugin) -> None:
        """Take from a plugin what goes beyond what was reviewed, and report it."""
        try:
            declared = declaration_of(plugin)
        except DeclarationError as error:
            plugin.report(REVIEW, str(error), "ask its author to correct it", check="capabilities.invalid")
            declared = Declaration(plugin.name, {})  # it may do none of it
        reviewed = self._reviewed(plugin)
        plugin.declaration = declared if reviewed is None else declared.within(reviewed)
        if reviewed is None:
            return
        rows = plugin.registrations
        new = beyond(derived_capabilities(rows, plugin.hooks) | declared.capabilities, reviewed)
        if not new:
            self._note_same(plugin)
            return
        withheld = withheld_rows(rows, new)
        plugin.report(REVIEW, _cause(new), review_command(plugin.name), check="review.wider")
        plugin.withheld += [f"{row.hook.removeprefix('register_').rstrip('s')} {row.name}" for row in withheld]
        _withhold(plugin, withheld, new)

    def _read(self) -> Mapping[str, ReviewedPackage] | None:
        if self._known is None and not self._error:
            try:
                self._known = self._record.read()
            except OneClawError as error:
                self._error = str(error)
        return self._known

    def _reviewed(self, plugin: Plugin) -> frozenset[Capability] | None:
        package = (self._read() or {}).get(package_of(plugin))
        # A plugin that came with a later version has nothing reviewed. One whose name is taken is NAME@PACKAGE.
        return None if package is None else package.plugins.get(_own_name(plugin), frozenset())

    def _note_same(self, plugin: Plugin) -> None:
        """Log a new version that does nothing more than what was reviewed, once."""
        name, version = package_of(plugin), plugin.version or "?"
        before = (self._read() or {})[name]
        if before.version == version:
            return
        _log.info("%s %s -> %s may do nothing more than what was reviewed", name, before.version, version)
        try:
            self._record.note(name, reviewed_package(plugin))
        except OneClawError as error:
            _log.info("that cannot be noted: %s", error)


def reviewed_package(
    plugin: Plugin, capabilities: Mapping[str, frozenset[Capability]] = MappingProxyType({})
) -> ReviewedPackage:
    """Return the entry of the record for an installed package.

    Args:
        plugin: one of its plugins.
        capabilities: what was reviewed of its plugins, by name.
    """
    return ReviewedPackage(plugin.version or "?", content_of(plugin), dict(capabilities))


def reviewed_plugins(records: Iterable[Plugin]) -> dict[str, bool]:
    """Say of each plugin that needs a review, by name, whether the user has reviewed it."""
    strangers = [each for each in records if each.is_installed and not is_ours(each)]
    try:
        known = user_reviews().read() if strangers else {}
    except OneClawError:
        known = {}
    return {
        each.name: package_of(each) in known and _own_name(each) in known[package_of(each)].plugins
        for each in strangers
    }


def _own_name(plugin: Plugin) -> str:
    return plugin.name.removesuffix(f"@{plugin.distribution}")


def review_command(name: str) -> str:
    """Return the command by which a user reviews a plugin."""
    return f"oneclaw plugins review {name}"


def declaration_of(plugin: Plugin) -> Declaration:
    """Read what an installed plugin declares.

    Raises:
        DeclarationError: it is invalid.
    """
    module = plugin.target.partition(":")[0]
    file = next((Path(each) for each in plugin.files if each.endswith(".py")), None)
    if file is None:
        return Declaration(plugin.name, None)
    is_package = file.name == "__init__.py"
    parents = len(module.split(".")) + (1 if is_package else 0)
    return read_declaration(plugin.name, module, file.parents[parents - 1])


def _cause(new: Iterable[Capability]) -> str:
    shown = sorted(new)
    more = f" and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
    return f"it goes beyond what you reviewed, and this is withheld: {'; '.join(map(str, shown[:_MOST_SHOWN]))}{more}"
