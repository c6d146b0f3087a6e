"""The names that plugins claim, and which of them a plugin does not get because they belong to another distribution."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.plugins.plugin import (
    GROUP_HOOK,
    PRECONFIGURED_HOOK,
    PROVIDER_HOOK,
    SETTINGS_HOOK,
    SKILL_HOOK,
    SOURCE_HOOK,
    TOOL_HOOK,
)
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from oneclaw_core.plugins.plugin import Plugin, Registration

PLUGIN, TOOL, GROUP, PERMISSION, SETTING, SERVICE = (
    *("plugin", "tool", "tool group", "permission"),
    *("setting", "service"),
)
"""Kinds of names that are more than one row of :data:`_KINDS`."""
SHORT_NAME_TAKEN = "is_short_name_taken"
"""Option of a service whose short name belongs to another distribution; ``PLUGIN.NAME`` still means it."""

_KINDS = {
    PROVIDER_HOOK: "provider type",
    PRECONFIGURED_HOOK: "provider",
    SKILL_HOOK: "skill",
    "register_stores": "store",
    "register_services": SERVICE,
    "register_channels": "channel",
    "register_triggers": "trigger",
    "register_commands": "command",
    "register_chat_commands": "chat command",
}
"""Hooks and the nouns for what they register. Routes, checks and tool sources are named within their plugin."""

_HOOKS = {
    PLUGIN: "discovery",
    TOOL: "register_tools",
    GROUP: "register_groups",
    PERMISSION: "register_groups",
    SETTING: SETTINGS_HOOK,
}
_CHECKS = {
    PLUGIN: "package.name-taken",
    TOOL: "names.taken",
    GROUP: "groups.taken",
    PERMISSION: "permissions.meaning-taken",
    "provider type": "names.provider-taken",
    "command": "names.command-taken",
    "chat command": "names.command-taken",
    SETTING: "names.setting-taken",
}


class Name(NamedTuple):
    """A name of one kind, in the form in which two that can be mistaken for each other are the same."""

    kind: str
    form: str


class Claim(NamedTuple):
    """A name that a plugin registers.

    Attributes:
        kind: the noun, such as ``tool``.
        name: as the plugin writes it.
        text: what the plugin says about it; two that say the same share the name.
        is_joining: True for a tool group that the plugin adds tools to and does not describe.
        shown: what users are shown for the name; by default the name in quotes.
    """

    kind: str
    name: str
    text: str = ""
    is_joining: bool = False
    shown: str = ""

    @property
    def key(self) -> Name:
        """The name that is compared."""
        return name_of(self.kind, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.shown or repr(self.name)}"


def name_of(kind: str, name: str) -> Name:
    """Return a name as it is compared: case, and ``-`` or ``_``, make no difference."""
    if not name.isascii():
        import unicodedata

        name = unicodedata.normalize("NFKC", name)
    # The keys of providers are read from variables, which have letters, digits and '_' alone.
    form = re.sub(r"[^a-z0-9]", "_", name.casefold()) if kind == "provider" else name.casefold().replace("-", "_")
    return Name(kind, form)


def check_of(kind: str) -> str:
    """Return what ``oneclaw plugins check`` calls a name of this kind that is taken."""
    return _CHECKS.get(kind, "names.taken")


def hook_of(kind: str) -> str:
    """Return where a name of this kind is registered."""
    by_kind = {noun: hook.partition(".")[0] for hook, noun in _KINDS.items()}
    return _HOOKS.get(kind) or by_kind[kind]


def claims_of(plugin: Plugin) -> Iterator[Claim]:
    """Return the names that a plugin claims by what it registers."""
    tools, groups = _rows(plugin, TOOL_HOOK), _rows(plugin, GROUP_HOOK)
    for tool in tools:
        yield Claim(TOOL, tool.name)
    joined = dict.fromkeys(tool.group for tool in tools if tool.group is not None)
    required = {each for tool in tools if tool.definition is not None for each in tool.definition.required_permissions}
    for each in groups:
        group = each.group_definition
        yield Claim(GROUP, group.name, f"{group.display_name}\n{group.description}")
        for permission, meaning in group.permissions.items():
            is_own = permission in required or _begins_with_group(permission, joined)
            if permission not in KNOWN_PERMISSIONS and is_own:
                yield Claim(PERMISSION, permission, meaning)
    described = {each.name for each in groups}
    for name in [name for name in joined if name not in described]:
        yield Claim(GROUP, name, is_joining=True)
    for registration in plugin.registrations:
        yield from _claimed_by(registration, plugin.name)


def withhold(plugin: Plugin, names: Collection[Name]) -> None:
    """Take from a plugin what it registers by names that belong to other distributions.

    A service stays, and loses its short name. The tools of a group stay, without what the plugin says about the group.
    """
    kept = []
    for each in plugin.registrations:
        lost = {claim.kind for claim in _claimed_by(each, plugin.name) if claim.key in names}
        if SERVICE in lost:
            kept.append(replace(each, options={**each.options, SHORT_NAME_TAKEN: True}))
        elif each.hook == GROUP_HOOK and name_of(GROUP, each.name) not in names:
            meanings = each.options.get("permissions", {})
            own = {name: text for name, text in meanings.items() if name_of(PERMISSION, name) not in names}
            is_same = len(own) == len(meanings)
            kept.append(each if is_same else replace(each, options={**each.options, "permissions": own}))
        elif not lost and each.hook != GROUP_HOOK and (each.hook != TOOL_HOOK or name_of(TOOL, each.name) not in names):
            kept.append(each)
    plugin.registrations = kept


def _rows(plugin: Plugin, hook: str) -> list[Registration]:
    return [each for each in plugin.registrations if each.hook == hook]


def _claimed_by(registration: Registration, plugin: str) -> Iterator[Claim]:
    kind = _KINDS.get(registration.hook)
    if kind is not None:
        yield Claim(kind, registration.name)
    elif registration.hook == SOURCE_HOOK and "listed_as" in registration.options:
        yield Claim(PLUGIN, str(registration.options["listed_as"]))
    elif registration.hook == SETTINGS_HOOK and "schema" in registration.options:
        from oneclaw_core.config.setting_fields import fields_of

        for field in fields_of(registration.options, plugin):
            yield Claim(SETTING, field.variable, shown=f"{field.key} with the variable {field.variable}")


def _begins_with_group(permission: str, groups: Collection[str]) -> bool:
    """Return True if a permission begins with the name of a group of the plugin's tools."""
    words = permission.replace(".", "_")
    return any(words.startswith(f"{group}_") for group in groups)
