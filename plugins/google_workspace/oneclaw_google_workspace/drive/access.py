"""The people to get, keep or lose access, by the arguments of ``drive_share_file``; without I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.drive.queries import moment
from oneclaw_google_workspace.drive.rows import who
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import passage

if TYPE_CHECKING:
    from collections.abc import Mapping

PEOPLE = ("user", "group")
_SHARED_DRIVE_ROLES = ("fileOrganizer", "organizer")
_ADDRESS = re.compile(r"[^\s@<>,;\"]+@[^\s@<>,;\"]+\.[^\s@<>,;\"]+")
_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)+")
NEVER = "never"


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

    def grant_question(self, title: str) -> str:
        """Return the question before access is given."""
        role = self.role or "reader"
        if role == "owner":
            return f"make {self.whom} the OWNER of {title}, who can then take away your own access"
        words = [f"give {self.whom} access to {title} as {role}"]
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
