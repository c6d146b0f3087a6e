"""The tool ``google_call``, and whom a call concerns: who gets a mail, an invitation, access or forwarded mail."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from dataclasses import dataclass, replace
from email import policy
from email.parser import BytesParser
from email.utils import getaddresses
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.answers import (
    beginning_within,
    excerpt,
    files_in,
    from_outside,
    google_tool,
    json_length,
    listing,
    passage,
    quoted,
    room_beside,
    size_text,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.drive.files import media_type_of, place_for, safe_name
from oneclaw_google_workspace.drive.transfers import new_id
from oneclaw_google_workspace.editors import FOLDER_TYPE
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.google_api.catalogue import READ, api_methods, harm_of, reader_of
from oneclaw_google_workspace.google_api.finding import check_body, checked_parameters, method_of
from oneclaw_google_workspace.methods import api_request
from oneclaw_google_workspace.scopes import EXTRA_SCOPES, SERVICES, Need

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from email.message import EmailMessage
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm
    from oneclaw_google_workspace.google_api.catalogue import ApiMethod
    from oneclaw_google_workspace.methods import ApiRequest

# Fields that name somebody who gets something.
_NAMING_FIELDS = frozenset(
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
_NAMING_LISTS = frozenset(["reviewerEmails", "addReviewers"])
_NAMING_PARAMETERS = ("newDataOwner", "sendAsEmail")
_HEADERS = ("To", "Cc", "Bcc")
ANYONE = "anyone"
MAX_ANSWER_CHARACTERS = 40_000
_SHOWN_BODY_CHARACTERS = 1_500
_MAX_MAIL_BYTES = 40 * 1024 * 1024
# Texts in an answer that is too long are cut to the first of these that makes it fit.
_CUTS = (4_000, 1_000, 200)
# What is made under an id of the caller's: how to get it, by its id and other parameters.
_MADE = {
    "calendar.events.insert": ("calendar.events.get", "eventId"),
    "drive.files.create": ("drive.files.get", "fileId"),
}
_GOOGLE_TYPES = "application/vnd.google-apps."
_REQUEST_ID = "requestId"
_TO_OTHERS = ("send", "share", "forward")
_MAIL_SEND = "gmail.users.messages.send"
_DRAFT_SEND = "gmail.users.drafts.send"
_MAIL_TYPE = "message/rfc822"
_TITLES = ("summary", "name", "title", "displayName", "subject", "snippet", "emojiName")


def recipients_of(method_id: str, parameters: Mapping[str, Any], body: Mapping[str, Any]) -> list[str]:
    """List whom a call concerns, each once, in lower case.

    Args:
        method_id: what is called.
        parameters: of path and query.
        body: of the request; a mail in it is not read, see :func:`mail_in`.
    """
    found = [str(parameters[name]) for name in _NAMING_PARAMETERS if parameters.get(name)]
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
        mail.defects  # what is not a header to us may be one to Google
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
            if name in _NAMING_LISTS and isinstance(each, str):
                yield each
            else:
                yield from _named(each, name)
    elif name in _NAMING_FIELDS and isinstance(value, str) and value:
        yield value


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that was checked.

    Attributes:
        method: what is called.
        parameters: of path and query.
        body: of the request; ``None`` for none.
        harm: ``read``, or the harm that it can do.
        file: to be sent along.
        own_id: of what it makes, chosen by us, so that what is sent twice is done once; ``None`` for none.
    """

    method: ApiMethod
    parameters: dict[str, Any]
    body: dict[str, Any] | None
    harm: str
    file: Path | None
    own_id: str | None = None


