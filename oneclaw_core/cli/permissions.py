"""`oneclaw permissions`: what tools may do."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.options import check_has_pattern, permissions_by_name
from oneclaw_core.cli.output import json_option, print_listing, print_text, warn
from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.sessions.settings import Decision
    from oneclaw_core.tools.permission_meanings import PermissionMeaning
    from oneclaw_core.tools.permission_rules import PermissionRule


@click.group(cls=CommandGroup)
def permissions() -> None:
    """List what tools may do, and decide on it for good."""


@permissions.command("list")
@json_option
def list_permissions(as_json: bool) -> None:
    """List all permissions, and what was decided on them.

    The tools that need each are named with it.
    """
    documents = _documents(load_catalog())
    rows = ((each["name"], each["state"], _attributed(each), ", ".join(each["tools"])) for each in documents)
    print_listing(as_json, documents, ("permission", "state", "meaning", "tools"), rows)


@permissions.command("grant")
@click.argument("name")
def grant(name: str) -> None:
    """Let all tools that need a permission have it, without asking.

    NAME can end in a pattern of what it is granted for: 'shell.execute:git status' is one command, and
    'shell.execute:git *' is git with any arguments.
    """
    _decide(name, "grant", "granted")


@permissions.command("deny")
@click.argument("name")
def deny(name: str) -> None:
    """Never let a tool have a permission, without asking.

    NAME can end in a pattern, as for grant. What is denied goes before what is granted.
    """
    _decide(name, "deny", "denied")


@permissions.command("reset")
@click.argument("name", required=False)
def reset(name: str | None) -> None:
    """Forget what was decided on a permission, or on all.

    The default holds again.
    """
    from oneclaw_core.cli.running import with_store
    from oneclaw_core.tools.permission_rules import PermissionRule

    if name is None:
        count = with_store(lambda store: store.reset_permissions())
        print_text(f"{count} {'decision' if count == 1 else 'decisions'} forgotten")
        return
    with suppress(UsageError):  # what is no pattern any more can still be forgotten
        name = str(PermissionRule.check(name))
    if with_store(lambda store: store.remove_permission(name)):
        print_text(f"the decision on {name} is forgotten")
    else:
        print_text(f"nothing was decided on {name}")


def _decide(name: str, decision: Decision, outcome: str) -> None:
    from oneclaw_core.cli.running import with_store
    from oneclaw_core.tools.permission_meanings import is_permission_name
    from oneclaw_core.tools.permission_rules import PermissionRule

    known = {each["name"]: each for each in _documents(load_catalog())}
    check_has_pattern(name, known)
    rule = PermissionRule.check(name)
    name = str(rule)
    if rule.permission not in known:
        if not is_permission_name(name):
            raise UsageError(
                f"{name!r} is no permission's name: it is lower-case words separated by dots, such as network.private"
            )
        warn(f"no installed tool declares {name!r}; it counts only for a tool that asks for it while it runs")
    with_store(lambda store: store.set_permission(name, decision))
    print_text(f"{name} is {outcome}")


def _documents(catalog: HomeCatalog) -> list[dict[str, Any]]:
    from oneclaw_core.tools.permission_rules import PermissionRule

    meanings = catalog.registry.get_permission_meanings()
    tools = permissions_by_name(catalog.registry)
    for name in catalog.states.permissions:
        tools.setdefault(name, tools.get(PermissionRule.read(name).permission, []))
    return [
        {
            "name": name,
            "meaning": _meaning(PermissionRule.read(name), meanings),
            "meaning_by": meanings[name].plugin if name in meanings else None,
            "state": _state(name, catalog.states.permissions.get(name)),
            "tools": tool_names,
        }
        for name, tool_names in tools.items()
    ]


def _attributed(document: Mapping[str, Any]) -> str:
    plugin = document["meaning_by"]
    return f"says plugin {plugin}: {document['meaning']}" if plugin is not None else document["meaning"]


def _meaning(rule: PermissionRule, meanings: Mapping[str, PermissionMeaning]) -> str:
    from oneclaw_core.tools.permission_rules import SUBJECT_KINDS

    if rule.pattern is None:
        return meanings[rule.permission].text if rule.permission in meanings else ""
    return f"for the {SUBJECT_KINDS[rule.permission].noun} {rule.pattern} only"


def _state(name: str, decision: str | None) -> str:
    from oneclaw_core.tools.permissions import GRANTED_BY_DEFAULT

    if decision is not None:
        return "granted" if decision == "grant" else "denied"
    return "granted by default" if name in GRANTED_BY_DEFAULT else "asks"
