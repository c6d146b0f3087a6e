"""Access to files: the tool ``drive_share_file``, and the people to get, keep or lose access by its arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, failed, google_tool, listing, parted, passage
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.drive.files import PERMISSION_FIELDS, is_inherited, moment, permission_row, refer, who
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm

PEOPLE = ("user", "group")
_SHARED_DRIVE_ROLES = ("fileOrganizer", "organizer")
_ADDRESS = re.compile(r"[^\s@<>,;\"]+@[^\s@<>,;\"]+\.[^\s@<>,;\"]+")
_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)+")
NEVER = "never"
_FILE_FIELDS = "id,name,webViewLink,driveId,capabilities/canShare"
_ANSWER_FIELDS = "id,type,role,emailAddress,domain,expirationTime"
_UNCLEAR = "Look who has access with drive_get_file and include_permissions"
_MAX_PERMISSIONS = 2000
_MAX_PEOPLE = 50
# Changes of permissions that come at once lose each other.
_ALONE = "sharing"


@dataclass(frozen=True, slots=True)
class Access:
    """The arguments of a call.

    Attributes:
        type: ``user``, ``group``, ``domain`` or ``anyone``.
        email: of a user or group.
        domain: of a domain.
        role: what they may do; ``None`` for what they may already.
        notify: whether Google mails them.
        message: in that mail.
        expires: when access ends, in UTC; ``never`` to have it stay.
        discoverable: whether a search finds the file.
    """

    type: str
    email: str | None
    domain: str | None
    role: str | None
    notify: bool
    message: str | None
    expires: str | None
    discoverable: bool

    @property
    def whom(self) -> str:
        """Whom it is about, for people."""
        if self.type == "anyone":
            return "ANYONE who has the link" if not self.discoverable else "ANYONE on the internet"
        if self.type == "domain":
            return f"EVERYBODY at {self.domain}"
        return f"the group {self.email}" if self.type == "group" else str(self.email)

    def check_grant(self) -> None:
        """Refuse what cannot be granted.

        Raises:
            GoogleError: arguments do not go together.
        """
        self.check_person()
        if self.type not in PEOPLE and (self.message or self.expires):
            raise invalid("message and expires are for users and groups.")
        if self.message and not self.notify:
            raise invalid("message is sent with the notification. Set notify, or leave message out.")
        if self.discoverable and self.type in PEOPLE:
            raise invalid("discoverable is for domain and anyone.")
        if self.expires == NEVER:
            raise invalid("expires never goes with action update.")
        if self.role == "owner" and (self.type != "user" or not self.notify or self.expires):
            raise invalid("Only a user can become the owner, who is always notified, and permanently.")
        if self.type not in PEOPLE and self.role in _SHARED_DRIVE_ROLES:
            raise invalid(f"The role {self.role} is for users and groups.")

    def check_person(self) -> None:
        """Refuse addresses that are missing, too many or none.

        Raises:
            GoogleError: so it is.
        """
        if self.type in PEOPLE:
            if not self.email or self.domain:
                raise invalid(f"Give email, and not domain, for the type {self.type}.")
            if not _ADDRESS.fullmatch(self.email):
                raise invalid(f"email must be an address such as bo@example.com, not {self.email[:80]!r}.")
        elif self.type == "domain":
            if not self.domain or self.email:
                raise invalid("Give domain, and not email, for the type domain.")
            if not _DOMAIN.fullmatch(self.domain):
                raise invalid(f"domain must be such as example.com, not {self.domain[:80]!r}.")
        elif self.email or self.domain:
            raise invalid("The type anyone goes without email and domain.")

    def check_place(self, file: Mapping[str, Any]) -> None:
        """Refuse roles that there are not where the file is.

        Raises:
            GoogleError: so it is.
        """
        if self.role in _SHARED_DRIVE_ROLES and not file.get("driveId"):
            raise invalid(f"The role {self.role} is only for shared drives.")
        if self.role == "owner" and file.get("driveId"):
            raise invalid("What is in a shared drive has no owner.")

    def permission(self) -> dict[str, Any]:
        """Return the fields of a new permission, as Google wants them."""
        return compact(
            {
                "type": self.type,
                "role": self.role or "reader",
                "emailAddress": self.email,
                "domain": self.domain,
                "allowFileDiscovery": self.discoverable if self.type not in PEOPLE else None,
            }
        )

    def is_for(self, permission: Mapping[str, Any]) -> bool:
        """Return True if a permission belongs to the given grantee."""
        wanted = {"anyone": "anyone", "domain": self.domain}.get(self.type, self.email)
        return bool(wanted) and who(permission).casefold() == str(wanted).casefold()

    @property
    def subject(self) -> str:
        """The new reader: an address, a domain, or ``anyone``; ``... as owner`` for a new owner."""
        return share_subject(self.email or self.domain or "anyone", self.role)

    def grant_question(self, title: str, whom: str | None = None) -> str:
        """Return the question before access is given.

        Args:
            title: of the file.
            whom: all who get it, if that is not this one alone.
        """
        role = self.role or "reader"
        if role == "owner":
            return f"make {self.whom} the OWNER of {title}, who can then take away your own access"
        words = [f"give {whom or self.whom} access to {title} as {role}"]
        if self.expires:
            words.append(f"until {self.expires}")
        if self.type in PEOPLE:
            words.append(f"and mail them {passage(self.message)}" if self.message else "")
            words.append("and notify them" if self.notify and not self.message else "")
            words.append("without telling them" if not self.notify else "")
        return " ".join(word for word in words if word)


def share_subject(whom: str, role: str | None) -> str:
    """Return the subject of the permission to share, in which ownership differs from access.

    Args:
        whom: an address, a domain, or ``anyone``.
        role: that they get; ``None`` for a reader.
    """
    return f"{whom.lower()} as owner" if role == "owner" else whom.lower()


def expiry(text: str | None) -> str | None:
    """Read when access ends: a time, a day with which it ends, or ``never``.

    Raises:
        GoogleError: it is none of them.
    """
    if not text or text == NEVER:
        return text or None
    return moment("expires", text, days_later=1)


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
