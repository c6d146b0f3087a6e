"""Files as a user manages them: listing, searching, describing, moving, renaming, copying, starring and trashing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, failed, from_outside, google_tool, listing, passage
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.drive.files import (
    FILE_FIELDS,
    PERMISSION_FIELDS,
    SHORTCUT_TYPE,
    joined,
    kind_query,
    moment,
    parent_of,
    permission_row,
    quoted,
    refer,
    row,
)
from oneclaw_google_workspace.drive.transfers import ROOT, checked_name, folder_name, target_folder
from oneclaw_google_workspace.editors import FOLDER_TYPE
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm
    from oneclaw_google_workspace.methods import ApiRequest

_VIEWS = {"shared_with_me": "sharedWithMe = true", "starred": "starred = true", "trash": "trashed = true"}
_MAX_DRIVES = 100
_BEFORE_FIELDS = "id,name,parents,mimeType,driveId,capabilities(canTrash,canEdit,canCopy)"
_AFTER_FIELDS = "id,name,parents,starred,trashed,webViewLink"
_UNCLEAR = "Look for it with drive_list_files"
_DONE = {
    "rename": "renamed",
    "move": "moved",
    "copy": "copied",
    "trash": "trashed",
    "restore": "restored",
    "star": "starred",
    "unstar": "unstarred",
    "set_description": "described",
    "create_shortcut": "created",
}
_SINGLE = ("rename", "copy", "create_shortcut")
_NEEDS = {"rename": "canEdit", "move": "canEdit", "set_description": "canEdit", "copy": "canCopy", "trash": "canTrash"}
# What does no more than arrange files is not listed. A folder can be shared, and then shares what is moved into it.
_HARMS: dict[str, Harm] = {"copy": "write", "set_description": "write", "move": "write", "trash": "delete"}
Outcome = tuple[dict[str, Any], "dict[str, Any] | GoogleError"]


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


@google_tool
async def drive_manage_file(
    action: str,
    file_ids: list[str],
    name: str | None = None,
    folder_id: str | None = None,
    description: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Do one thing to some files."""
    google = connect(context)
    _check(action, file_ids, name, folder_id, description)
    wanted = list(dict.fromkeys(refer(google, each, "file_ids") for each in file_ids))
    folder = await target_folder(google, folder_id)
    files, errors = await _look(google, action, wanted)
    if not files:
        raise errors[0][1]
    # A copy lies beside its original unless a place is given.
    beside = parent_of(files[0]) if action == "copy" and folder_id is None else None
    place = "the folder it is in" if beside else folder_name(folder)
    await google.ask(_question(action, files, name, place, description), _HARMS.get(action, "organize"))
    if action in _SINGLE:
        made = await _make(google, action, files[0], name, beside or (folder.id if folder else ROOT))
        return {"results": [_row(made, action)]}
    root = await _root(google) if action == "move" and folder is None else None
    target = folder.id if folder else root
    # What is already where it is to be would be moved out of it.
    resting = [file for file in files if action == "move" and parent_of(file) == target]
    moving = [file for file in files if file not in resting]
    outcomes = await google.batch([_update(action, file, target, description) for file in moving])
    done = [_row({**file, **after}, action) for file, after in _paired(moving, outcomes) if isinstance(after, dict)]
    errors += [({"id": file["id"]}, after) for file, after in _paired(moving, outcomes) if not isinstance(after, dict)]
    done += [{**_row(file, action), "status": "already there"} for file in resting]
    if not done:
        raise errors[-1][1]
    return {"results": done, **compact({"failed": failed(errors)})}


def _check(action: str, file_ids: list[str], name: str | None, folder_id: str | None, description: str | None) -> None:
    if action in _SINGLE and len(file_ids) != 1:
        raise invalid(f"{action} takes one file. Call it once for each.")
    if action == "rename" and name is None:
        raise invalid("Give name, the new one.")
    if action == "move" and folder_id is None:
        raise invalid(f"Give folder_id, where to move to; {ROOT} for My Drive.")
    if action == "set_description" and description is None:
        raise invalid("Give description; an empty one removes it.")
    if name is not None:
        checked_name(name)
    for what, value, actions in (
        ("name", name, _SINGLE),
        ("folder_id", folder_id, ("move", "copy", "create_shortcut")),
        ("description", description, ("set_description",)),
    ):
        if value is not None and action not in actions:
            raise invalid(f"{what} goes with {', '.join(actions)}, not with {action}.")


