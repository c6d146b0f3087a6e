"""Making something in Drive once, even where no one says whether it worked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.drive.references import refer
from oneclaw_google_workspace.folders import find_folder
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.folders import Folder

ROOT = "root"


async def target_folder(google: GoogleClient, text: str | None) -> Folder | None:
    """Look at the folder that something is to be put into.

    Args:
        google: the client.
        text: id or link.

    Returns:
        ``None`` for My Drive.

    Raises:
        GoogleError: there is no such folder, or nothing may be put there.
    """
    if text is None or text == ROOT:
        return None
    return await find_folder(google, refer(google, text, "folder_id"))


def folder_name(folder: Folder | None) -> str:
    """Name a folder for a question."""
    return "My Drive" if folder is None else f"the folder {listing([folder.name])}"


async def new_id(google: GoogleClient) -> str:
    """Have Google reserve an id: what is made under it is made once, however often it is sent.

    Raises:
        GoogleError: it did not work out.
    """
    answer = await google.call("drive.files.generateIds", count=1, space="drive", type="files", fields="ids")
    return str(answer["ids"][0])


async def made_after_all(google: GoogleClient, file_id: str, error: GoogleError, fields: str) -> dict[str, Any]:
    """Look whether a creation under an id of our own was carried out, although its answer is lost.

    Args:
        google: the client.
        file_id: the id.
        error: of the creation.
        fields: of the file.

    Raises:
        GoogleError: it was not, or that cannot be found out.
    """
    if error.status != 409 and not error.was_unclear:
        raise error
    try:
        return await google.call("drive.files.get", fileId=file_id, fields=fields)
    except GoogleError as fault:
        if fault.status == 404:
            raise GoogleError("service_unavailable", "Google broke off, and nothing was made. Try again.") from None
        raise error from None


def checked_name(name: str) -> str:
    """Give the name of a file back if it is one.

    Raises:
        GoogleError: it is empty.
    """
    if not name.strip():
        raise invalid("A file cannot be without a name.")
    return name
