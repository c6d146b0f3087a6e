"""Findings in the home of another assistant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FoundProvider:
    """A model service at an address."""

    name: str
    base_url: str
    type_name: str = "openai_compatible"

    @property
    def line(self) -> str:
        """Text that is shown of it."""
        return f"provider {self.name} at {self.base_url}"


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key of a provider; its text is never shown.

    Attributes:
        provider: whose it is.
        key: its text.
        origin: where it was found.
        base_url: the address that it was used at; ``None`` for the service's own.
    """

    provider: str
    key: str = field(repr=False)
    origin: str = ""
    base_url: str | None = None

    @property
    def line(self) -> str:
        """Text that is shown of it."""
        return f"key of {self.provider}, from {self.origin}"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """The model in use there, as ``PROVIDER/MODEL``."""

    name: str

    @property
    def line(self) -> str:
        """Text that is shown of it."""
        return f"default model {self.name}"


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A folder with a ``SKILL.md``."""

    name: str
    folder: Path

    @property
    def line(self) -> str:
        """Text that is shown of it."""
        return f"skill {self.name}, from {self.folder}"


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A fact about the user."""

    text: str
    origin: str

    @property
    def line(self) -> str:
        """Text that is shown of it."""
        return f"note from {self.origin}: {self.text}"


Item = FoundProvider | FoundKey | FoundModel | FoundSkill | FoundNote


MIN_KEY_CHARACTERS = 8
"""Shorter ones stand for no key, such as ``none`` for a server on the same machine."""


@dataclass(slots=True)
class Findings:
    """All that was found of one assistant.

    Attributes:
        title: what people call it.
        folder: its home.
        items: in the order in which they are taken.
        problems: why some of it cannot be taken.
        mcp_file: the file with its MCP servers; ``None`` for none.
    """

    title: str
    folder: Path
    items: list[Item] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    mcp_file: Path | None = None

    @property
    def is_any(self) -> bool:
        """True if there is something to take over."""
        return bool(self.items) or self.mcp_file is not None

    def add_key(self, provider: str, key: str, origin: str, base_url: str | None = None) -> None:
        """Note a key unless it is none."""
        if len(key) >= MIN_KEY_CHARACTERS and "${" not in key:
            self.items.append(FoundKey(provider, key, origin, base_url))
