"""`oneclaw skills`: the skills there are, checking them, and making new ones."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import UsageError, find_home
from oneclaw_core.cli import (
    chat_command_names,
    forget_trust,
    json_option,
    load_catalog,
    not_found,
    print_json,
    print_table,
    print_text,
    printable_line,
    trust_directory,
    warn,
)
from oneclaw_core.project import SKILL_DIRECTORIES
from oneclaw_core.tools import one_line
from oneclaw_skills.catalog import SkillCatalog, SkillStatus
from oneclaw_skills.checks import checked_entries, findings_of
from oneclaw_skills.places import home_skills
from oneclaw_skills.skill import SkillError

if TYPE_CHECKING:
    from oneclaw_core.cli import HomeCatalog
    from oneclaw_skills.catalog import SkillEntry

_DESCRIPTION_CHARACTERS = 80


@click.group()
def skills() -> None:
    """List skills, show, check and make them.

    A skill is a folder with a SKILL.md: instructions that a model loads when a task calls for them.
    """


@skills.command("list")
@json_option
def list_skills(as_json: bool) -> None:
    """List all skills: those of the project, of the home, and of plugins."""
    _, catalog = _catalogs()
    entries = catalog.entries()
    if as_json:
        print_json([_document(entry) for entry in entries])
        return
    print_table(("name", "source", "status", "description"), [_row(entry) for entry in entries])
    _hint_at_trust(catalog)


@skills.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a skill with its instructions."""
    from oneclaw_skills.content import placeholders

    _, catalog = _catalogs()
    entry = _find(catalog, name)
    skill = entry.skill
    if skill is None:
        raise SkillError(f"the skill {name!r} is broken; see what is wrong with: oneclaw skills check {name}")
    document = skill.document
    files = [file.path for file in skill.folder.files()]
    if as_json:
        more = {
            "license": document.license,
            "compatibility": document.compatibility,
            "metadata": dict(document.metadata),
            "placeholders": placeholders(document.body),
            "files": files,
            "body": document.body,
        }
        print_json(_document(entry) | more)
        return
    lines = {
        "from": skill.origin,
        "folder": str(skill.folder),
        "status": "" if entry.status is SkillStatus.OK else str(entry.status),
        "license": document.license,
        "compatibility": document.compatibility,
        "tool groups": ", ".join(document.groups),
        "tools": ", ".join(document.allowed_tools),
        "arguments": ", ".join(placeholders(document.body)),
        "files": ", ".join(files),
    }
    print_text(f"{skill.name}: {skill.description}")
    for label, value in lines.items():
        if value:
            print_text(f"{label}: {value}")
    print_text(f"\n{document.body}")


@skills.command("check")
@click.argument("skill", required=False)
@json_option
@click.pass_context
def check(context: click.Context, skill: str | None, as_json: bool) -> None:
    """Check all skills, or one by its name or folder.

    Ends with status 1 if one cannot be used.
    """
    home_catalog, catalog = _catalogs()
    entries = checked_entries(catalog, skill)
    names = chat_command_names(home_catalog)
    results = [(entry, findings_of(entry, home_catalog.registry, names)) for entry in entries]
    if as_json:
        print_json([_document(entry) | {"findings": [asdict(each) for each in found]} for entry, found in results])
    else:
        for entry, found in results:
            print_text(f"{entry.name} ({entry.folder}): {_verdict(entry, len(found))}")
            for each in found:
                print_text(f"  {'error' if each.is_error else 'note'}: {printable_line(str(each))}")
                print_text(f"    what to do: {printable_line(each.remedy)}")
    if any(each.is_error for _, found in results for each in found):
        context.exit(1)


@skills.command("new")
@click.argument("name")
@click.option("--description", help="What it does and when to use it.")
@click.option(
    "--project", "in_project", is_flag=True, help="Make it in the current directory, for everyone who works there."
)
def new(name: str, description: str | None, in_project: bool) -> None:
    """Make a new skill for you to fill in."""
    from oneclaw_skills.making import new_skill

    directory = _project() / SKILL_DIRECTORIES[-1] if in_project else _home_directory()
    print_text(f"{new_skill(directory, name, description)} is made; write the instructions into it")
    print_text(f"then: oneclaw skills check {name}")
    if in_project:
        _hint_at_trust(_catalogs()[1])


@skills.command("add")
@click.argument("folder", type=click.Path(path_type=Path))
def add(folder: Path) -> None:
    """Copy a skill's FOLDER into the home. Read it first: a model will do what it says."""
    from oneclaw_skills.making import add_skill

    added = add_skill(Path(os.path.realpath(folder)), _home_directory())
    print_text(f"skill {added.name} is added, in {added}")


@skills.command("trust")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Stop using its skills.")
def trust(directory: Path | None, remove: bool) -> None:
    """Trust the project in DIRECTORY, like `oneclaw trust`.

    By default that is the current directory. Read the skills first.
    """
    project = os.path.realpath(directory or _project())
    if remove:
        was_trusted = forget_trust(project)
        print_text(f"{project} is not trusted any more" if was_trusted else f"{project} was not trusted")
        return
    for shown in trust_directory(Path(project))[0]:
        print_text(shown)
    found = SkillCatalog(project=Path(project), is_project_trusted=True).entries()
    names = ", ".join(entry.name for entry in found) or "none so far"
    print_text(f"{project} is trusted; its skills are used: {names}")


def _catalogs() -> tuple[HomeCatalog, SkillCatalog]:
    catalog, project = load_catalog(), _project()
    trusted = catalog.is_trusted(project)
    may_follow = partial(catalog.may_follow, project)
    return catalog, SkillCatalog(
        catalog.skills, home_skills(catalog.home), project, is_project_trusted=trusted, may_follow=may_follow
    )


def _home_directory() -> Path:
    home = find_home()
    home.create()
    directory = home_skills(home)
    with suppress(OSError):  # what writes there reports the error
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def _project() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current directory is gone: change to one that exists") from None


def _find(catalog: SkillCatalog, name: str) -> SkillEntry:
    entries = [entry for entry in catalog.entries() if entry.name == name]
    if not entries:
        raise not_found("skill", name, [entry.name for entry in catalog.entries()], "oneclaw skills list")
    return next((entry for entry in entries if entry.status is SkillStatus.OK), entries[0])


def _hint_at_trust(catalog: SkillCatalog) -> None:
    untrusted = [entry for entry in catalog.entries() if entry.status is SkillStatus.UNTRUSTED]
    if untrusted:
        warn(
            f"the skills of this project are not used ({len(untrusted)}): read them, since a model does what they say, "
            "then: oneclaw skills trust"
        )


def _verdict(entry: SkillEntry, findings: int) -> str:
    if entry.status is SkillStatus.OK:
        return "ok, with notes" if findings else "ok"
    return str(entry.status)


def _row(entry: SkillEntry) -> tuple[str, ...]:
    description = entry.skill.description if entry.skill else str(next(iter(entry.problems), ""))
    source = f"{entry.source} {entry.record.name}" if entry.record else str(entry.source)
    return entry.name, source, str(entry.status), one_line(description, _DESCRIPTION_CHARACTERS)


def _document(entry: SkillEntry) -> dict[str, Any]:
    skill = entry.skill
    return {
        "name": entry.name,
        "description": skill.description if skill else None,
        "source": str(entry.source),
        "plugin": entry.record.name if entry.record else None,
        "status": str(entry.status),
        "folder": str(entry.folder),
        "groups": list(skill.document.groups) if skill else [],
        "tools": list(skill.document.allowed_tools) if skill else [],
    }
