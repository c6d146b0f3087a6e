"""The directory that the program was started in, and the user's trust in it.

Trust is a grant of the permission ``directory.trust`` for the resolved path. It is asked for once, where it is first
needed; ``oneclaw trust`` grants it as well. A directory that is not a project, such as the user's own, is never asked
for.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.files.hidden_paths import is_hidden_name, is_private_directory
from oneclaw_core.permissions.requests import Asker, PermissionRequest
from oneclaw_core.permissions.rules import INSTRUCTIONS_PERMISSION, TRUST_PERMISSION
from oneclaw_core.system.private_files import write_private
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.text import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from oneclaw_core.permissions.policy import PermissionPolicy


class Project:
    """The start directory.

    Args:
        directory: its path, ``None`` for no project.
        permissions: what the user has decided; ``None`` for a project that is not trusted.
        contents: the folder for contents that were pinned.
        change_setting: changes a stored setting; ``None`` to pin files until the program ends.
    """

    def __init__(
        self,
        directory: Path | None = None,
        permissions: PermissionPolicy | None = None,
        contents: Path | None = None,
        change_setting: Callable[[str, Callable[[Any], Any]], Awaitable[Any]] | None = None,
    ) -> None:
        from asyncio import Lock  # listings import this module, and do without asyncio

        self.directory = directory
        self._permissions = permissions
        self._contents = contents
        self._change_setting = change_setting
        self._trusted: set[str] = set()
        self._declined: set[str] = set()
        self._pins: dict[str, str] = {}
        self._approved: dict[str, str] = {}
        self._asking = Lock()

    @property
    def path(self) -> str:
        """Its resolved path, ``""`` for no project; what a path leads to may change."""
        return "" if self.directory is None else os.path.realpath(self.directory)

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts it, as is known now."""
        if self.directory is None or self._permissions is None:
            return False
        path = self.path
        return path in self._trusted or self._permissions.decisions.holds(TRUST_PERMISSION, path)

    @property
    def can_be_asked(self) -> bool:
        """True if the user may be asked to trust it: it may be a project, and nothing is decided."""
        if self.directory is None or self.path in self._declined:
            return False
        return untrusted_reason(self.directory) is None

    async def ask_trust(self, require: Callable[[str, str, str], Awaitable[bool]], detail: str) -> bool:
        """Ask the user to trust it, unless that is decided; an answer holds at least until the program ends.

        Args:
            require: asks for a permission, with what exactly is about to be done and for what.
            detail: what trust is needed for.

        Returns:
            True if the user was asked, and trusts it.
        """
        async with self._asking:
            if self.is_trusted or not self.can_be_asked:
                return False
            path = self.path
            try:
                await require(TRUST_PERMISSION, detail, path)
            except PermissionDeniedError:
                self._declined.add(path)
                return False
            self._trusted.add(path)
            await self._pin(path)
            return True

    async def trust(self, ask: Asker | None = None) -> bool:
        """Ask the user to trust it before anything needs that; return True if it is trusted.

        Args:
            ask: asks the user; ``None`` for whom the home asks.
        """
        directory, permissions = self.directory, self._permissions
        if directory is None or permissions is None:
            return False
        await permissions.refresh()
        asked_in = f"trust {uuid.uuid4().hex}"
        with permissions.people.answered_by(asked_in, ask):
            if not self.is_trusted and permissions.people.can_ask_in(asked_in):
                found = await run_in_thread(partial(find_instructions, directory))
                follows = f", and let models follow these files of it: {', '.join(found)}" if found else ""
                detail = f"let tools write files in it, once you allow that{follows}"
                await self.ask_trust(partial(self._require, asked_in=asked_in), detail)
        return self.is_trusted

    def use_pins(self, stored: Mapping[str, Any]) -> None:
        """Take over the files that are pinned now; another process may have changed it.

        Args:
            stored: values from the store, by key.
        """
        if PINS_SETTING in stored or self._pins:
            self._pins = pins_in(stored, self.path)

    def may_follow(self, name: str, content: bytes) -> bool:
        """Return True if models may follow a file of the project: it is as the user has seen it.

        Args:
            name: its path relative to the project.
            content: all of it.
        """
        return self.is_trusted and self._is_approved(name, digest_of(content))

    @property
    def approvals(self) -> tuple[object, ...]:
        """The state that :meth:`may_follow` depends on; equal as long as its answer is."""
        return self.is_trusted, *self._pins.items(), *self._approved.items()

    def context_file(self) -> tuple[str, str] | None:
        """Return the name and the text of the project's context file, such as ``AGENTS.md``.

        Control characters, and those that cannot be seen, are written as escapes. ``None`` if there is none, or models
        may not follow it.
        """
        if self.directory is None or not self.is_trusted:
            return None
        name = find_context_file(self.directory)
        content = read_instruction(self.directory, name) if name is not None else None
        if name is None or content is None or not self.may_follow(name, content):
            return None
        return name, visible_text(content)

    async def review(self) -> list[str]:
        """Ask the user about files that models would follow: to trust them, or what has changed in them.

        Returns:
            One line for each thing that is left out because no one was asked, or the user did not agree.
        """
        directory, permissions = self.directory, self._permissions
        if directory is None or permissions is None:
            return []
        found = await run_in_thread(partial(find_instructions, directory))
        if not found:
            return []
        can_ask = permissions.people.can_ask_in(None)
        if can_ask and not self.is_trusted:
            await self.ask_trust(self._require, f"follow these files of the project: {', '.join(found)}")
        if not self.is_trusted:
            return [f"{_listed(found)} of this directory: not used, since it is not trusted; see: oneclaw trust"]
        changed = [name for name, digest in found.items() if not self._is_approved(name, digest)]
        left_out = [each for each in changed if not (can_ask and await self._is_change_approved(directory, each))]
        if not left_out:
            return []
        return [f"{_listed(left_out)}: not used, since the user has not seen what is new in it; see: oneclaw trust"]

    async def _is_change_approved(self, directory: Path, name: str) -> bool:
        assert self._contents is not None
        content = await run_in_thread(partial(read_instruction, directory, name))
        if content is None:
            return True  # it is gone
        digest = digest_of(content)
        before = self._approved.get(name) or self._pins.get(name)
        if f"{name} {digest}" in self._declined:
            return False
        try:
            await self._require(
                INSTRUCTIONS_PERMISSION,
                change_text(self._contents, name, before, content),
                instruction_subject(self.path, name, digest),
            )
        except PermissionDeniedError:
            self._declined.add(f"{name} {digest}")
            return False
        self._approved[name] = digest
        await run_in_thread(partial(keep_contents, self._contents, directory, {name: digest}))
        return True

    def _is_approved(self, name: str, digest: str) -> bool:
        if digest in (self._pins.get(name), self._approved.get(name)):
            return True
        subject = instruction_subject(self.path, name, digest)
        return self._permissions is not None and self._permissions.decisions.holds(INSTRUCTIONS_PERMISSION, subject)

    async def _pin(self, path: str) -> None:
        """Pin the files that models follow as they are now: permanently, if the trust is."""
        assert self.directory is not None
        found = await run_in_thread(partial(find_instructions, Path(path)))
        self._approved = dict(found)
        is_lasting = self._permissions is not None and self._permissions.decisions.holds(TRUST_PERMISSION, path)
        if is_lasting and self._change_setting is not None and self._contents is not None:
            await self._change_setting(PINS_SETTING, lambda stored: with_pins(stored, path, found))
            await run_in_thread(partial(keep_contents, self._contents, Path(path), found))

    async def _require(self, permission: str, detail: str, subject: str, asked_in: str | None = None) -> bool:
        assert self._permissions is not None
        await self._permissions.require(PermissionRequest(permission, "oneclaw", {}, detail, asked_in, subject))
        return True


