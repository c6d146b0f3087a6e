"""The stand-in's Google Drive."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_drive_queries import QueryReader
from google_service import ApiError, Call, Media, Service, bad_request, handles, not_found

GOOGLE = "application/vnd.google-apps."
FOLDER = f"{GOOGLE}folder"
SHORTCUT = f"{GOOGLE}shortcut"
EXPORT_LIMIT_BYTES = 10 * 1024 * 1024
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
EXPORT_FORMATS = {
    f"{GOOGLE}document": ["text/plain", "text/markdown", "application/pdf", "application/zip", WORD],
    f"{GOOGLE}spreadsheet": ["text/csv", "text/tab-separated-values", "application/pdf", "text/html", EXCEL],
    f"{GOOGLE}presentation": ["text/plain", "application/pdf", "image/png", POWERPOINT],
    f"{GOOGLE}drawing": ["image/png", "image/jpeg", "image/svg+xml", "application/pdf"],
    f"{GOOGLE}script": [f"{GOOGLE}script+json"],
}
ROLES = ["reader", "commenter", "writer", "fileOrganizer", "organizer", "owner"]
WORDS = {"folder,name_natural", "name_natural", "name", "folder"} | {
    f"{key}{way}"
    for key in ("modifiedTime", "createdTime", "recency", "quotaBytesUsed", "viewedByMeTime")
    for way in ("", " desc")
}


@dataclass
class Kept:
    """A file as the stand-in keeps it.

    Attributes:
        values: what Google answers, but for what depends on who asks or on the content.
        permissions: given to the file itself, by id.
        content: of a stored file.
        text: what a search finds.
        exports: of a Google file, by media type.
        is_accessed: whether this app has seen its resource key, where it has one.
    """

    values: dict[str, Any]
    permissions: dict[str, dict[str, Any]]
    content: bytes | Path | None = None
    text: str = ""
    exports: dict[str, bytes | Path] = field(default_factory=dict)
    starred_by: set[str] = field(default_factory=set)
    resource_key: str | None = None
    _md5: tuple[Any, str] | None = None

    def size(self) -> int | None:
        if self.content is None:
            return None
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    def md5(self) -> str:
        if self._md5 is None or self._md5[0] is not self.content:
            self._md5 = (self.content, self._compute_md5())
        return self._md5[1]

    def _compute_md5(self) -> str:
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        return hashlib.md5(self.content or b"", usedforsecurity=False).hexdigest()


def permission_id(kind: str, who: str) -> str:
    """The same person has the same id everywhere, as with Google."""
    if kind == "anyone":
        return "anyoneWithLink"
    return str(int(hashlib.sha256(f"{kind}:{who}".encode()).hexdigest()[:15], 16))


class Drive(Service):
    """Files with one parent each, and who may do what with them.

    Attributes:
        files: by id.
        drives: names of shared drives by id.
        mails: what people were sent: address, file name, message.
        operations: of big exports: by name, how often they are still "not done" and the answer.
        is_incomplete: whether searches leave something out.
        export_outcome: what happens to a big export instead of a link to it.
        denied_downloads: ids of files whose owner forbids downloads.
    """

    def start(self) -> None:
        self.files: dict[str, Kept] = {}
        self.drives: dict[str, str] = {}
        self.mails: list[tuple[str, str, str]] = []
        self.operations: dict[str, list[Any]] = {}
        self.is_incomplete = False
        self.export_outcome: dict[str, Any] | None = None
        self.denied_downloads: set[str] = set()
        self._reserved: set[str] = set()

    # Arranging

    def root(self, user: str = "ana@example.com") -> str:
        """The id of somebody's My Drive."""
        root_id = f"root-of-{user.partition('@')[0]}"
        if root_id not in self.files:
            self._keep(root_id, "My Drive", FOLDER, None, user)
        return root_id

    def add(
        self,
        name: str,
        content: bytes | Path = b"",
        *,
        mime_type: str = "text/plain",
        parent: str | None = None,
        owner: str = "ana@example.com",
        text: str | None = None,
        file_id: str | None = None,
        shared_with: dict[str, str] | None = None,
        **values: Any,
    ) -> str:
        """Put a stored file somewhere, by default into its owner's My Drive; gives its id."""
        file_id = file_id or self.new_id("file")
        kept = self._keep(file_id, name, mime_type, parent or self.root(owner), owner, **values)
        kept.content = content
        if text is None and isinstance(content, bytes) and mime_type.startswith("text/"):
            text = content.decode(errors="replace")
        kept.text = text or ""
        self._share(kept, shared_with)
        return file_id

    def add_folder(self, name: str, *, parent: str | None = None, owner: str = "ana@example.com", **values: Any) -> str:
        """Make a folder; gives its id."""
        shared_with = values.pop("shared_with", None)
        folder_id = values.pop("file_id", None) or self.new_id("folder")
        kept = self._keep(folder_id, name, FOLDER, parent or self.root(owner), owner, **values)
        self._share(kept, shared_with)
        return folder_id

    def add_google_file(
        self,
        name: str,
        mime_type: str,
        file_id: str | None = None,
        *,
        owner: str = "ana@example.com",
        parent: str | None = None,
        exports: dict[str, bytes | Path] | None = None,
        text: str = "",
        shared_with: dict[str, str] | None = None,
        **values: Any,
    ) -> str:
        """Make a document, spreadsheet or the like known to Drive; gives its id.

        Args:
            name: its title.
            mime_type: such as ``application/vnd.google-apps.document``; the last word alone will do.
            file_id: that it has in its own service.
            owner: whose it is.
            parent: folder; by default the owner's My Drive.
            exports: content by media type.
            text: what a search finds in it.
            shared_with: roles by address.
            values: of the file resource.
        """
        file_id = file_id or self.new_id("doc")
        mime_type = mime_type if "/" in mime_type else f"{GOOGLE}{mime_type}"
        kept = self._keep(file_id, name, mime_type, parent or self.root(owner), owner, **values)
        kept.exports = exports or {}
        kept.text = text
        self._share(kept, shared_with)
        return file_id

    def add_shared_drive(self, name: str, members: dict[str, str] | None = None) -> str:
        """Make a shared drive; its id is that of its top folder."""
        drive_id = self.new_id("0Adrive")
        self.drives[drive_id] = name
        kept = self._keep(drive_id, "Drive", FOLDER, None, "", driveId=drive_id)
        self._share(kept, members or {"ana@example.com": "organizer"})
        return drive_id

    def name(self, file_id: str) -> str:
        return self.files[file_id].values["name"]

    def parent(self, file_id: str) -> str | None:
        return next(iter(self.files[file_id].values.get("parents", [])), None)

    def names_in(self, folder_id: str) -> list[str]:
        return sorted(self.name(file_id) for file_id in self.files if self.parent(file_id) == folder_id)

    def is_trashed(self, file_id: str) -> bool:
        return any(each.values.get("explicitlyTrashed", False) for each in self._line(file_id))

    def access(self, file_id: str) -> dict[str, str]:
        """Who may do what with a file: roles by address, domain or ``anyone``."""
        return {
            each.get("emailAddress") or each.get("domain") or each["type"]: each["role"]
            for each in self._permissions(file_id).values()
        }

    def _keep(self, file_id: str, name: str, mime_type: str, parent: str | None, owner: str, **values: Any) -> Kept:
        moment = self.now()
        found = {
            "id": file_id,
            "name": name,
            "mimeType": mime_type,
            "createdTime": moment,
            "modifiedTime": moment,
            "lastModifyingUser": {"emailAddress": owner},
            **({"parents": [parent]} if parent else {}),
            **values,
        }
        drive_id = values.get("driveId") or (parent and self.files[parent].values.get("driveId"))
        if drive_id:
            found["driveId"] = drive_id
        kept = self.files[file_id] = Kept(found, {})
        if owner and not drive_id:
            found["owners"] = [{"emailAddress": owner, "displayName": owner.partition("@")[0]}]
            self._share(kept, {owner: "owner"})
        return kept

    @staticmethod
    def _share(kept: Kept, roles: dict[str, str] | None) -> None:
        for who, role in (roles or {}).items():
            kind = "anyone" if who == "anyone" else "user" if "@" in who else "domain"
            permission = {"id": permission_id(kind, who), "type": kind, "role": role}
            if kind != "anyone":
                permission["emailAddress" if kind == "user" else "domain"] = who
            kept.permissions[permission["id"]] = permission

    # Who sees what

    def _line(self, file_id: str) -> list[Kept]:
        """A file and the folders above it."""
        line: list[Kept] = []
        current: str | None = file_id
        while current is not None and current in self.files:
            line.append(self.files[current])
            current = self.parent(current)
        return line

    def _permissions(self, file_id: str) -> dict[str, dict[str, Any]]:
        """All permissions of a file, those of the folders above it included."""
        found: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(self._line(file_id)):
            for key, permission in each.permissions.items():
                if number and permission["role"] == "owner":
                    continue
                detail = {"inherited": bool(number), "role": permission["role"], "permissionType": "file"}
                if number:
                    detail["inheritedFrom"] = each.values["id"]
                known = found.setdefault(key, {**permission, "permissionDetails": []})
                known["permissionDetails"].append(detail)
                if ROLES.index(permission["role"]) > ROLES.index(known["role"]):
                    known["role"] = permission["role"]
        return found

    def _role(self, file_id: str, user: str) -> str | None:
        roles = [
            each["role"]
            for each in self._permissions(file_id).values()
            if each["type"] == "anyone"
            or each.get("emailAddress") == user
            or each.get("domain") == user.partition("@")[2]
        ]
        return max(roles, key=ROLES.index, default=None)

    def _find(self, call: Call, file_id: str, name: str = "fileId", needs: str = "reader") -> Kept:
        file_id = self.root(call.user) if file_id == "root" else file_id
        kept = self.files.get(file_id)
        role = self._role(file_id, call.user) if kept else None
        if kept and kept.resource_key and role != "owner":
            keys = call.headers.get("x-goog-drive-resource-keys", "").split(",")
            if f"{file_id}/{kept.resource_key}" not in keys:
                role = None
        if kept is None or role is None or ("driveId" in kept.values and not call.get("supportsAllDrives")):
            raise ApiError(404, "notFound", f"File not found: {file_id}.")
        if ROLES.index(role) < ROLES.index(needs):
            raise ApiError(403, "insufficientFilePermissions", "The user does not have sufficient permissions.")
        return kept

    def _resource(self, kept: Kept, user: str) -> dict[str, Any]:
        file_id, mime_type = kept.values["id"], kept.values["mimeType"]
        rank = ROLES.index(self._role(file_id, user) or "reader")
        is_folder, is_in_drive = mime_type == FOLDER, "driveId" in kept.values
        can_download = file_id not in self.denied_downloads and not is_folder
        found = {
            "kind": "drive#file",
            **kept.values,
            "starred": user in kept.starred_by,
            "trashed": self.is_trashed(file_id),
            "webViewLink": f"https://drive.google.com/file/d/{file_id}/view",
            "shared": len(self._permissions(file_id)) > 1,
            "capabilities": {
                "canEdit": rank >= ROLES.index("writer"),
                "canShare": rank >= ROLES.index("writer"),
                "canCopy": not is_folder and can_download,
                "canDownload": can_download,
                "canTrash": rank >= ROLES.index("fileOrganizer" if is_in_drive else "owner"),
                "canAddChildren": is_folder and rank >= ROLES.index("writer"),
            },
        }
        if kept.content is not None:
            found |= {"size": str(kept.size()), "md5Checksum": kept.md5(), "webContentLink": f"https://drive/{file_id}"}
        return found

    # Files

    @handles("drive.about.get")
    def about(self, call: Call) -> dict[str, Any]:
        if "fields" not in call.parameters:
            raise bad_request("The 'fields' parameter is required for this method.", "required")
        return {"kind": "drive#about", "exportFormats": EXPORT_FORMATS, "importFormats": {}}

    @handles("drive.drives.list")
    def list_drives(self, call: Call) -> dict[str, Any]:
        seen = [
            {"kind": "drive#drive", "id": each, "name": name}
            for each, name in self.drives.items()
            if self._role(each, call.user)
        ]
        items, following = self.page(call, seen, size="pageSize", default=10, most=100)
        return {"drives": items, **following}

    @handles("drive.files.generateIds")
    def generate_ids(self, call: Call) -> dict[str, Any]:
        ids = [self.new_id("new") for _ in range(call.get("count", 10))]
        self._reserved |= set(ids)
        return {"kind": "drive#generatedIds", "space": "drive", "ids": ids}

    @handles("drive.files.get")
    def get(self, call: Call) -> dict[str, Any] | Media:
        kept = self._find(call, call["fileId"])
        if call.get("alt") != "media":
            return self._resource(kept, call.user)
        if kept.content is None:
            raise ApiError(403, "fileNotDownloadable", "Only files with binary content can be downloaded.")
        if kept.values["id"] in self.denied_downloads:
            raise ApiError(403, "cannotDownloadFile", "This file cannot be downloaded by the user.")
        return Media(kept.content, kept.values["mimeType"], etag=f'"{kept.values["modifiedTime"]}"')

    @handles("drive.files.list")
    def list_files(self, call: Call) -> dict[str, Any]:
        query, order = call.get("q", ""), call.get("orderBy")
        corpora = call.get("corpora", "user")
        sees_drives = call.get("supportsAllDrives", False) and call.get("includeItemsFromAllDrives", False)
        if (corpora == "drive") != ("driveId" in call.parameters):
            raise bad_request("The driveId parameter must be specified if and only if corpora is set to drive.")
        if corpora in ("drive", "allDrives") and not sees_drives:
            raise ApiError(403, "forbidden", "includeItemsFromAllDrives and supportsAllDrives must be true.")
        if order is not None and order not in WORDS:
            raise bad_request(f"Invalid value for orderBy: {order}")
        if order is not None and "fullText" in query:
            raise ApiError(403, "forbidden", "Sorting is not supported for queries with fullText terms.")
        is_found = QueryReader(query).read() if query else lambda _: True
        found = []
        for file_id, kept in list(self.files.items()):
            if "parents" not in kept.values or not self._role(file_id, call.user) or kept.resource_key:
                continue
            drive_id = kept.values.get("driveId")
            if drive_id and (not sees_drives or call.get("driveId", drive_id) != drive_id):
                continue
            if (corpora == "drive" and not drive_id) or (
                corpora == "domain" and not self._is_in_domain(kept, call.user)
            ):
                continue
            if is_found({"search": self._searched(kept, call.user)}):
                found.append(self._resource(kept, call.user))
        self._check_folders(call, query)
        items, following = self.page(call, _sorted(found, order), size="pageSize", default=100, most=1000)
        return {"kind": "drive#fileList", "files": items, "incompleteSearch": self.is_incomplete, **following}

    def _check_folders(self, call: Call, query: str) -> None:
        """Somebody else's folder is not found, rather than empty."""
        import re

        for folder_id in re.findall(r"'([^']*)' in parents", query):
            if folder_id != "root" and folder_id not in self.drives:
                self._find(call, folder_id)

    def _is_in_domain(self, kept: Kept, user: str) -> bool:
        return any(each.get("domain") == user.partition("@")[2] for each in kept.permissions.values())

    def _searched(self, kept: Kept, user: str) -> dict[str, Any]:
        parents = list(kept.values.get("parents", []))
        if self.root(user) in parents:
            parents.append("root")
        owners = [each["emailAddress"] for each in kept.values.get("owners", [])]
        everybody = self._permissions(kept.values["id"]).values()
        return {
            **kept.values,
            "fullText": f"{kept.values['name']} {kept.text}",
            "trashed": self.is_trashed(kept.values["id"]),
            "starred": user in kept.starred_by,
            "sharedWithMe": user not in owners and any(each.get("emailAddress") == user for each in everybody),
            "parents": parents,
            "owners": owners,
            "writers": [each.get("emailAddress") for each in everybody if each["role"] != "reader"],
            "readers": [each.get("emailAddress") for each in everybody],
        }

    @handles("drive.files.create")
    def create(self, call: Call) -> dict[str, Any]:
        body = dict(call.body)
        file_id = body.pop("id", None)
        mime_type = body.pop("mimeType", None) or call.media_type or "application/octet-stream"
        is_google = mime_type.startswith(GOOGLE)
        if file_id is not None:
            if is_google and mime_type not in (FOLDER, SHORTCUT):
                raise bad_request("Generated IDs are not supported for Docs Editors formats.")
            if file_id in self.files:
                raise ApiError(409, "fileIdInUse", "A file already exists with the provided ID.")
            if file_id not in self._reserved:
                raise bad_request("The provided file ID is not usable.")
        parents = body.pop("parents", ["root"])
        if len(parents) != 1:
            raise ApiError(403, "multipleParentsNotSupported", "A file has one parent.")
        parent = self._find(call, parents[0], needs="writer")
        if parent.values["mimeType"] != FOLDER:
            raise ApiError(403, "parentNotAFolder", "The specified parent is not a folder.")
        if mime_type == SHORTCUT:
            body["shortcutDetails"] = self._shortcut(call, body.pop("shortcutDetails", {}))
        file_id = file_id or self.new_id("made")
        kept = self._keep(file_id, body.pop("name", "Untitled"), mime_type, parent.values["id"], call.user, **body)
        if call.media is not None:
            self._fill(kept, call)
        return self._resource(kept, call.user)

    def _shortcut(self, call: Call, details: dict[str, Any]) -> dict[str, Any]:
        target = self.files.get(details.get("targetId", ""))
        if target is None:
            raise not_found("File")
        if target.values["mimeType"] == SHORTCUT:
            raise ApiError(403, "shortcutTargetInvalid", "Shortcuts cannot target shortcuts.")
        return {"targetId": target.values["id"], "targetMimeType": target.values["mimeType"]}

    def _fill(self, kept: Kept, call: Call) -> None:
        assert call.media is not None
        if not kept.values["mimeType"].startswith(GOOGLE):
            kept.content = call.media
            kept.values["mimeType"] = call.media_type
        elif not (call.media_type or "").startswith(("text/", "image/", "application/")):
            raise bad_request("Bad Request")
        else:
            kept.exports = dict.fromkeys(EXPORT_FORMATS[kept.values["mimeType"]], call.media)
        if call.media.stat().st_size < 100_000:
            kept.text = call.media.read_bytes().decode(errors="replace")

    @handles("drive.files.update")
    def update(self, call: Call) -> dict[str, Any]:
        kept = self._find(call, call["fileId"])
        file_id, body = kept.values["id"], dict(call.body)
        if body.keys() - {"starred"} or call.media is not None or call.get("addParents"):
            self._find(call, file_id, needs="writer")
        if "trashed" in body:
            if not self._resource(kept, call.user)["capabilities"]["canTrash"]:
                raise ApiError(403, "insufficientFilePermissions", "The user does not have sufficient permissions.")
            kept.values["explicitlyTrashed"] = body.pop("trashed")
        if "starred" in body:
            (kept.starred_by.add if body.pop("starred") else kept.starred_by.discard)(call.user)
        self._move(call, kept)
        kept.values |= body
        if call.media is not None:
            self._fill(kept, call)
        kept.values["modifiedTime"] = self.now()
        return self._resource(kept, call.user)

    def _move(self, call: Call, kept: Kept) -> None:
        own = {"root": self.root(call.user)}
        added = [own.get(each, each) for each in call.get("addParents", "").split(",") if each]
        removed = [own.get(each, each) for each in call.get("removeParents", "").split(",") if each]
        if not added and not removed:
            return
        parents = [each for each in kept.values.get("parents", []) if each not in removed]
        parents += [each for each in added if each not in parents]
        if len(parents) != 1:
            raise ApiError(403, "cannotAddParent", "Increasing the number of parents is not allowed")
        target = self._find(call, parents[0], needs="writer")
        if kept in self._line(parents[0]):
            raise ApiError(403, "cannotMoveIntoItself", "A folder cannot be moved into itself.")
        if kept.values["mimeType"] == FOLDER and target.values.get("driveId") != kept.values.get("driveId"):
            raise ApiError(
                403, "teamDrivesFolderMoveInNotSupported", "Moving folders into shared drives is not supported."
            )
        kept.values["parents"] = parents
        if "driveId" in target.values:
            kept.values["driveId"] = target.values["driveId"]
            kept.values.pop("owners", None)
            kept.permissions.clear()

    @handles("drive.files.copy")
    def copy(self, call: Call) -> dict[str, Any]:
        source = self._find(call, call["fileId"])
        if not self._resource(source, call.user)["capabilities"]["canCopy"]:
            raise ApiError(403, "cannotCopyFile", "This file cannot be copied by the user.")
        parent = self._find(call, call.body.get("parents", ["root"])[0], needs="writer").values["id"]
        file_id = self.new_id("copy")
        name = call.body.get("name", f"Copy of {source.values['name']}")
        kept = self._keep(file_id, name, source.values["mimeType"], parent, call.user)
        kept.content, kept.text, kept.exports = source.content, source.text, dict(source.exports)
        return self._resource(kept, call.user)

    # Exports

    def _exported(self, call: Call) -> tuple[bytes | Path, str]:
        kept = self._find_for_export(call)
        media_type = call.get("mimeType")
        if media_type not in kept.exports and media_type not in EXPORT_FORMATS.get(kept.values["mimeType"], []):
            raise bad_request("The requested conversion is not supported.", "badRequest")
        return kept.exports.get(media_type, kept.text.encode()), media_type

    def _find_for_export(self, call: Call) -> Kept:
        # This method has no parameter for shared drives, and knows their files.
        kept = self._find(
            Call(call.method, {"supportsAllDrives": True}, {}, call.user, call.url, headers=call.headers),
            call["fileId"],
        )
        if kept.values["id"] in self.denied_downloads:
            raise ApiError(403, "cannotExportFile", "This file cannot be exported by the user.")
        return kept

    @handles("drive.files.export")
    def export(self, call: Call) -> Media:
        if not self._find_for_export(call).values["mimeType"].startswith(GOOGLE):
            raise ApiError(403, "fileNotExportable", "Export only supports Docs Editors files.")
        content, media_type = self._exported(call)
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        if size > EXPORT_LIMIT_BYTES:
            raise ApiError(403, "exportSizeLimitExceeded", "This file is too large to be exported.")
        return Media(content, media_type)

    @handles("drive.files.download")
    def download(self, call: Call) -> dict[str, Any]:
        content, media_type = self._exported(call)
        # The link leads to the content, for whoever brings a token along.
        link_id = self.add("export", content, mime_type=media_type, owner=call.user)
        name = self.new_id("operation")
        link = f"https://www.googleapis.com/drive/v3/files/{link_id}?alt=media"
        self.operations[name] = [
            1,
            self.export_outcome or {"response": {"@type": "type.googleapis.com/Downloaded", "downloadUri": link}},
        ]
        return {"name": name, "done": False}

    @handles("drive.operations.get")
    def operation(self, call: Call) -> dict[str, Any]:
        if call["name"] not in self.operations:
            raise not_found("Operation")
        state = self.operations[call["name"]]
        state[0] -= 1
        return (
            {"name": call["name"], "done": False} if state[0] >= 0 else {"name": call["name"], "done": True, **state[1]}
        )

    # Permissions

    @handles("drive.permissions.list")
    def list_permissions(self, call: Call) -> dict[str, Any]:
        kept = self._find(call, call["fileId"], needs="writer")
        found = list(self._permissions(kept.values["id"]).values())
        if "driveId" not in kept.values:
            for each in found:
                for detail in each["permissionDetails"]:
                    detail.pop("inheritedFrom", None)
        items, following = self.page(call, found, size="pageSize", default=100, most=100)
        return {"kind": "drive#permissionList", "permissions": items, **following}

    @handles("drive.permissions.create")
    def grant(self, call: Call) -> dict[str, Any]:
        kept = self._find(call, call["fileId"], needs="writer")
        kind, role = call.body.get("type", ""), call.body.get("role", "")
        who = call.body.get("emailAddress" if kind in ("user", "group") else "domain", "")
        if (not who and kind != "anyone") or not role:
            raise bad_request("The permission is not complete.", "required")
        if "expirationTime" in call.body:
            raise bad_request("Expiration dates cannot be set on creation here.")
        if kind in ("domain", "anyone") and (
            "sendNotificationEmail" in call.parameters or "emailMessage" in call.parameters
        ):
            raise bad_request("No one can be notified.")
        self._check_role(call, kept, role)
        permission = {"id": permission_id(kind, who), **call.body}
        kept.permissions[permission["id"]] = permission
        if kind in ("user", "group") and call.get("sendNotificationEmail", True):
            self.mails.append((who, kept.values["name"], call.get("emailMessage", "")))
        return permission

    def _check_role(self, call: Call, kept: Kept, role: str) -> None:
        is_in_drive = "driveId" in kept.values
        if role in ("organizer", "fileOrganizer") and not is_in_drive:
            raise ApiError(403, "cannotShareTeamDriveRole", "This role is only for shared drives.")
        if role != "owner":
            return
        if is_in_drive:
            raise ApiError(403, "ownershipChangeOnTeamDriveItemNotSupported", "Items in shared drives have no owner.")
        if not call.get("transferOwnership") or call.get("sendNotificationEmail") is False:
            raise ApiError(403, "forbidden", "The transferOwnership parameter must be enabled, and mail cannot be off.")
        for permission in kept.permissions.values():
            permission["role"] = "writer" if permission["role"] == "owner" else permission["role"]

    @handles("drive.permissions.update")
    def change(self, call: Call) -> dict[str, Any]:
        kept = self._find(call, call["fileId"], needs="writer")
        permission = kept.permissions.get(call["permissionId"])
        if permission is None:
            raise not_found("Permission")
        if "expirationTime" in call.body and permission["type"] not in ("user", "group"):
            raise ApiError(403, "expirationDateNotAllowedForSharedDriveMembers", "No expiry here.")
        if call.body.get("role"):
            self._check_role(call, kept, call.body["role"])
        permission |= call.body
        if call.get("removeExpiration"):
            permission.pop("expirationTime", None)
        return permission

    @handles("drive.permissions.delete")
    def revoke(self, call: Call) -> None:
        kept = self._find(call, call["fileId"])
        found = self._permissions(kept.values["id"]).get(call["permissionId"])
        if found is None:
            raise not_found("Permission")
        if found.get("emailAddress") != call.user:
            self._find(call, call["fileId"], needs="writer")
        if found["role"] == "owner":
            raise ApiError(403, "insufficientFilePermissions", "The owner of a file cannot be removed.")
        if call["permissionId"] not in kept.permissions:
            raise ApiError(403, "cannotDeleteInheritedPermission", "An inherited permission cannot be removed here.")
        del kept.permissions[call["permissionId"]]


def _sorted(files: list[dict[str, Any]], order: str | None) -> list[dict[str, Any]]:
    for key in reversed((order or "").split(",")):
        name, _, way = key.strip().partition(" ")
        name = {"recency": "modifiedTime", "name_natural": "name"}.get(name, name)
        if name == "folder":
            files = sorted(files, key=lambda file: file["mimeType"] != FOLDER)
        elif name == "quotaBytesUsed":
            files = sorted(files, key=lambda file: int(file.get("size", 0)), reverse=way == "desc")
        elif name:
            files = sorted(files, key=lambda file: str(file.get(name, "")).lower(), reverse=way == "desc")
    return files


SERVICE = Drive
