"""Installed plugins and tools with their states, for the commands that list them.

Those commands start many times a day and wait for nothing: nothing here imports pydantic or asyncio.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import reserved_stdout, warn
from oneclaw_core.config.user_choices import disabled_plugins
from oneclaw_core.contract.tool_source import ListingContext
from oneclaw_core.errors import NotFoundError, StoreError
from oneclaw_core.installation.reviews import reviews_of
from oneclaw_core.installation.stores import home_with_backend
from oneclaw_core.plugins.catalog import Catalog
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.plugins.plugin import SOURCE_HOOK
from oneclaw_core.sessions.settings import UserStates, read_states
from oneclaw_core.system.home import Home, find_home
from oneclaw_core.tool_sources.published_tools import PublishedTools

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(slots=True, kw_only=True)
class HomeCatalog(Catalog):
    """The catalog of a home: its registry knows the disabled tools and groups.

    Attributes:
        home: whose settings these are.
        states: what the user has set; all empty if it could not be read.
        states_error: why it could not, ``None`` if it could.
    """

    home: Home
    states: UserStates
    states_error: StoreError | None = None

    def is_trusted(self, project: Path) -> bool:
        """Return True if the user trusts a directory."""
        from oneclaw_core.permissions.decisions import Decisions
        from oneclaw_core.permissions.rules import TRUST_PERMISSION

        return Decisions(self.states.grants).holds(TRUST_PERMISSION, os.path.realpath(project))

    def may_follow(self, project: Path, name: str, content: bytes) -> bool:
        """Return True if models may follow a file of a trusted directory.

        Args:
            project: the directory.
            name: the path of the file, relative to it.
            content: all of it.
        """
        from oneclaw_core.permissions.decisions import Decisions
        from oneclaw_core.permissions.rules import INSTRUCTIONS_PERMISSION
        from oneclaw_core.project.trust import digest_of, instruction_subject, pins_in

        path, digest = os.path.realpath(project), digest_of(content)
        subject = instruction_subject(path, name, digest)
        is_pinned = pins_in(self.states.settings, path).get(name) == digest
        return is_pinned or Decisions(self.states.grants).holds(INSTRUCTIONS_PERMISSION, subject)


def load_catalog(*, is_quiet: bool = False) -> HomeCatalog:
    """Load all plugins and apply what the user has set.

    Args:
        is_quiet: do not warn if the database cannot be read; everything counts as enabled then.
    """
    home, states, states_error = find_home(), UserStates(), None
    try:
        home, backend = home_with_backend(home, os.environ)
        states = read_states(backend)
    except StoreError as error:
        states_error = error
        if not is_quiet:
            warn(f"{error} (until then, everything counts as enabled)")
    # What a plugin prints while it is imported must not end up in the middle of a JSON document.
    with reserved_stdout():
        disabled = disabled_plugins(states.settings, os.environ)
        loaded = load_plugins(disabled, reviews=reviews_of(states.settings, os.environ))
        if any(each.hook == SOURCE_HOOK for record in loaded.plugins for each in record.registrations):
            from oneclaw_core.tool_sources.known_tools import list_sources

            published = PublishedTools(loaded.registry, loaded.plugins)
            list_sources(published, home.tool_sources, ListingContext(home.path, states.settings, os.environ), disabled)
    loaded.registry.set_disabled(states.disabled_tools, states.disabled_groups)
    brought = {each.name: getattr(loaded, each.name) for each in fields(Catalog)}
    return HomeCatalog(**brought, home=home, states=states, states_error=states_error)


def not_found(what: str, name: str, known: Iterable[str], listing: str) -> NotFoundError:
    """Make the error for a name that is not known, with the names that are much like it.

    Args:
        what: the noun, such as ``tool``.
        name: what the user wrote.
        known: the names there are.
        listing: the command that lists them.
    """
    from oneclaw_core.shipped.missing import unknown_name

    return NotFoundError(unknown_name(what, name, known, listing, {}))
