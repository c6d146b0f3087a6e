"""The tool ``drive_share_file``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.access import NEVER, PEOPLE, Access, expiry, share_subject
from oneclaw_google_workspace.drive.references import refer
from oneclaw_google_workspace.drive.rows import PERMISSION_FIELDS, is_inherited, permission_row, who
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FILE_FIELDS = "id,name,webViewLink,driveId,capabilities/canShare"
_ANSWER_FIELDS = "id,type,role,emailAddress,domain,expirationTime"
_UNCLEAR = "Look who has access with drive_get_file and include_permissions"
_MAX_PERMISSIONS = 2000
# Changes of permissions that come at once lose each other.
_ALONE = "sharing"


@google_tool
async def drive_share_file(
    file_id: str,
    action: str = "grant",
    type: str = "user",  # noqa: A002  # the name that Google gives it
    email: str | None = None,
    domain: str | None = None,
    role: str | None = None,
    permission_id: str | None = None,
    notify: bool = True,
    message: str | None = None,
    expires: str | None = None,
    discoverable: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Give, change or take away access."""
    google = connect(context)
    access = Access(type, email, domain, role, notify, message, expiry(expires), discoverable)
    wanted = refer(google, file_id, "file_id")
    if action == "grant":
        if permission_id:
            raise invalid("permission_id goes with update and revoke.")
        access.check_grant()
    else:
        if not permission_id:
            access.check_person()
        if action == "update" and not (role or expires):
            raise invalid("Give role or expires, the new ones.")
        if message or discoverable or (action == "revoke" and (role or expires)):
            raise invalid(f"message, discoverable{', role, expires' if action == 'revoke' else ''} go with grant.")
    file = await google.call("drive.files.get", fileId=wanted, fields=_FILE_FIELDS)
    access.check_place(file)
    if action == "grant":
        permission = await _grant(google, file, access)
        return _answer(file, permission, "granted")
    before = await _find(google, file, access, permission_id)
    if action == "update":
        return _answer(file, await _update(google, file, access, before), "updated")
    await google.ask(f"take away the access of {_named(before)} to {_title(file)}", "organize")
    async with google.alone(_ALONE):
        await google.call("drive.permissions.delete", fileId=file["id"], permissionId=before["id"])
    return _answer(file, before, "revoked")


async def _grant(google: GoogleClient, file: dict[str, Any], access: Access) -> dict[str, Any]:
    if file.get("capabilities", {}).get("canShare") is False:
        raise GoogleError("permission_denied", f"{google.account.label} may not share {_title(file)}.")
    await google.ask(access.grant_question(_title(file)), "share", access.subject)
    async with google.alone(_ALONE):
        given = await google.call(
            "drive.permissions.create",
            fileId=file["id"],
            body=access.permission(),
            sendNotificationEmail=access.notify if access.type in PEOPLE else None,
            emailMessage=access.message,
            transferOwnership=True if access.role == "owner" else None,
            fields=_ANSWER_FIELDS,
            unclear_hint=_UNCLEAR,
        )
        if not access.expires:
            return given
        try:
            # Google takes the end of an access only once there is one.
            ending = {"role": given["role"], "expirationTime": access.expires}
            return given | await _patch(google, file, given["id"], ending)
        except GoogleError as error:
            raise GoogleError(
                error.error_type,
                f"{access.whom} has access now, but WITHOUT an end: {error} Set expires with action update, or revoke "
                f"the permission {given['id']}.",
            ) from None


async def _update(google: GoogleClient, file: dict[str, Any], access: Access, before: dict[str, Any]) -> dict[str, Any]:
    if access.expires and before.get("type") not in PEOPLE:
        raise invalid("expires is for users and groups.")
    role = access.role or before["role"]
    if role == "owner" and before.get("type") != "user":
        raise invalid("Only a user can become the owner.")
    words = [f"from {before['role']} to {role}" if role != before["role"] else ""]
    if role == "owner":
        words = ["to OWNER, who can then take away your own access"]
    if access.expires:
        words.append("permanently" if access.expires == NEVER else f"until {access.expires}")
    change = ", ".join(word for word in words if word) or f"to {role}"
    subject = share_subject(who(before), role)
    await google.ask(f"change the access of {_named(before)} to {_title(file)} {change}", "share", subject)
    body = compact({"role": role, "expirationTime": access.expires if access.expires != NEVER else None})
    async with google.alone(_ALONE):
        after = await _patch(
            google,
            file,
            before["id"],
            body,
            removeExpiration=True if access.expires == NEVER else None,
            transferOwnership=True if role == "owner" else None,
        )
    return {**before, "expirationTime": None, **after}


async def _patch(
    google: GoogleClient, file: dict[str, Any], permission_id: str, body: dict[str, Any], **parameters: Any
) -> dict[str, Any]:
    return await google.call(
        "drive.permissions.update",
        fileId=file["id"],
        permissionId=permission_id,
        body=body,
        fields=_ANSWER_FIELDS,
        **parameters,
    )


async def _find(
    google: GoogleClient, file: dict[str, Any], access: Access, permission_id: str | None
) -> dict[str, Any]:
    """Find the permission that is to be changed or taken away."""
    found, _ = await google.all_items(
        "drive.permissions.list",
        "permissions",
        fields=f"permissions({PERMISSION_FIELDS})",
        limit=_MAX_PERMISSIONS,
        fileId=file["id"],
        pageSize=100,
    )
    for each in found:
        if each.get("id") == permission_id if permission_id else access.is_for(each):
            if is_inherited(each):
                raise await _inherited(google, file, each)
            return each
    whom = f"the permission {permission_id[:80]!r}" if permission_id else f"access of {access.whom}"
    others = ", ".join(who(each) for each in found[:20])
    raise GoogleError("not_found", f"There is no {whom.removeprefix('the ')} to {_title(file)}. Access have: {others}.")


async def _inherited(google: GoogleClient, file: dict[str, Any], permission: dict[str, Any]) -> GoogleError:
    """Say which folder a permission comes from; only there it can be changed."""
    source = permission_row(permission).get("inherited_from")
    where = "the folder it is in"
    if source:
        try:
            folder = await google.call("drive.files.get", fileId=source, fields="id,name")
            where = f"{listing([folder.get('name', source)])} ({source})"
        except GoogleError as error:
            if error.status not in (403, 404):
                raise
            where = f"the folder {source}"
    return GoogleError(
        "permission_denied",
        f"{who(permission)} has access to {_title(file)} through {where}, and can only be given another or none there.",
    )


def _title(file: dict[str, Any]) -> str:
    return listing([file.get("name", file["id"])])


def _named(permission: dict[str, Any]) -> str:
    return {"anyone": "anyone who has the link"}.get(permission.get("type", ""), who(permission))


def _answer(file: dict[str, Any], permission: dict[str, Any], status: str) -> dict[str, Any]:
    row = permission_row(permission)
    shown = {key: row[key] for key in ("id", "type", "who", "role", "expires") if key in row}
    return compact(
        {
            "file_id": file["id"],
            "name": file.get("name"),
            "link": file.get("webViewLink"),
            "permission": shown,
            "status": status,
        }
    )
