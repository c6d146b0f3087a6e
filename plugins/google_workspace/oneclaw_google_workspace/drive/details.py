"""The tool ``drive_get_file``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.references import refer
from oneclaw_google_workspace.drive.rows import FILE_FIELDS, PERMISSION_FIELDS, parent_of, permission_row, row
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_DETAIL_FIELDS = (
    f"{FILE_FIELDS},createdTime,description,lastModifyingUser/emailAddress,webContentLink,md5Checksum,"
    "capabilities(canEdit,canShare,canDownload,canTrash)"
)
_MAX_DEPTH = 8
_MAX_PERMISSIONS = 500


@google_tool
async def drive_get_file(file_id: str, include_permissions: bool = False, *, context: ToolContext) -> dict[str, Any]:
    """Say all about a file."""
    google = connect(context)
    wanted = refer(google, file_id, "file_id")
    file = await google.call("drive.files.get", fileId=wanted, fields=_DETAIL_FIELDS)
    rights = file.get("capabilities", {})
    answer = compact(
        {
            **row(file),
            "created": file.get("createdTime"),
            "modified_by": file.get("lastModifyingUser", {}).get("emailAddress"),
            "description": file.get("description"),
            "location": await _location(google, file),
            "download_link": file.get("webContentLink"),
            "md5": file.get("md5Checksum"),
            "can": {name: bool(rights.get(f"can{name.title()}")) for name in ("edit", "share", "download", "trash")},
        }
    )
    if include_permissions:
        answer |= await _permissions(google, file["id"])
    return from_outside(answer, "files")


async def _location(google: GoogleClient, file: dict[str, Any]) -> str:
    """Name the folders that a file is in, from the outermost that can be seen."""
    names: list[str] = []
    parent = parent_of(file)
    while parent is not None:
        if len(names) == _MAX_DEPTH:
            names.append("...")
            break
        try:
            folder = await google.call("drive.files.get", fileId=parent, fields="name,parents")
        except GoogleError as error:
            if error.status not in (403, 404):
                raise
            break  # a folder that is not shared with the user
        names.append(str(folder.get("name", "")))
        parent = parent_of(folder)
    return " / ".join(reversed(names))


async def _permissions(google: GoogleClient, file_id: str) -> dict[str, Any]:
    try:
        found, has_more = await google.all_items(
            "drive.permissions.list",
            "permissions",
            fields=f"permissions({PERMISSION_FIELDS})",
            limit=_MAX_PERMISSIONS,
            fileId=file_id,
            pageSize=100,
        )
    except GoogleError as error:
        if error.status != 403:
            raise
        return {"permissions_hidden": str(error)}
    return {"permissions": [permission_row(each) for each in found], **compact({"more_permissions": has_more or None})}
