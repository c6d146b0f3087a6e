"""Taking over what was found: shown, asked, stored. What is there already is kept."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from oneclaw_core import OneClaw, OneClawError, UsageError, redact, remember_secret
from oneclaw_core.cli import print_text, printable_line, run_async, warn
from oneclaw_core.tools import make_private_directory
from oneclaw_setup.asking import confirm
from oneclaw_setup.candidate import undisturbed
from oneclaw_setup.imports.findings import FoundKey, FoundModel, FoundNote, FoundProvider, FoundSkill
from oneclaw_setup.imports.mcp_servers import offer_servers
from oneclaw_setup.services import hosted_service

if TYPE_CHECKING:
    from oneclaw_setup.imports.findings import Findings, Item

MAX_SKILL_FILES = 200
MAX_SKILL_BYTES = 10_000_000
_SHOWN_CHARACTERS = 160


def show(found: Findings) -> None:
    """Show what was found, without any key's text."""
    _hide_keys(found)
    print_text(f"{found.title}, {found.folder}:")
    for number, item in enumerate(found.items, 1):
        print_text(f"{number:>3}  {_line(item)}")
    for problem in found.problems:
        warn(f"left out: {redact(printable_line(problem))}")
    if not found.is_any:
        print_text("  there is nothing to take over")


def go_through(found: Findings, *, says_yes: bool) -> None:
    """Show what was found, ask, and store what the user wants."""
    show(found)
    if found.items:
        _take_wanted(found, says_yes=says_yes)
    offer_servers(found, says_yes=says_yes)


def _take_wanted(found: Findings, *, says_yes: bool) -> None:
    chosen = list(found.items) if says_yes else _chosen(found)
    if not chosen:
        print_text("Nothing was taken over.")
        return
    with undisturbed():
        for line in run_async(_take_all(chosen)):
            print_text(line)


def _chosen(found: Findings) -> list[Item]:
    answer = click.prompt(
        "Take over [a]ll, choose for [e]ach, or [n]othing", type=click.Choice(["a", "e", "n"]), default="e", err=True
    )
    if answer == "e":
        return [item for item in found.items if confirm(f"Take over {_line(item)}?")]
    return list(found.items) if answer == "a" else []


def _hide_keys(found: Findings) -> None:
    for item in found.items:
        if isinstance(item, FoundKey):
            remember_secret(item.key)


def _line(item: Item) -> str:
    return redact(printable_line(item.line))[:_SHOWN_CHARACTERS]


async def _take_all(items: list[Item]) -> list[str]:
    lines = []
    # The user has agreed to the notes; a key in one is refused by the tool itself.
    async with OneClaw.open(allow=["memory.write"]) as claw:
        for item in items:
            try:
                done = await _take(claw, item)
            except OneClawError as error:
                done = f"not taken over: {redact(str(error))}"
            lines.append(f"{_line(item)}: {done}")
    return lines


async def _take(claw: OneClaw, item: Item) -> str:
    providers = claw.configuration.providers
    match item:
        case FoundProvider():
            await providers.add(item.name, item.type_name, item.base_url)
            return "added"
        case FoundKey():
            return await _take_key(claw, item)
        case FoundModel():
            model, source = await claw.configuration.models.default()
            if source != "default":
                return f"kept {model}, which is chosen; change it with: oneclaw models default {item.name}"
            await claw.configuration.models.set_default(item.name)
            return "chosen"
        case FoundSkill():
            return _take_skill(claw.home.path / "skills", item)
        case FoundNote():
            outcome = await claw.call_tool("save_memory", {"content": item.text}, caller="command line")
            result = outcome.result
            return "remembered" if result.error_message is None else f"not remembered: {result.error_message}"


async def _take_key(claw: OneClaw, item: FoundKey) -> str:
    providers = claw.configuration.providers
    states = {each.name: each for each in await providers.list()}
    service = hosted_service(item.provider)
    if item.provider not in states and service is not None:
        await providers.add(service.name, service.type_name, service.base_url, service.title)
    elif item.provider in states:
        state = states[item.provider]
        if state.key_source is not None:
            return "kept the key that there is"
        own_url = None if service is None else service.base_url
        if not _is_same_server(item.base_url or own_url, state.base_url):
            place = state.base_url or "the service's own address"
            return f"not stored: the provider {item.provider} is at {place}, and the key was used elsewhere"
    await providers.set_key(item.provider, item.key)
    return "stored"


def _is_same_server(one: str | None, other: str | None) -> bool:
    """Return True if two addresses name one server; ``None`` is a service's own."""
    if one is None or other is None:
        return one == other
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.hostname, first.port) == (second.scheme, second.hostname, second.port)


def _take_skill(directory: Path, item: FoundSkill) -> str:
    """Copy a skill's folder, whole or not at all; links are not followed."""
    target = directory / item.name
    if target.exists():
        return "kept the skill of that name that there is"
    try:
        make_private_directory(directory)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".import-") as staging:
            copy = Path(staging) / item.name
            left_out = _copy_folder(item.folder, copy)
            copy.rename(target)
    except OSError as error:
        raise OneClawError(f"{item.folder} cannot be copied: {error.strerror or error}") from None
    return "copied" + (f", but for {left_out} links" if left_out else "")


def _copy_folder(source: Path, target: Path) -> int:
    files, size, left_out = 0, 0, 0
    for folder, names, found in os.walk(source, followlinks=False):
        here = Path(folder)
        copy = target / here.relative_to(source)
        copy.mkdir(mode=0o700, parents=True)
        left_out += sum((here / name).is_symlink() for name in names)
        for name in found:
            state = (here / name).lstat()
            if not stat.S_ISREG(state.st_mode):
                left_out += 1
                continue
            files, size = files + 1, size + state.st_size
            if files > MAX_SKILL_FILES or size > MAX_SKILL_BYTES:
                raise UsageError(f"it is larger than {MAX_SKILL_FILES} files or {MAX_SKILL_BYTES:,} bytes")
            shutil.copyfile(here / name, copy / name)
            (copy / name).chmod(0o600 | (state.st_mode & 0o100))
    return left_out
