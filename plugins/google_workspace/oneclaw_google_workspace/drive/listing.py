"""The tools of the group ``google_drive`` that list, search and describe files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.kinds import kind_query
from oneclaw_google_workspace.drive.queries import joined, moment, quoted
from oneclaw_google_workspace.drive.rows import FILE_FIELDS, PERMISSION_FIELDS, parent_of, permission_row, refer, row
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_VIEWS = {"shared_with_me": "sharedWithMe = true", "starred": "starred = true", "trash": "trashed = true"}
_MAX_DRIVES = 100


@google_tool
async def drive_list_files(
    folder_id: str = "root",
    view: str = "folder",
    file_type: str = "any",
    shared_drive_id: str | None = None,
    order_by: str = "folder,name_natural",
    max_results: int = 50,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """List what is in a folder, in a view, or the shared drives."""
    google = connect(context)
    if view != "folder" and folder_id != "root":
        raise invalid(f"folder_id goes with view folder, not with {view}.")
    if view == "shared_drives":
        if shared_drive_id or file_type != "any":
            raise invalid("The view shared_drives goes without shared_drive_id and file_type.")
        return await _list_drives(google, max_results, page_token)
    if shared_drive_id and view == "shared_with_me":
        raise invalid("What is in a shared drive is not in shared_with_me. Leave shared_drive_id out.")
    drive = refer(google, shared_drive_id, "shared_drive_id") if shared_drive_id else None
    folder = refer(google, folder_id, "folder_id")
    if view == "folder":
        # The id of a shared drive is that of its top folder.
        place = f"{quoted(drive if drive and folder == 'root' else folder)} in parents"
    else:
        place = _VIEWS.get(view, "")
    query = joined([place, None if view == "trash" else "trashed = false", kind_query(file_type)])
    page = await _find(
        google,
        query,
        drive=drive,
        order="viewedByMeTime desc" if view == "recent" else order_by,
        size=max_results,
        token=page_token,
    )
    return _answer(page)


@google_tool
async def drive_search_files(
    query: str = "",
    search_in: str = "all",
    raw_query: str | None = None,
    file_type: str = "any",
    owner: str | None = None,
    modified_after: str | None = None,
    modified_before: str | None = None,
    folder_id: str | None = None,
    shared_drive_id: str | None = None,
    corpora: str = "user",
    include_trashed: bool = False,
    max_results: int = 20,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Search by words and properties, or by a query in Drive's own language."""
    google = connect(context)
    words = query.strip()
    if raw_query:
        wanted = raw_query
    else:
        wanted = joined(
            [
                words and f"{'name' if search_in == 'name' else 'fullText'} contains {quoted(words)}",
                kind_query(file_type),
                owner and f"{quoted(owner)} in owners",
                modified_after and f"modifiedTime >= {quoted(moment('modified_after', modified_after))}",
                modified_before and f"modifiedTime < {quoted(moment('modified_before', modified_before))}",
                folder_id and f"{quoted(refer(google, folder_id, 'folder_id'))} in parents",
                None if include_trashed else "trashed = false",
            ]
        )
    drive = refer(google, shared_drive_id, "shared_drive_id") if shared_drive_id else None
    try:
        page = await _find(
            google,
            wanted,
            drive=drive,
            corpora=corpora,
            # A search in contents comes in the order of relevance; Drive refuses any other.
            order=None if "fullText" in wanted else "modifiedTime desc",
            size=max_results,
            token=page_token,
        )
    except GoogleError as error:
        if error.status != 400:
            raise
        raise GoogleError(error.error_type, f"{error} The query was: {wanted}", status=error.status) from None
    return {**_answer(page), "query_used": wanted}


async def _list_drives(google: GoogleClient, max_results: int, page_token: str | None) -> dict[str, Any]:
    google.require_scopes("drive.readonly")
    page = await google.call(
        "drive.drives.list",
        pageSize=min(max_results, _MAX_DRIVES),
        pageToken=page_token,
        fields="drives(id,name),nextPageToken",
    )
    found = {"shared_drives": page.get("drives", []), **compact({"next_page_token": page.get("nextPageToken")})}
    return from_outside(found, "shared drives")


async def _find(
    google: GoogleClient,
    query: str,
    *,
    drive: str | None,
    order: str | None,
    size: int,
    token: str | None,
    corpora: str = "user",
) -> dict[str, Any]:
    return await google.call(
        "drive.files.list",
        q=query or None,
        corpora="drive" if drive else corpora,
        driveId=drive,
        includeItemsFromAllDrives=True,
        orderBy=order,
        pageSize=size,
        pageToken=token,
        spaces="drive",
        fields=f"files({FILE_FIELDS}),nextPageToken,incompleteSearch",
    )


def _answer(page: dict[str, Any]) -> dict[str, Any]:
    rest = {"next_page_token": page.get("nextPageToken"), "incomplete": page.get("incompleteSearch") or None}
    return from_outside({"files": [row(file) for file in page.get("files", [])], **compact(rest)}, "files")


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
