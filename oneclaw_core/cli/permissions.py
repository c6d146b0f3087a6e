"""`oneclaw permissions`: what tools may do."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import HomeCatalog, load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.options import permissions_by_name, stacked
from oneclaw_core.cli.output import document_of, json_option, print_listing, print_text, warn
from oneclaw_core.cli.running import with_home, with_store
from oneclaw_core.cli.sessions import find_stored
from oneclaw_core.errors import UsageError
from oneclaw_core.permissions.decisions import GRANTED_BY_DEFAULT
from oneclaw_core.permissions.requests import grant_in_words
from oneclaw_core.permissions.rules import ALL_PARTS, PermissionRule, subject_kind
from oneclaw_core.plugins.plugin import import_target
from oneclaw_core.services.manager import SERVICE_HOOK
from oneclaw_core.sessions.agents import not_found
from oneclaw_core.shipped.missing import similar_names
from oneclaw_core.types.permissions import Decision, Grant, PermissionUse, is_permission_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.app import OneClaw
    from oneclaw_core.sessions.store import Store


@click.group(cls=CommandGroup)
def permissions() -> None:
    """List what tools may do, and decide on it permanently."""


@permissions.command("list")
@json_option
def list_permissions(as_json: bool) -> None:
    """List all permissions and the decisions on them.

    Each is listed with the tools that need it, and each decision with its origin and when it was last used.
    """
    documents = _documents(load_catalog())
    rows = ((each["name"], each["state"], _explanation(each), ", ".join(each["tools"])) for each in documents)
    print_listing(as_json, documents, ("permission", "state", "meaning", "tools"), rows)


_scope_options = stacked(
    click.option("--agent", metavar="NAME", help="The only agent that it holds for, by name or id."),
    click.option("--task", metavar="TASK", help="The only scheduled task that it holds for, by name or id."),
    click.option(
        "--in",
        "directory",
        metavar="DIRECTORY",
        type=click.Path(exists=True, file_okay=False),
        help="The only directory that it holds in, for what runs in one, such as commands.",
    ),
    click.option(
        "--until",
        type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]),
        metavar="DATE",
        help="When it ends, in local time, such as 2026-01-31 or '2026-01-31 18:00'; by default never.",
    ),
)


@permissions.command("grant")
@click.argument("name")
@_scope_options
def grant(name: str, **scope: Any) -> None:
    """Grant a permission to all tools that need it, without asking.

    NAME can end in a pattern of what it is granted for: 'shell.execute:git status' is one command,
    'shell.execute:git *' is git with any arguments, and 'network.private:192.168.1.7' is one host.
    """
    _decide(name, Decision.GRANT, **scope)


@permissions.command("deny")
@click.argument("name")
@_scope_options
def deny(name: str, **scope: Any) -> None:
    """Deny a permission to all tools, without asking.

    NAME can end in a pattern, as for grant, or name several at once: google.gmail is all that begins so. A denial takes
    precedence over a grant.
    """
    _decide(name, Decision.DENY, **scope)


@permissions.command("reset")
@click.argument("name", required=False)
def reset(name: str | None) -> None:
    """Remove the decisions on a permission, or on all.

    The default holds again.
    """
    if name is None:
        count = with_store(lambda store: store.reset_grants())
        print_text(f"{count} {'decision' if count == 1 else 'decisions'} forgotten")
        return
    rule = PermissionRule.read(name)
    with suppress(UsageError):  # what is no pattern any more can still be forgotten
        rule = PermissionRule.check(name)
    if with_store(lambda store: store.remove_grants(rule.permission, rule.pattern)):
        print_text(f"the decision on {rule} is forgotten")
    else:
        print_text(f"nothing was decided on {rule}")


@permissions.command("log")
@click.option("--session", metavar="NAME", help="Only of this session, by name or id.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 50_000), help="How many entries.")
@json_option
def log(session: str | None, limit: int, as_json: bool) -> None:
    """List what tools were granted and refused, the newest first.

    What is granted by default, such as to read files of the workspace, is not listed.
    """

    async def read(store: Store) -> list[PermissionUse]:
        found = await find_stored(store, session) if session is not None else None
        return await store.permission_log(limit, found.id if found is not None else None)

    uses = with_store(read, is_read_only=True)
    documents = (
        {
            **document_of(use, "at", "permission", "subject", "detail"),
            "tool": use.tool_name,
            "outcome": _outcome(use),
            "decided_by": use.decided_by,
            "session": use.session_id,
            **document_of(use, "agent", "task", "directory"),
        }
        for use in uses
    )
    rows = (
        (
            f"{use.at.astimezone():%Y-%m-%d %H:%M:%S}" if use.at is not None else "",
            # In a sandbox nothing had to be granted.
            use.detail if use.decided_by == "sandbox" else f"{_outcome(use)} by {use.decided_by}",
            use.permission,
            use.tool_name,
            use.subject or use.detail,
        )
        for use in uses
    )
    print_listing(as_json, documents, ("when", "outcome", "permission", "tool", "for"), rows)


def _outcome(use: PermissionUse) -> str:
    return "granted" if use.is_granted else "refused"


def _decide(
    name: str, decision: Decision, *, agent: str | None, task: str | None, directory: str | None, until: datetime | None
) -> None:
    rule = _checked_rule(name, decision)
    if until is not None and until <= datetime.now():
        raise UsageError(f"--until {until:%Y-%m-%d %H:%M} is over")
    if directory is not None and subject_kind(rule.permission).directory_argument is None:
        warn(f"--in: {rule.permission} then holds only for tools that say in which directory they use it")
    task = _task_id(task) if task is not None else None
    place = str(Path(directory).resolve()) if directory is not None else None
    end = until.astimezone() if until is not None else None

    async def decide(store: Store) -> Grant:
        found = await store.find_agent(agent) if agent is not None else None
        if agent is not None and found is None:
            raise not_found(agent)
        name = found.name if found is not None else None
        decided = Grant(rule.permission, rule.pattern, decision, end, name, task, place)
        await store.set_grant(decided)
        return decided

    decided = with_store(decide)
    shown = rule if _is_everywhere(decided, also_for_parts=True) else grant_in_words(decided)
    print_text(f"{shown} is {'granted' if decision is Decision.GRANT else 'denied'}")


def _checked_rule(text: str, decision: Decision) -> PermissionRule:
    """Read what is to be decided on; warn of a permission that no tool declares.

    Raises:
        UsageError: no decision can be made on that.
    """
    known = permissions_by_name(load_catalog().registry)
    rule = PermissionRule.check(text)
    name = rule.permission.removesuffix(ALL_PARTS)
    is_whole = name != rule.permission and name.count(".") > 0 and rule.pattern is None and decision is Decision.GRANT
    if name != rule.permission and not is_whole:
        raise UsageError(
            f"{rule.permission!r}: only a grant ends with {ALL_PARTS}, and it has two words or more before that, as in "
            "mcp.files.*"
        )
    parts = [each for each in known if each.startswith(f"{name}.")]
    if rule.permission in known or (is_whole and parts):
        return rule
    if parts and decision is Decision.GRANT:
        raise UsageError(f"{rule.permission} has parts, and each is granted by itself: {', '.join(parts)}")
    if not parts and not is_permission_name(name):
        raise UsageError(
            f"{rule.permission!r} is not a permission's name: it is lower-case words separated by dots, such as "
            "network.private"
        )
    if not parts:
        close = similar_names(rule.permission, known)
        warn(
            f"no installed tool declares {rule.permission!r}; it counts only for a tool that asks for it while it "
            f"runs{f'; did you mean {close}?' if close else ''}"
        )
    return rule


def _task_id(wanted: str) -> str:
    """Find the id of a scheduled task among those of all plugins that run any."""

    async def find(claw: OneClaw) -> str | None:
        for each in claw.plugins.registrations(SERVICE_HOOK):
            if "find_task" in each.options:
                found: str | None = await import_target(each.options["find_task"])(claw.services, wanted)
                if found is not None:
                    return found
        return None

    task = with_home(find)
    if task is None:
        raise UsageError(f"there is no scheduled task {wanted!r}; list those there are with: oneclaw tasks list")
    return task


def _documents(catalog: HomeCatalog) -> list[dict[str, Any]]:
    """Describe each permission as a whole, then the decisions that hold for a part of one."""
    tools = permissions_by_name(catalog.registry)
    everywhere = {each.permission: each for each in catalog.states.grants if _is_everywhere(each)}
    parts = [each for each in catalog.states.grants if not _is_everywhere(each)]
    meanings = catalog.registry.get_permission_meanings()
    wholes = ((name, name, everywhere.get(name), meanings.get(name)) for name in dict.fromkeys((*tools, *everywhere)))
    return [
        {
            "name": name,
            "meaning": meaning.text if meaning is not None else "",
            "meaning_by": meaning.plugin if meaning is not None else None,
            "state": _undecided(name, catalog) if decided is None else _state(decided),
            "tools": tools.get(permission, []),
            **_decision_document(decided),
        }
        for name, permission, decided, meaning in (
            *wholes,
            *((each.name, each.permission, each, None) for each in parts),
        )
    ]


def _is_everywhere(grant: Grant, *, also_for_parts: bool = False) -> bool:
    has_pattern = grant.pattern and not also_for_parts
    return not any((has_pattern, grant.agent, grant.task, grant.directory, grant.until))


def _decision_document(grant: Grant | None) -> dict[str, Any]:
    if grant is None:
        return {}
    names = ("pattern", "agent", "task", "directory", "until", "source", "created_at", "last_used_at")
    return {"decision": grant_in_words(grant), **document_of(grant, *names)}


def _explanation(document: Mapping[str, Any]) -> str:
    """Say what a permission means, and what was decided on it."""
    plugin = document["meaning_by"]
    parts = [f"says plugin {plugin}: {document['meaning']}" if plugin is not None else document["meaning"]]
    if "decision" in document:
        used = document["last_used_at"]
        when = f"last used {datetime.fromisoformat(used).astimezone():%Y-%m-%d %H:%M}" if used else "not used yet"
        parts.append(f"{document['decision']} (from {document['source']}, {when})")
    return "; ".join(filter(None, parts))


def _undecided(name: str, catalog: HomeCatalog) -> str:
    """Say what holds for a permission as long as nothing is decided on it.

    A tool that only reads and asks for itself is refused what is denied, and runs without a question.
    """
    if name in GRANTED_BY_DEFAULT:
        return "granted by default"
    tools = filter(None, map(catalog.registry.get_tool, catalog.registry.get_all_tool_names()))
    needing = [each.definition for each in tools if name in each.definition.required_permissions]
    asks_itself = any(each.behaviour.asks_itself and each.read_only for each in needing)
    return "granted unless denied" if asks_itself else "asks"


def _state(decided: Grant) -> str:
    if decided.until is not None and decided.until <= datetime.now(UTC):
        return "ended"
    return "granted" if decided.decision is Decision.GRANT else "denied"
