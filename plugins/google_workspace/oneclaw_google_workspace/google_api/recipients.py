"""Whom a call concerns: who gets a mail, an invitation, access or forwarded mail; pure, without any I/O."""

from __future__ import annotations

import base64
import binascii
import re
from email import policy
from email.parser import BytesParser
from email.utils import getaddresses
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import excerpt, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from email.message import EmailMessage

# Fields that name somebody who gets something.
_FIELDS = frozenset(
    [
        "address",
        "delegateEmail",
        "domain",
        "email",
        "emailAddress",
        "forward",
        "forwardingEmail",
        "replyToAddress",
        "topicName",
    ]
)
_LISTS = frozenset(["reviewerEmails", "addReviewers"])
_FIELDS_OF_PARAMETERS = ("newDataOwner", "sendAsEmail")
_HEADERS = ("To", "Cc", "Bcc")
ANYONE = "anyone"


def recipients_of(method_id: str, parameters: Mapping[str, Any], body: Mapping[str, Any]) -> list[str]:
    """List whom a call concerns, each once, in lower case.

    Args:
        method_id: what is called.
        parameters: of path and query.
        body: of the request; a mail in it is not read, see :func:`mail_in`.
    """
    found = [str(parameters[name]) for name in _FIELDS_OF_PARAMETERS if parameters.get(name)]
    found += _named(body)
    if method_id.startswith("calendar.acl."):
        scope = body.get("scope") or {}
        found += [str(scope["value"])] if scope.get("value") else [ANYONE] if scope.get("type") == "default" else []
        if not scope and parameters.get("ruleId"):
            found.append(str(parameters["ruleId"]).rpartition(":")[2])
    if body.get("role") == "owner" and method_id.startswith("drive.permissions."):
        found = [f"{name} as owner" for name in found or [str(parameters.get("permissionId", ""))]]
    if method_id.startswith("chat.") and not found:
        found += [str(parameters[name]) for name in ("parent", "name") if parameters.get(name)]
        found += [
            str(each["name"]) for each in (body.get("member"), body.get("groupMember")) if each and "name" in each
        ]
    return unique(found)


def unique(names: Iterable[str]) -> list[str]:
    """Write names in lower case, each once."""
    return list(dict.fromkeys(name.strip().lower() for name in names if name.strip()))


def mail_in(raw: object) -> EmailMessage:
    """Read a mail as Gmail is sent it.

    Args:
        raw: in base64url.

    Raises:
        GoogleError: it is none.
    """
    try:
        text = str(raw).replace("-", "+").replace("_", "/")
        content = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("raw must be a whole mail (RFC 2822) in base64url.") from None
    return parsed_mail(content)


def parsed_mail(content: bytes) -> EmailMessage:
    """Read a mail whose recipients are beyond doubt.

    Raises:
        GoogleError: Google may read others from it.
    """
    head = content.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    mail = BytesParser(policy=policy.SMTP).parsebytes(content)
    names = [name for name in mail.keys() if name.strip().title() in _HEADERS]  # noqa: SIM118  # no dict
    pairs = getaddresses([value for each in headers_of(mail).values() for value in each])
    if (
        mail.defects  # what is no header to us may be one to Google
        or b"\r" in head
        or b"\0" in head
        or len(names) != len({name.strip().title() for name in names})
        or any(name != name.strip() for name in names)
        or any("@" not in address for _, address in pairs)
        or len(pairs) < sum(value.count("@") for value in _bare(mail))
    ):
        raise invalid("The recipients of the mail are not plain: write To, Cc and Bcc once each, as addresses only.")
    return mail


def _bare(mail: EmailMessage) -> Iterator[str]:
    """Give the headers with recipients without the names of people, which may have an ``@`` too."""
    for values in headers_of(mail).values():
        yield from (re.sub(r'"[^"]*"', "", value) for value in values)


def mail_recipients(headers: Mapping[str, Iterable[str]]) -> list[str]:
    """List the addresses in the headers ``To``, ``Cc`` and ``Bcc``, by name."""
    pairs = getaddresses([value for name in _HEADERS for value in headers.get(name, ())])
    return unique(address for _, address in pairs)


def headers_of(mail: EmailMessage) -> dict[str, list[str]]:
    """Return the headers of a mail that say whom it goes to."""
    return {name: [str(each) for each in mail.get_all(name, [])] for name in _HEADERS}


def mail_said(mail: EmailMessage) -> str:
    """Show in a question whom a mail goes to, what it is about, and how it begins."""
    named = ", ".join(
        f"{name.lower()} {excerpt(', '.join(each), 600)}" for name, each in headers_of(mail).items() if each
    )
    try:
        part = mail.get_body(("plain", "html"))
        text = str(part.get_content()) if part is not None else ""
    except (LookupError, ValueError, AttributeError):  # of a charset that there is not, or no text at all
        text = ""
    files = [each.get_filename() or each.get_content_type() for each in mail.iter_attachments()]
    attached = f", with {', '.join(map(quoted, files))}" if files else ""
    return (
        f"a mail {named or 'to no one'}: {quoted(str(mail.get('Subject', '')), 200)}{attached}, saying {passage(text)}"
    )


def _named(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == ANYONE:
            yield ANYONE
        for key, each in value.items():
            yield from _named(each, key)
    elif isinstance(value, list):
        for each in value:
            if name in _LISTS and isinstance(each, str):
                yield each
            else:
                yield from _named(each, name)
    elif name in _FIELDS and isinstance(value, str) and value:
        yield value
