"""The tool ``drive_share_file``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, failed, google_tool, parted
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.access import NEVER, PEOPLE, Access, expiry, share_subject
from oneclaw_google_workspace.drive.rows import PERMISSION_FIELDS, is_inherited, permission_row, refer, who
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm

_FILE_FIELDS = "id,name,webViewLink,driveId,capabilities/canShare"
_ANSWER_FIELDS = "id,type,role,emailAddress,domain,expirationTime"
_UNCLEAR = "Look who has access with drive_get_file and include_permissions"
_MAX_PERMISSIONS = 2000
_MAX_PEOPLE = 50
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
    editors_can_share: bool | None = None,
    readers_can_download: bool | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Give, change or take away access."""
    google = connect(context)
    wanted = refer(google, file_id, "file_id")
    settings = _settings(editors_can_share, readers_can_download)
    if (action == "settings") != bool(settings):
        raise invalid("editors_can_share and readers_can_download go with action settings, which needs one of them.")
    addresses = [each.strip() for each in (email or "").split(",") if each.strip()]
    people = [
        Access(type, each, domain, role, notify, message, expiry(expires), discoverable)
        for each in addresses or (None,)
    ]
    if action == "settings":
        if addresses or domain or role or permission_id or message or expires or discoverable:
            raise invalid("The action settings is about the file: leave out whom and what they may do.")
        return await _set(google, wanted, settings)
    if action == "grant":
        if permission_id:
            raise invalid("permission_id goes with update and revoke.")
        for each in people:
            each.check_grant()
        if role == "owner" and len(people) > 1:
            raise invalid("Only one can become the owner.")
        if len(people) > _MAX_PEOPLE or len({each.subject for each in people}) < len(people):
            raise invalid(f"Give {_MAX_PEOPLE} different addresses at most.")
        return await _grant_all(google, wanted, people)
    if len(people) > 1:
        raise invalid(f"Only grant takes several addresses; {action} takes one.")
    (access,) = people
    if not permission_id:
        access.check_person()
    if action == "update" and not (role or expires):
        raise invalid("Give role or expires, the new ones.")
    if message or discoverable or (action == "revoke" and (role or expires)):
        raise invalid(f"message, discoverable{', role, expires' if action == 'revoke' else ''} go with grant.")
    file = await google.call("drive.files.get", fileId=wanted, fields=_FILE_FIELDS)
    access.check_place(file)
    before = await _find(google, file, access, permission_id)
    if action == "update":
        return _answer(file, await _update(google, file, access, before), "updated")
    await google.ask(f"take away the access of {_named(before)} to {_title(file)}", "organize")
    async with google.alone(_ALONE):
        await google.call("drive.permissions.delete", fileId=file["id"], permissionId=before["id"])
    return _answer(file, before, "revoked")


def _settings(editors_can_share: bool | None, readers_can_download: bool | None) -> dict[str, bool]:
    """Write the settings of a file by Google's names."""
    found: dict[str, bool] = {}
    if editors_can_share is not None:
        found["writersCanShare"] = editors_can_share
    if readers_can_download is not None:
        found["copyRequiresWriterPermission"] = not readers_can_download
    return found


async def _set(google: GoogleClient, file_id: str, settings: dict[str, bool]) -> dict[str, Any]:
    """Set what those may do who have access already."""
    file = await google.call("drive.files.get", fileId=file_id, fields=_FILE_FIELDS)
    words = []
    if "writersCanShare" in settings:
        words.append(f"{'let' if settings['writersCanShare'] else 'do not let'} editors share it")
    if "copyRequiresWriterPermission" in settings:
        is_denied = settings["copyRequiresWriterPermission"]
        words.append(f"{'do not let' if is_denied else 'let'} readers download, print and copy it")
    # To give away more is to share; to give less is not.
    is_more = settings.get("writersCanShare") is True or settings.get("copyRequiresWriterPermission") is False
    harm: Harm = "share" if is_more else "organize"
    subject = "anyone with access" if is_more else None
    await google.ask(f"change the settings of {_title(file)}: {', '.join(words)}", harm, subject)
    await google.call("drive.files.update", fileId=file["id"], body=settings, fields="id")
    return compact({"file_id": file["id"], "name": file.get("name"), "settings": words, "status": "updated"})


async def _grant_all(google: GoogleClient, file_id: str, people: Sequence[Access]) -> dict[str, Any]:
    """Give access to one, or to several with one question."""
    file = await google.call("drive.files.get", fileId=file_id, fields=_FILE_FIELDS)
    for each in people:
        each.check_place(file)
    if file.get("capabilities", {}).get("canShare") is False:
        raise GoogleError("permission_denied", f"{google.account.label} may not share {_title(file)}.")
    first, *others = people
    if not others:
        await google.ask(first.grant_question(_title(file)), "share", first.subject)
        return _answer(file, await _grant(google, file, first), "granted")
    subject = ", ".join(each.subject for each in people)
    question = first.grant_question(_title(file), ", ".join(each.whom for each in people))
    await google.ask(question, "share", subject)
    outcomes: list[dict[str, Any] | GoogleError] = []
    for each in people:
        try:
            outcomes.append(_answer(file, await _grant(google, file, each), "granted")["permission"])
        except GoogleError as error:
            outcomes.append(error)
            if error.error_type in ("rate_limited", "unknown_outcome"):
                break
    granted, errors = parted([each.subject for each in people][: len(outcomes)], outcomes, "email")
    if not granted:
        raise errors[0][1]
    left = [
        {"email": each.subject, "reason": "not tried after the failure before it"} for each in people[len(outcomes) :]
    ]
    about = {"file_id": file["id"], "name": file.get("name"), "link": file.get("webViewLink"), "status": "granted"}
    return compact({**about, "permissions": granted, "failed": [*failed(errors), *left]})


async def _grant(google: GoogleClient, file: dict[str, Any], access: Access) -> dict[str, Any]:
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
