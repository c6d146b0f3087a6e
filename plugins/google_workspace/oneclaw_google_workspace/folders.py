"""Putting what was just made into a folder of Drive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_google_workspace.failures import lacking_scopes
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.scopes import missing_scopes
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_google_workspace.client import GoogleClient

FOLDER_TYPE = "application/vnd.google-apps.folder"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of Drive."""

    id: str
    name: str


def in_folder(folder: Folder | None) -> str:
    """Say in a question where something new is put; empty for My Drive."""
    return f" in the folder {listing([folder.name])}" if folder else ""


async def find_folder(google: GoogleClient, text: str) -> Folder:
    """Look at the folder that something new is to be put into, before anything is made.

    Args:
        google: the client.
        text: id or link.

    Raises:
        GoogleError: there is none, or it cannot be seen with the scopes that the user has consented to.
    """
    try:
        found = await google.call(
            "drive.files.get", fileId=file_id(text, "folder_id"), fields="id,name,mimeType,capabilities/canAddChildren"
        )
    except GoogleError as error:
        raise _hidden(google, error) from None
    if found.get("mimeType") != FOLDER_TYPE:
        raise invalid(f"folder_id must be that of a folder; {found.get('name', text)!r} is none.")
    if found.get("capabilities", {}).get("canAddChildren") is False:
        raise GoogleError(
            "permission_denied", f"{google.account.label} may not put anything into the folder {found.get('name')!r}."
        )
    return Folder(str(found["id"]), str(found.get("name", "")))


async def move_into(google: GoogleClient, made_id: str, folder: Folder) -> None:
    """Move something new from My Drive, where it was made, into a folder.

    Args:
        google: the client; the user has agreed.
        made_id: of the new file.
        folder: from :func:`find_folder`.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        await google.call(
            "drive.files.update", fileId=made_id, addParents=folder.id, removeParents="root", body={}, fields="id"
        )
    except GoogleError as error:
        raise _hidden(google, error) from None


def _hidden(google: GoogleClient, error: GoogleError) -> GoogleError:
    """Say that it may be for want of a scope that a folder is not there."""
    if error.status not in (403, 404) or not missing_scopes(("drive",), google.account.scopes):
        return error
    needed = lacking_scopes(google.account, google.need, ("drive",))
    return GoogleError(
        "not_available", f"A folder that was not made by OneClaw is out of sight. {needed}", status=error.status
    )
