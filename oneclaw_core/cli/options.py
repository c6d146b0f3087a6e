"""Options of the commands about a conversation, and the permissions that `--allow` grants."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oneclaw_core.cli.output import is_terminal, printable_name, warn
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.shipped.missing import how_to_install, missing_parts
from oneclaw_core.types.agents import REASONING_LEVELS, ReasoningLevel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.user_question import UserAsker

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")


def stacked(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Make one decorator of several options, which the help lists in this order."""

    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_CONVERSATION = stacked(
    click.option("--session", metavar="NAME", help="The session to continue, by name or id; a new name begins one."),
    click.option("--agent", metavar="NAME", help="The agent; by default the session's."),
    click.option("--model", metavar="PROVIDER/MODEL", help="The model; by default the session's."),
    click.option(
        "--continue", "continues", is_flag=True, help="Continue the newest session of this directory, else the newest."
    ),
    click.option(
        "--reasoning",
        type=click.Choice(REASONING_LEVELS),
        help="How much the model thinks before it answers; by default as set for the agent or the model.",
    ),
    click.option(
        "--attach",
        metavar="FILE",
        multiple=True,
        type=click.Path(),
        help="Send an image or a PDF file with the message; may be repeated.",
    ),
)

allow_option = click.option(
    "--allow",
    metavar="PERMISSION",
    multiple=True,
    help="Grant a permission for this run, such as 'shell.execute:git *'; may be repeated.",
)
"""Gives a command the parameter ``allow``."""


yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
"""Gives a command the parameter ``is_confirmed``."""


def confirm(verb: str, what: str, question: str) -> None:
    """Ask whether something may be done; Enter means no.

    Args:
        verb: ``delete`` or ``remove``.
        what: names the thing, for someone who cannot be asked.
        question: made printable already.

    Raises:
        UsageError: standard input is not a terminal.
        OneClawError: the user does not want it.
    """
    if not is_terminal(sys.stdin):
        raise UsageError(f"no one can be asked here whether to {verb} {what}: add --yes")
    if not click.confirm(question, err=True):
        raise OneClawError(f"nothing was {verb}d")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChoice:
    """The options of a command that sends messages.

    Attributes:
        session: the session's name or id; ``None`` for a new one.
        continues: True to continue the newest session.
        agent: the agent's name; ``None`` for the session's.
        model: ``PROVIDER/MODEL``; ``None`` for the session's.
        reasoning: how much the model thinks; ``None`` for what is set.
        attach: paths of files to send.
        allow: permissions that are granted.
    """

    session: str | None
    continues: bool
    agent: str | None
    model: str | None
    reasoning: ReasoningLevel | None
    attach: tuple[str, ...]
    allow: tuple[str, ...]

    def attachments(self) -> list[Attachment]:
        """Read the files to send.

        Raises:
            UsageError: one cannot be read, or is of a kind that no model takes.
        """
        from oneclaw_core.files.attachments import read_attachment

        return [read_attachment(path) for path in self.attach]

    async def session_name(self, claw: OneClaw) -> str | None:
        """Return the name or id of the session to continue; ``None`` for a new one.

        Raises:
            UsageError: there is none to continue.
        """
        if not self.continues:
            return self.session
        found = await claw.store.last_used_session(claw.services.project.path)
        if found is None:
            raise UsageError("there is no session to continue: send a message without --continue")
        return found.id


