"""Google Workspace for OneClaw: Gmail, Drive, Calendar, Contacts, Docs, Sheets, Slides, Forms and Tasks."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar, ToolRegistrar

# In the order in which people think of them; each is a tool group.
GROUPS = (
    "google_gmail",
    "google_gmail_settings",
    "google_drive",
    "google_calendar",
    "google_contacts",
    "google_docs",
    "google_sheets",
    "google_slides",
    "google_forms",
    "google_tasks",
    # All that the others have no tool for.
    "google_api",
)


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool groups; their functions are imported when they first run."""
    manifests = files(__name__) / "manifests"
    for group in GROUPS:
        register.manifest(manifests / f"{group}.json")


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw google``."""
    register(
        "google",
        "oneclaw_google_workspace.commands:google",
        help="Sign in to Google accounts, for Gmail, Drive, Calendar and the other tools.",
    )
