"""`oneclaw trust`: the directories that the user trusts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import json_option, print_listing, print_text
from oneclaw_core.cli.running import with_store
from oneclaw_core.errors import UsageError
from oneclaw_core.permissions.rules import TRUST_PERMISSION
from oneclaw_core.project import trust as projects
from oneclaw_core.system.home import current_directory, find_home
from oneclaw_core.types.permissions import Decision, Grant

if TYPE_CHECKING:
    from oneclaw_core.sessions.store import Store

_PINS = projects.PINS_SETTING


@click.command()
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--list", "lists", is_flag=True, help="List the directories with a decision.")
@click.option("--forget", is_flag=True, help="Forget the decision on the directory: you are asked again.")
@click.option("--force", is_flag=True, help="Trust it although it is not a project, such as your own directory.")
@json_option
def trust(directory: Path | None, lists: bool, forget: bool, force: bool, as_json: bool) -> None:
    """Trust the project in DIRECTORY, by default the current directory.

    In a trusted directory tools write, after asking for files.write. Relative paths start there, and models follow its
    AGENTS.md and its skills as they are now. Trust is for this one directory, not for those below.
    """
    if lists:
        _list(as_json)
        return
    path = os.path.realpath(directory or current_directory())
    if forget:
        print_text(f"what was decided on {path} is forgotten" if forget_trust(path) else f"{path} was not trusted")
        return
    shown, names = trust_directory(Path(path), force=force)
    for text in shown:
        print_text(text)
    print_text(f"{path} is trusted" + (f"; models follow: {', '.join(names)}" if names else ""))


def trust_directory(directory: Path, *, force: bool = False) -> tuple[list[str], list[str]]:
    """Trust a directory from now on, with the files in it that models follow as they are.

    Args:
        directory: to trust.
        force: True to trust one that is not a project.

    Returns:
        What has changed in files that were trusted before, and the names of all files that models follow.

    Raises:
        UsageError: there is no such directory, or it is not a project.
        OneClawError: the home or its database cannot be used.
    """
    path = Path(os.path.realpath(directory))
    if not path.is_dir():
        raise UsageError(f"there is no directory {path}")
    reason = projects.untrusted_reason(path)
    if reason is not None and not force:
        raise UsageError(f"{path} is not trusted, since {reason}; start in a project, or add --force")
    found = projects.find_instructions(path)
    contents = find_home().path / "projects"

    async def remember(store: Store) -> list[str]:
        before = await store.change_setting(_PINS, lambda stored: projects.with_pins(stored, str(path), found))
        pins = projects.pins_in({_PINS: before}, str(path))
        await store.set_grant(Grant(TRUST_PERMISSION, str(path)))
        changed = [name for name in found if pins.get(name) != found[name]] if pins else []
        contents_now = {name: projects.read_instruction(path, name) or b"" for name in changed}
        return [projects.change_text(contents, name, pins.get(name), now) for name, now in contents_now.items()]

    shown = with_store(remember)
    projects.keep_contents(contents, path, found)
    return shown, list(found)


def forget_trust(directory: str) -> bool:
    """Forget what was decided on a directory; return True if it was trusted or refused.

    Raises:
        OneClawError: the home or its database cannot be used.
    """

    async def forget(store: Store) -> int:
        await store.change_setting(_PINS, lambda stored: projects.with_pins(stored, directory, None) or None)
        return await store.remove_grants(TRUST_PERMISSION, directory)

    return bool(with_store(forget))


def _list(as_json: bool) -> None:
    documents = [
        {
            "directory": each.pattern,
            "trusted": each.decision is Decision.GRANT,
            "since": each.created_at.isoformat() if each.created_at is not None else None,
        }
        for each in load_catalog().states.grants
        if each.permission == TRUST_PERMISSION
    ]
    rows = (
        (each["directory"] or "all", "trusted" if each["trusted"] else "refused", each["since"]) for each in documents
    )
    print_listing(as_json, documents, ("directory", "state", "since"), rows)