def conversation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a conversation, as the parameter ``choice``, a :class:`ConversationChoice`."""

    @wraps(command)
    def gather(*arguments: Any, **parameters: Any) -> Any:
        choice = ConversationChoice(**{each.name: parameters.pop(each.name) for each in fields(ConversationChoice)})
        if choice.continues and choice.session is not None:
            raise click.UsageError("give one of --session and --continue")
        return command(*arguments, choice=choice, **parameters)

    return stacked(_CONVERSATION, allow_option)(gather)


def session_hint(session: str) -> str:
    """Say how to continue a session, given its name or id."""
    shown = session[:_SHORT_ID_CHARACTERS] if _ID.fullmatch(session) else shlex.quote(printable_name(session))
    return f"session {shown}: continue with oneclaw chat --session {shown}, or oneclaw run --continue MESSAGE"


_SHORT_ID_CHARACTERS = 12
_ID = re.compile(r"[0-9a-f]{32}")
_MISSPELT = 0.8


def permissions_by_name(registry: ToolRegistry) -> dict[str, list[str]]:
    """The permissions that OneClaw or a group explains and those that tools declare, each with the tools that do."""
    tools: dict[str, list[str]] = {name: [] for name in registry.get_permission_meanings()}
    for tool_name in registry.get_all_tool_names():
        tool = registry.get_tool(tool_name)
        for permission in tool.definition.required_permissions if tool is not None else ():
            tools.setdefault(permission, []).append(tool_name)
    return tools


def check_allowed(allowed: Collection[str], registry: ToolRegistry) -> None:
    """Refuse what ``--allow`` cannot mean.

    A plugin may ask for a permission that none of its tools declares. So a name is refused only if it looks like a
    known one with a typing error, begins like OneClaw's own permissions, or has no dot.

    Raises:
        UsageError: with the name that may be meant.
    """
    if not allowed:
        return  # what is known is found by reading the tools of all groups
    from difflib import get_close_matches

    from oneclaw_core.permissions.rules import ALL_PARTS, PermissionRule
    from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

    known = permissions_by_name(registry)
    own_parts = {name.partition(".")[0] for name in KNOWN_PERMISSIONS}
    for text in allowed:
        name = PermissionRule.check(text).permission
        whole = name.removesuffix(ALL_PARTS)
        if name in known or (whole != name and any(each.startswith(f"{whole}.") for each in known)):
            continue
        tool = registry.get_tool(name)
        if tool is not None and tool.definition.required_permissions:
            needed = ", ".join(tool.definition.required_permissions)
            raise UsageError(f"--allow takes a permission, and {name!r} is a tool; it needs: {needed}")
        close = get_close_matches(name, known, cutoff=_MISSPELT)
        part, dot, _ = name.partition(".")
        if close or not dot or part in own_parts:
            hint = f"did you mean {' or '.join(close)}?" if close else "list them with: oneclaw permissions list"
            raise UsageError(f"there is no permission {name!r}; {hint}")


@asynccontextmanager
async def open_allowing(
    allowed: Iterable[str],
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None,
    ask_user: UserAsker | None = None,
) -> AsyncGenerator[OneClaw, None]:
    """Open the user's home, with what ``--allow`` grants.

    Raises:
        UsageError: there is no such permission.
    """
    from oneclaw_core.app import OneClaw

    allowed = tuple(allowed)
    async with OneClaw.open(ask=ask, ask_user=ask_user, allow=allowed) as claw:
        check_allowed(allowed, claw.catalog.registry)
        note_changed_plugins(claw)
        yield claw


def open_asking(
    allowed: Iterable[str], giving_way: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
) -> AbstractAsyncContextManager[OneClaw]:
    """Open the user's home as :func:`open_allowing` does, and ask at the terminal, if there is one."""
    from oneclaw_core.cli.asking import terminal_asker, terminal_questioner

    return open_allowing(allowed, terminal_asker(giving_way), terminal_questioner(giving_way))


def note_changed_plugins(claw: OneClaw) -> None:
    """Warn in one line about plugins whose files changed under the same version, until they are accepted."""
    from oneclaw_core.installation.origins import report_origins

    found = [each for each in report_origins(claw.home, claw.catalog.plugins) if not each.is_new]
    if found:
        others, names = (f", and {len(found) - 1} more", "--all") if len(found) > 1 else ("", found[0].package)
        warn(
            f"plugin {found[0].text}{others}: see oneclaw plugins list; accept it with: oneclaw plugins accept {names}"
        )


def note_cut_off(claw: OneClaw, hint: str = "") -> None:
    """Warn in one line about what goes on in the background, and ends with the program.

    Args:
        claw: the open home.
        hint: of what to do about it.
    """
    names = ", ".join(printable_name(f"{each.kind} {each.id}") for each in claw.background.here())
    if names:
        warn(f"ends with this program: {names}{hint}")


_NOTED = "missing_plugins_noted"
"""The stored value with the names of the plugins whose absence the user was told."""


async def note_missing_parts(claw: OneClaw) -> None:
    """Warn about each part of the home whose plugin is missing, unless that was done before."""
    missing = missing_parts(claw.home.path, (record.name for record in claw.catalog.plugins))
    if not missing:
        return
    stored = (await claw.store.settings()).get(_NOTED)
    noted = stored if isinstance(stored, list) else []
    new = {plugin: message for plugin, message in missing.items() if plugin not in noted}
    for plugin, message in new.items():
        warn(f"{message}: {how_to_install(plugin)}")
    if new:
        await claw.store.set_setting(_NOTED, [*noted, *new])
