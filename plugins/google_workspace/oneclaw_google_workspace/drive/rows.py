"""Files and permissions as a model reads them; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.drive.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a row is made of.
FILE_FIELDS = (
    "id,name,mimeType,size,modifiedTime,owners/emailAddress,parents,driveId,webViewLink,shared,starred,trashed,"
    "shortcutDetails(targetId,targetMimeType)"
)
PERMISSION_FIELDS = (
    "id,type,role,emailAddress,domain,displayName,expirationTime,allowFileDiscovery,"
    "permissionDetails(inherited,inheritedFrom)"
)


def row(file: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a file.

    Args:
        file: as Google answers it.
    """
    mime_type = str(file.get("mimeType", ""))
    shortcut = file.get("shortcutDetails", {})
    return compact(
        {
            "id": file.get("id"),
            "name": file.get("name"),
            "type": kind_of(mime_type),
            "mime_type": mime_type,
            "size": size_of(file),
            "modified": file.get("modifiedTime"),
            "owner": owner_of(file),
            "parent_id": parent_of(file),
            "shared_drive_id": file.get("driveId"),
            "link": file.get("webViewLink"),
            "shared": file.get("shared") or None,
            "starred": file.get("starred") or None,
            "trashed": file.get("trashed") or None,
            "shortcut_target": shortcut.get("targetId"),
            "shortcut_target_type": shortcut.get("targetMimeType") and kind_of(shortcut["targetMimeType"]),
        }
    )


def size_of(file: Mapping[str, Any]) -> int | None:
    """Return the length of a stored file in bytes; ``None`` for Google's document formats and folders."""
    return int(file["size"]) if file.get("size") else None


def owner_of(file: Mapping[str, Any]) -> str | None:
    """Whose a file is; ``None`` in a shared drive."""
    return next((each.get("emailAddress") for each in file.get("owners", [])), None)


def parent_of(file: Mapping[str, Any]) -> str | None:
    """The folder that a file is in, ``None`` if it cannot be seen."""
    return next(iter(file.get("parents", [])), None)


def permission_row(permission: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a permission.

    Args:
        permission: as Google answers it.
    """
    details = permission.get("permissionDetails", [])
    return compact(
        {
            "id": permission.get("id"),
            "who": who(permission),
            "name": permission.get("displayName"),
            "role": permission.get("role"),
            "type": permission.get("type"),
            "expires": permission.get("expirationTime"),
            "discoverable": permission.get("allowFileDiscovery") or None,
            "inherited": True if is_inherited(permission) else None,
            "inherited_from": next((each.get("inheritedFrom") for each in details if each.get("inherited")), None),
        }
    )


def who(permission: Mapping[str, Any]) -> str:
    """Whom a permission is for: an address, a domain, or ``anyone``."""
    return str(permission.get("emailAddress") or permission.get("domain") or permission.get("type") or "")


def is_inherited(permission: Mapping[str, Any]) -> bool:
    """Return True if a permission comes from a folder alone, so that it cannot be taken away from the file."""
    details = permission.get("permissionDetails", [])
    return bool(details) and all(each.get("inherited") for each in details)