def _listed(names: Iterable[str]) -> str:
    first, *others = names
    return f"{first} and {len(others)} more" if others else first


def untrusted_reason(directory: Path) -> str | None:
    """Say why a directory is never trusted without the user's own command; ``None`` if it may be a project."""
    if is_private_directory(directory):
        return "it holds more than a project: it is your own directory, lies above it, or is one of its hidden folders"
    if os.path.realpath(directory) in _shared_directories():
        return "programs of all kinds put files there"
    return None


def _shared_directories() -> set[str]:
    named = ("/tmp", "/var/tmp", "/dev/shm", *map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))  # noqa: S108  # refused
    return {os.path.realpath(each) for each in named if each}


CONTEXT_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
"""Names of context files; the first that is there counts."""
SKILL_DIRECTORIES = (".oneclaw/skills", ".agents/skills")
"""Folders with skills in a project: OneClaw's own, and that of all programs with skills."""
PINS_SETTING = "project_files"
"""Not among the settings that ``oneclaw config`` and tools can set: no model is to trust for the user."""

MAX_FILES = 500
MAX_FILE_BYTES = 1024 * 1024
_MAX_DEPTH = 6
_MAX_SHOWN_CHARACTERS = 100_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}\u200c\u200d]")


def find_context_file(directory: Path) -> str | None:
    """Return the name of a project's context file; ``None`` if it has none."""
    return next((name for name in CONTEXT_FILES if read_instruction(directory, name) is not None), None)