@google_tool
async def google_call(
    method: str,
    parameters: dict[str, Any] | None = None,
    body: dict[str, Any] | None = None,
    upload_file: str | None = None,
    save_to: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Call a method."""
    found = method_of(method)
    checked = checked_parameters(found, parameters or {})
    check_body(found, body or {})
    _check_files(found, upload_file, save_to)
    file = await context.readable(upload_file) if upload_file else None
    if file is not None and not file.is_file():
        raise invalid(f"There is no file {upload_file}.")
    content = (body or {}) if found.request and found.verb != "GET" else None
    call = _Call(found, checked, content, harm_of(found.id, body or {}, checked), file)
    google = connect(context, _need(found, call.harm))
    if call.harm != READ:
        harm: Harm = call.harm  # type: ignore[assignment]  # a harm but reading
        detail, whom = await _question(google, call)
        await google.ask(detail, harm, _subject(call, whom), files_in({**(call.body or {}), **checked}))
        call = await _with_own_id(google, call)
    return from_outside(await _answer(google, call, save_to), "data")


def _check_files(method: ApiMethod, upload_file: str | None, save_to: str | None) -> None:
    if upload_file and not method.takes_file:
        raise invalid(f"{method.id} takes no file: leave upload_file out.")
    if not save_to and method.gives_file and (method.response is None or method.id.endswith(".media.download")):
        raise invalid(f"{method.id} answers with a file. Give save_to, such as a name in the workspace.")


def _need(method: ApiMethod, harm: str) -> Need:
    """Choose the scope that a call asks for: the least that the user can give.

    Raises:
        GoogleError: users cannot give any of those that Google wants.
    """
    service = SERVICES[method.service]
    offered = [*(service.read if harm == READ else ()), *service.full, *EXTRA_SCOPES, *service.more]
    scope = next((each for each in offered if each in method.scopes), None)
    if scope is None:
        raise GoogleError(
            "not_available",
            f"{method.id} is for Chat apps and administrators: Google wants one of {', '.join(method.scopes)}, which "
            "OneClaw cannot ask a user for.",
        )
    return Need(method.id, method.service, (scope,), reads_only=harm == READ)


# Questions


async def _question(google: GoogleClient, call: _Call) -> tuple[str, list[str]]:
    """Say what is about to be done, and whom it concerns."""
    google.require_write_access()
    method, whom = call.method, recipients_of(call.method.id, call.parameters, call.body or {})
    words = [f"call {method.id} ({quoted(method.sentence, 160)})"]
    mail = await _mail(call)
    if mail is not None:
        words.append(f"with {mail_said(mail)}")
        whom = [*mail_recipients(headers_of(mail)), *whom]
    elif method.id == _DRAFT_SEND:
        drafted, subject = await _draft(google, call)
        words.append(f"with the draft {quoted(subject, 200)} to {listing(drafted, 50)}")
        whom = [*drafted, *whom]
    if call.harm == "delete" and (title := await _title(google, call)):
        words.append(f"of {quoted(title)}")
    if whom and mail is None and method.id != _DRAFT_SEND:
        words.append(f"for {listing(whom, 50)}")
    given = {name: value for name, value in call.parameters.items() if name not in ("userId", "fields", _REQUEST_ID)}
    words += (
        [f"with {', '.join(f'{name} {quoted(str(value), 200)}' for name, value in given.items())}"] if given else []
    )
    if call.file is not None:
        words.append(f"with the file {quoted(str(call.file), 200)} of {size_text(call.file.stat().st_size)}")
    shown = json.dumps(_without_mail(call.body), ensure_ascii=False) if call.body else ""
    words += [f"and the body {passage(shown, _SHOWN_BODY_CHARACTERS)}"] if shown else []
    return ", ".join(words), whom


def _subject(call: _Call, whom: list[str]) -> str | None:
    """Name the people whom a call concerns, or else what it is about; ``None`` where it goes to no one."""
    if call.harm not in _TO_OTHERS:
        return None
    if whom:
        return ", ".join(sorted(whom))
    path = [name for name, each in call.method.parameters.items() if each.get("location") == "path"]
    return "/".join(str(call.parameters[name]) for name in path if name in call.parameters and name != "userId") or None


async def _mail(call: _Call) -> EmailMessage | None:
    """Read the mail that a call brings along; ``None`` if it brings none."""
    if call.method.api != "gmail" or call.body is None:
        return None
    raw = call.body.get("raw") or (call.body.get("message") or {}).get("raw")
    if raw and call.file is not None:
        raise invalid("Give the mail as raw or as upload_file, not both.")
    if (
        call.method.id == _DRAFT_SEND
        and call.body.get("id")
        and (raw or call.file is not None or "message" in call.body)
    ):
        raise invalid("Give the id of a draft alone. To send another mail, use gmail.users.messages.send.")
    if raw:
        return mail_in(raw)
    if call.file is None:
        if call.method.id == _MAIL_SEND:
            raise invalid("Give the mail as raw in the body, a whole mail in base64url, or as upload_file.")
        return None
    if call.file.stat().st_size > _MAX_MAIL_BYTES:
        raise invalid("upload_file must be a whole mail (RFC 2822) of 40 MB at most.")
    return parsed_mail(await asyncio.to_thread(call.file.read_bytes))


def _without_mail(body: dict[str, Any] | None) -> dict[str, Any]:
    """Leave out what the question shows in words."""
    kept = {name: value for name, value in (body or {}).items() if name != "raw"}
    if isinstance(kept.get("message"), dict):
        kept["message"] = {name: value for name, value in kept["message"].items() if name != "raw"}
    return kept


async def _draft(google: GoogleClient, call: _Call) -> tuple[list[str], str]:
    """Find out whom a draft goes to, and its subject."""
    draft_id = (call.body or {}).get("id")
    if not draft_id:
        raise invalid(f"{_DRAFT_SEND} needs a body with the id of a draft.")
    draft = await google.call("gmail.users.drafts.get", id=draft_id, format="full", fields="message/payload/headers")
    headers: dict[str, list[str]] = {}
    for each in draft.get("message", {}).get("payload", {}).get("headers", []):
        headers.setdefault(str(each.get("name", "")).title(), []).append(str(each.get("value", "")))
    return mail_recipients(headers), " ".join(headers.get("Subject", [""]))


async def _title(google: GoogleClient, call: _Call) -> str:
    """Find out what is called what is about to be deleted; empty if Google does not say."""
    reader = api_methods().get(f"{call.method.id.rpartition('.')[0]}.get")
    if reader is None:
        return ""
    wanted = {name for name, each in reader.parameters.items() if each.get("required")}
    if not wanted <= call.parameters.keys():
        return ""
    parameters = {name: call.parameters[name] for name in {*wanted, "userId"} & call.parameters.keys()}
    try:
        thing = await google.send(api_request(reader.as_called(is_reading=True), **parameters))
    except GoogleError:
        return ""
    return next((str(thing[name]) for name in _TITLES if thing.get(name)), "")


# Calls and their answers


async def _with_own_id(google: GoogleClient, call: _Call) -> _Call:
    """Add an id of our own where the API takes one; what the call brings along stays."""
    body = call.body or {}
    if _REQUEST_ID in call.method.parameters:
        own_id = str(call.parameters.get(_REQUEST_ID) or uuid4())
        return replace(call, parameters={**call.parameters, _REQUEST_ID: own_id}, own_id=own_id)
    if call.method.id not in _MADE and call.method.id != "chat.spaces.setup":
        return call
    key = "id" if call.method.id in _MADE else _REQUEST_ID
    own_id = str(body.get(key) or "")
    if not own_id and call.method.api == "drive":
        kind = str(body.get("mimeType", ""))
        if call.file is not None or (kind.startswith(_GOOGLE_TYPES) and kind != FOLDER_TYPE):
            return call  # Google takes no id of ours for its own documents; an upload is done once anyway
        own_id = await new_id(google)
    own_id = own_id or uuid4().hex
    return replace(call, body={**body, key: own_id}, own_id=own_id)


async def _answer(google: GoogleClient, call: _Call, save_to: str | None) -> dict[str, Any]:
    method = call.method
    is_file = bool(save_to) and method.gives_file
    request = _request(call, {"alt": "media"} if is_file and method.id != "drive.files.export" else {})
    target = (
        await place_for(google.context, save_to, safe_name(method.id, "" if is_file else "json")) if save_to else None
    )
    if target is not None and is_file:
        saved = await google.download(request, target)
        return {"method": method.id, "saved_path": str(saved.path), "size": saved.size, "mime_type": saved.media_type}
    if call.file is not None:
        media_type = _MAIL_TYPE if method.api == "gmail" else media_type_of(call.file.name)
        answer = await google.upload(request, call.file, media_type)
    else:
        answer = await _sent(google, call, request)
    if target is not None:
        content = json.dumps(answer, indent=2, ensure_ascii=False).encode(errors="replace")
        await asyncio.to_thread(target.write_bytes, content)
        return {"method": method.id, "saved_path": str(target), "size": len(content)}
    return _fitted({"method": method.id, **_paging(answer)}, answer, google.context)


def _request(call: _Call, more: dict[str, Any]) -> ApiRequest:
    method = call.method
    reader = None if call.harm == READ else reader_of(method)
    return api_request(
        method.as_called(is_reading=call.harm == READ),
        body=call.body,
        is_repeatable=True if call.own_id else None,
        unclear_hint=f"Look whether it was done with google_call and {reader}" if reader else "",
        **{**call.parameters, **more},
    )


async def _sent(google: GoogleClient, call: _Call, request: ApiRequest) -> dict[str, Any]:
    try:
        return await google.send(request)
    except GoogleError as error:
        if call.method.id not in _MADE or error.status != 409 or not error.was_unclear:
            raise
        # A try before has made it.
        reader, name = _MADE[call.method.id]
        others = {each: call.parameters[each] for each in ("calendarId",) if each in call.parameters}
        return await google.call(reader, **{**others, name: call.own_id})


def _paging(answer: dict[str, Any]) -> dict[str, Any]:
    token = answer.get("nextPageToken")
    return {"next": f"For the next page, set pageToken to {token}; all else as before."} if token else {}


def _fitted(rest: dict[str, Any], answer: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Put an answer beside the rest, cut where it is too long to be shown."""
    room = min(room_beside(from_outside(rest, "data"), context) or MAX_ANSWER_CHARACTERS, MAX_ANSWER_CHARACTERS)
    if json_length(answer) <= room:
        return {**rest, "answer": answer}
    hint = "Ask for less with the parameter fields, such as items(id,name),nextPageToken, or give save_to."
    for longest in _CUTS:
        cut = _cut(answer, longest)
        if json_length(cut) <= room:
            return {**rest, "answer": cut, "truncated": True, "note": f"Long texts are cut. {hint}"}
    text = json.dumps(answer, ensure_ascii=False)
    note = f"Only the beginning of {len(text):,} characters. {hint}"
    return {**rest, "beginning": beginning_within(text, room - len(note)), "truncated": True, "note": note}


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… ({len(value) - longest:,} more characters)"
    if isinstance(value, list):
        return [_cut(each, longest) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each, longest) for name, each in value.items()}
    return value