async def _look(
    google: GoogleClient, action: str, file_ids: list[str]
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], GoogleError]]]:
    """Look at the files before anything is done: part those with which it can be from the others."""
    found = await google.batch(
        [api_request("drive.files.get", fileId=file_id, fields=_BEFORE_FIELDS) for file_id in file_ids]
    )
    files: list[dict[str, Any]] = []
    errors: list[tuple[dict[str, Any], GoogleError]] = []
    for file_id, file in zip(file_ids, found, strict=True):
        if isinstance(file, GoogleError):
            errors.append(({"id": file_id}, file))
            continue
        title = listing([file.get("name", file_id)])
        right = _NEEDS.get(action, "")
        if action == "copy" and file.get("mimeType") == FOLDER_TYPE:
            errors.append(({"id": file_id}, invalid(f"{title} is a folder: Drive copies files alone.")))
        elif file.get("capabilities", {}).get(right) is False:
            whose = "only managers of the shared drive" if file.get("driveId") else "only its owner"
            reason = f"{whose} can" if action == "trash" else "it is not shared with that right"
            message = f"{google.account.label} may not {action.replace('_', ' ')} {title}: {reason}."
            errors.append(({"id": file_id}, GoogleError("permission_denied", message)))
        else:
            files.append(file)
    return files, errors


def _question(action: str, files: list[dict[str, Any]], name: str | None, place: str, description: str | None) -> str:
    titles = listing(str(file.get("name", file["id"])) for file in files)
    count = f"{len(files)} files: " if len(files) > 1 else ""
    has_folders = any(file.get("mimeType") == FOLDER_TYPE for file in files)
    inside = ", folders with all that is in them" if has_folders else ""
    called = f" as {listing([name])}" if name else ""
    match action:
        case "rename":
            return f"rename {titles} to {listing([name or ''])}"
        case "move":
            shared = "" if place == folder_name(None) else ", to be seen by anyone who may see that folder"
            return f"move {count}{titles}{inside} to {place}{shared}"
        case "copy":
            return f"copy {titles}{called} to {place}"
        case "trash":
            return f"move {count}{titles}{inside} to the trash"
        case "restore":
            return f"restore {count}{titles}{inside} from the trash"
        case "create_shortcut":
            return f"create a shortcut to {titles}{called} in {place}"
        case "set_description":
            return f"describe {count}{titles} as {passage(description or '')}"
        case _:
            return f"{action} {count}{titles}"


async def _make(
    google: GoogleClient, action: str, file: dict[str, Any], name: str | None, parent: str
) -> dict[str, Any]:
    if action == "rename":
        body = {"name": name}
        return await google.call("drive.files.update", fileId=file["id"], body=body, fields=_AFTER_FIELDS)
    if action == "copy":
        return await google.call(
            "drive.files.copy",
            fileId=file["id"],
            body=compact({"name": name, "parents": [parent]}),
            fields=_AFTER_FIELDS,
            unclear_hint=_UNCLEAR,
        )
    return await google.call(
        "drive.files.create",
        body={
            "name": name or file.get("name"),
            "mimeType": SHORTCUT_TYPE,
            "parents": [parent],
            "shortcutDetails": {"targetId": file["id"]},
        },
        fields=_AFTER_FIELDS,
        unclear_hint=_UNCLEAR,
    )


async def _root(google: GoogleClient) -> str:
    return str((await google.call("drive.files.get", fileId=ROOT, fields="id"))["id"])


def _update(action: str, file: dict[str, Any], target: str | None, description: str | None) -> ApiRequest:
    bodies: dict[str, dict[str, Any]] = {
        "trash": {"trashed": True},
        "restore": {"trashed": False},
        "star": {"starred": True},
        "unstar": {"starred": False},
        "set_description": {"description": description},
    }
    is_move = action == "move"
    return api_request(
        "drive.files.update",
        fileId=file["id"],
        body=bodies.get(action, {}),
        fields=_AFTER_FIELDS,
        addParents=target if is_move else None,
        removeParents=parent_of(file) if is_move else None,
    )


def _paired(files: list[dict[str, Any]], outcomes: list[dict[str, Any] | GoogleError]) -> list[Outcome]:
    return list(zip(files, outcomes, strict=True))


def _row(file: dict[str, Any], action: str) -> dict[str, Any]:
    return compact(
        {
            "id": file.get("id"),
            "name": file.get("name"),
            "folder_id": parent_of(file),
            "link": file.get("webViewLink"),
            "status": _DONE[action],
        }
    )