def find_instructions(directory: Path) -> dict[str, str]:
    """Return the digests of all files that models would follow, by their paths relative to the project."""
    names = [each for each in (find_context_file(directory), *_skill_files(directory)) if each is not None]
    found = ((name, read_instruction(directory, name)) for name in names[:MAX_FILES])
    return {name: digest_of(content) for name, content in found if content is not None}


def read_instruction(directory: Path, name: str) -> bytes | None:
    """Read a file of a project; ``None`` if it is missing, too large, or no file that lies in the project.

    Args:
        directory: of the project.
        name: relative to it; a link to another file of the project will do, unless that is hidden.
    """
    try:
        base = directory.resolve(strict=True)
        path = (base / name).resolve(strict=True)
        if not path.is_relative_to(base) or any(map(is_hidden_name, path.relative_to(base).parts)):
            return None
        descriptor = os.open(path, _FILE)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        return None
    return content if len(content) <= MAX_FILE_BYTES else None


def digest_of(content: bytes) -> str:
    """Return the digest by which a content is pinned."""
    return hashlib.sha256(content).hexdigest()


def pins_in(stored: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the pinned digests of a project; an invalid value pins none.

    Args:
        stored: values from the store, by key.
        path: of the project, resolved.
    """
    value = stored.get(PINS_SETTING)
    pins = value.get(path) if isinstance(value, dict) else None
    return {name: each for name, each in pins.items() if isinstance(each, str)} if isinstance(pins, dict) else {}


def instruction_subject(path: str, name: str, digest: str) -> str:
    """Return what the user is asked about a file of a project: its path and its content."""
    return f"{path}/{name} sha256:{digest[:32]}"


def with_pins(stored: Any, path: str, pins: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the setting with the pins of a project changed, or with ``None`` taken out."""
    others = {name: each for name, each in stored.items() if name != path} if isinstance(stored, dict) else {}
    return others if pins is None else {**others, path: dict(pins)}


def keep_contents(folder: Path, directory: Path, pins: Mapping[str, str]) -> None:
    """Keep what is pinned, so that a later change can be shown.

    Args:
        folder: for contents, by their digests.
        directory: of the project.
        pins: digests by path.
    """
    for name, digest in pins.items():
        content = read_instruction(directory, name)
        if content is not None and digest_of(content) == digest and not (folder / digest).exists():
            write_private(folder / digest, content)


def change_text(folder: Path, name: str, before: str | None, content: bytes) -> str:
    """Show what is new in a file: the difference to what was pinned, else all of it.

    Args:
        folder: with the contents that were pinned.
        name: of the file.
        before: the digest that was pinned; ``None`` for a new file.
        content: as it is now.
    """
    new = visible_text(content)
    old = _kept(folder, before)
    if old is None:
        return f"follow the new file {name}:\n{new}"[:_MAX_SHOWN_CHARACTERS]
    import difflib  # for the few changes there are

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "as you trusted it", "as it is now", lineterm="")
    return "\n".join([f"follow {name}, which has changed:", *lines])[:_MAX_SHOWN_CHARACTERS]


def visible_text(content: bytes) -> str:
    """Return a text with control characters and what cannot be seen written as escapes."""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _kept(folder: Path, digest: str | None) -> str | None:
    try:
        content = (folder / digest).read_bytes() if digest is not None else None
    except OSError:
        return None
    return visible_text(content) if content is not None and digest_of(content) == digest else None


def _skill_files(directory: Path) -> Iterator[str]:
    """Yield the paths of the files in a project's skills, in the order of their names."""
    for skills in SKILL_DIRECTORIES:
        for folder, folders, files in os.walk(directory / skills):
            below = os.path.relpath(folder, directory)
            folders[:] = sorted(folders) if below.count("/") < _MAX_DEPTH else []
            if below != skills:
                yield from (f"{below}/{name}" for name in sorted(files))
