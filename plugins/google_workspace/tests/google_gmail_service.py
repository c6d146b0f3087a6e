"""The stand-in's Gmail."""

from __future__ import annotations

import re
import time
from base64 import urlsafe_b64decode
from dataclasses import dataclass, field
from email import message_from_bytes
from email.utils import formatdate, make_msgid
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from google_gmail_mime import (
    base64url,
    file_names,
    header_of,
    payload,
    plain_header,
    recipients_of,
    text_of,
    written_mail,
)
from google_gmail_search import Searched, looks_everywhere, search
from google_gmail_settings import GmailSettings
from google_service import Call, bad_request, handles, not_found

if TYPE_CHECKING:
    from email.message import Message

MAX_BYTES = 36_700_160
_PREFIX = re.compile(r"\A(?:(?:re|fwd?|aw|sv)\s*:\s*)+", re.IGNORECASE)
_INCOMING = ("INBOX", "UNREAD")


@dataclass
class Mail:
    """A message in the mailbox; ``when`` in milliseconds since 1970."""

    id: str
    thread_id: str
    raw: bytes
    labels: list[str]
    when: int
    history_id: int

    @cached_property
    def parsed(self) -> Message:
        return message_from_bytes(self.raw)


@dataclass
class Sent:
    """What has gone out: to whom, and the mail as it was handed over."""

    recipients: list[str]
    raw: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Gmail(GmailSettings):
    """Messages, threads, drafts; attachment ids are new with each read.

    Attributes:
        mails: by id.
        drafts: ids of messages by ids of drafts.
        sent: what has gone out, in order.
        longest_inline: how many bytes of a text come along with its message.
    """

    def start(self) -> None:
        super().start()
        self.mails: dict[str, Mail] = {}
        self.drafts: dict[str, str] = {}
        self.sent: list[Sent] = []
        self.longest_inline = 100_000
        self._contents: dict[str, bytes] = {}
        self._history = 1_000

    # For tests

    def deliver(
        self,
        sender: str,
        subject: str,
        text: str | None = "",
        *,
        labels: tuple[str, ...] = _INCOMING,
        days_ago: float = 0,
        raw: bytes | None = None,
        **how: Any,
    ) -> str:
        """Have a mail come in; see :func:`google_gmail_mime.written_mail` for the rest. Filters are applied."""
        seconds = time.time() - days_ago * 86_400
        content = raw if raw is not None else written_mail(sender, subject, text, seconds=seconds, **how)
        parsed = message_from_bytes(content)
        mail = self._keep(content, list(labels), self._thread_by_references(parsed), seconds)
        for each in self.filters.values():
            if self._fits(mail, each["criteria"]):
                self._relabel(mail, each["action"].get("addLabelIds", []), each["action"].get("removeLabelIds", []))
        return mail.id

    def labels_of(self, message_id: str) -> set[str]:
        return set(self.mails[message_id].labels)

    def thread(self, thread_id: str) -> list[Mail]:
        return sorted((mail for mail in self.mails.values() if mail.thread_id == thread_id), key=lambda mail: mail.when)

    # Inside

    def forget_label(self, label_id: str) -> None:
        for mail in self.mails.values():
            mail.labels = [each for each in mail.labels if each != label_id]

    def _keep(self, raw: bytes, labels: list[str], thread_id: str | None, seconds: float | None = None) -> Mail:
        message_id = f"{next(self._numbers):016x}"
        self._history += 1
        when = round((time.time() if seconds is None else seconds) * 1000)
        mail = Mail(message_id, thread_id or message_id, raw, labels, when, self._history)
        self.mails[message_id] = mail
        return mail

    def _mail(self, message_id: str) -> Mail:
        if not re.fullmatch(r"[0-9a-f]{1,16}", message_id):
            raise bad_request("Invalid id value", "invalidArgument")
        if message_id not in self.mails:
            raise not_found("Requested entity was")
        return self.mails[message_id]

    def _thread(self, thread_id: str) -> list[Mail]:
        found = self.thread(thread_id)
        if not found:
            raise not_found("Requested entity was")
        return found

    def _thread_by_references(self, mail: Message) -> str | None:
        """The thread of the mails that a mail refers to, if its subject is theirs."""
        referred = f"{header_of(mail, 'References')} {header_of(mail, 'In-Reply-To')}".split()
        if not referred:
            return None
        subject = _bare(plain_header(mail, "Subject"))
        for each in self.mails.values():
            parsed = each.parsed
            own = header_of(parsed, "Message-ID")
            if own and own in referred and _bare(plain_header(parsed, "Subject")) == subject:
                return each.thread_id
        return None

    def _relabel(self, mail: Mail, add: list[str], remove: list[str]) -> None:
        mail.labels = [each for each in dict.fromkeys([*mail.labels, *add]) if each not in remove]
        self._history += 1
        mail.history_id = self._history

    def _store(self, content: bytes) -> str:
        attachment_id = self.new_id("ANGjdJ")
        self._contents[attachment_id] = content
        return attachment_id

    def _shown(self, mail: Mail, call: Call) -> dict[str, Any]:
        form = call.get("format", "full").lower()
        shown: dict[str, Any] = {
            "id": mail.id,
            "threadId": mail.thread_id,
            "labelIds": mail.labels,
            "snippet": escape(text_of(mail.parsed)[:200], quote=True).replace("&#x27;", "&#39;"),
            "historyId": str(mail.history_id),
            "internalDate": str(mail.when),
            "sizeEstimate": len(mail.raw),
        }
        if form == "raw":
            shown["raw"] = base64url(mail.raw)
        elif form in ("full", "metadata"):
            whole = payload(mail.raw, self._store, self.longest_inline)
            if form == "metadata":
                wanted = {name.lower() for name in call.get("metadataHeaders", [])}
                headers = [each for each in whole["headers"] if not wanted or each["name"].lower() in wanted]
                whole = {"mimeType": whole["mimeType"], "headers": headers}
            shown["payload"] = whole
        return shown

    def _searched(self, mail: Mail) -> Searched:
        parsed = mail.parsed
        names = ("From", "To", "Cc", "Bcc", "Subject", "Message-ID")
        own = (self.labels[each]["name"] for each in mail.labels if self.labels[each]["type"] == "user")
        return Searched(
            {name.lower(): plain_header(parsed, name).lower() for name in names},
            text_of(parsed).lower(),
            frozenset(mail.labels),
            frozenset(re.sub(r"[ /]", "-", name.lower()) for name in own),
            tuple(name.lower() for name in file_names(payload(mail.raw, lambda _: "", 0))),
            mail.when / 1000,
            len(mail.raw),
        )

    def _fits(self, mail: Mail, criteria: dict[str, Any]) -> bool:
        terms = [f'{name}:"{criteria[name]}"' for name in ("from", "to", "subject") if name in criteria]
        terms += ["has:attachment"] if criteria.get("hasAttachment") else []
        terms += [criteria["query"]] if "query" in criteria else []
        searched = self._searched(mail)
        negated = criteria.get("negatedQuery")
        return search(" ".join(terms), time.time())(searched) and not (
            negated and search(negated, time.time())(searched)
        )

    # Messages

    @handles("gmail.users.messages.list")
    def list_messages(self, call: Call) -> dict[str, Any]:
        query, label_ids = call.get("q", ""), set(call.get("labelIds", []))
        self.check_known(label_ids)
        everywhere = call.get("includeSpamTrash", False) or looks_everywhere(query)
        fits = search(query, time.time())
        found = [
            mail
            for mail in sorted(self.mails.values(), key=lambda mail: (mail.when, mail.id), reverse=True)
            if label_ids <= set(mail.labels)
            and (everywhere or not {"SPAM", "TRASH"} & set(mail.labels))
            and fits(self._searched(mail))
        ]
        items, following = self.page(call, found, default=100, most=500)
        rows = [{"id": mail.id, "threadId": mail.thread_id} for mail in items]
        return {**({"messages": rows} if rows else {}), "resultSizeEstimate": len(found), **following}

    def check_known(self, label_ids: set[str]) -> None:
        for each in label_ids:
            if each not in self.labels:
                raise bad_request(f"Invalid label: {each}", "invalidArgument")

    @handles("gmail.users.messages.get")
    def get_message(self, call: Call) -> dict[str, Any]:
        return self._shown(self._mail(call["id"]), call)

    @handles("gmail.users.messages.attachments.get")
    def get_attachment(self, call: Call) -> dict[str, Any]:
        self._mail(call["messageId"])
        if call["id"] not in self._contents:
            raise bad_request("Invalid attachment token", "invalidArgument")
        content = self._contents[call["id"]]
        return {"size": len(content), "data": base64url(content)}

    @handles("gmail.users.messages.batchModify")
    def batch_modify(self, call: Call) -> None:
        ids = call.body.get("ids", [])
        if not 1 <= len(ids) <= 1_000:
            raise bad_request("Between 1 and 1000 ids.", "invalidArgument")
        add, remove = call.body.get("addLabelIds", []), call.body.get("removeLabelIds", [])
        self.check_labels([*add, *remove])
        for each in ids:
            if each in self.mails:  # it says nothing about those that are not there
                self._relabel(self.mails[each], add, remove)

    @handles("gmail.users.messages.trash", "gmail.users.messages.untrash")
    def trash_message(self, call: Call) -> dict[str, Any]:
        mail = self._mail(call["id"])
        self._trash([mail], call)
        return {"id": mail.id, "threadId": mail.thread_id, "labelIds": mail.labels}

    def _trash(self, mails: list[Mail], call: Call) -> None:
        for mail in mails:
            if call.method.id.endswith(".trash"):
                self._relabel(mail, ["TRASH"], ["INBOX", "SPAM"])
            else:
                self._relabel(mail, [], ["TRASH"])

    # Threads

    @handles("gmail.users.threads.get")
    def get_thread(self, call: Call) -> dict[str, Any]:
        mails = self._thread(call["id"])
        return {
            "id": call["id"],
            "historyId": str(self._history),
            "messages": [self._shown(mail, call) for mail in mails],
        }

    @handles("gmail.users.threads.modify")
    def modify_thread(self, call: Call) -> dict[str, Any]:
        mails = self._thread(call["id"])
        add, remove = call.body.get("addLabelIds", []), call.body.get("removeLabelIds", [])
        self.check_labels([*add, *remove])
        for mail in mails:
            self._relabel(mail, add, remove)
        return {"id": call["id"]}

    @handles("gmail.users.threads.trash", "gmail.users.threads.untrash")
    def trash_thread(self, call: Call) -> dict[str, Any]:
        self._trash(self._thread(call["id"]), call)
        return {"id": call["id"]}

    # Sending

    def _handed_over(self, call: Call, message: dict[str, Any]) -> tuple[bytes, str | None]:
        """The mail that came, in JSON or as a file, and the thread that it is to be in."""
        if call.media is not None:
            if call.media_type != "message/rfc822":
                raise bad_request(f"Media type '{call.media_type}' is not supported.")
            raw = call.media.read_bytes()
        else:
            text = message.get("raw", "")
            raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if not raw:
            raise bad_request("'raw' RFC822 payload message string or uploading message via /upload/* URL required")
        if len(raw) > MAX_BYTES:
            raise bad_request("Message too large.", "uploadTooLarge")
        head = raw.partition(b"\r\n\r\n")[0]
        for line in head.split(b"\r\n"):
            if not re.match(rb"[!-9;-~]+:|[ \t]+\S", line) or len(line) > 998 or b"\n" in line or not line.isascii():
                raise bad_request(f"Invalid header line {line[:100]!r}", "invalidArgument")
        parsed = message_from_bytes(raw)
        wanted = message.get("threadId")
        if wanted is None:
            return raw, None
        self._thread(wanted)
        # In its thread it stays only if it refers to it, under the same subject.
        return raw, wanted if self._thread_by_references(parsed) == wanted else None

    def _complete(self, raw: bytes) -> bytes:
        """Add what Gmail adds."""
        parsed = message_from_bytes(raw)
        primary = self.send_as["ana@example.com"]
        added = {
            "From": f"{primary['displayName']} <{primary['sendAsEmail']}>",
            "Date": formatdate(),
            "Message-ID": make_msgid(domain="mail.gmail.com"),
        }
        lines = [f"{name}: {value}\r\n" for name, value in added.items() if name not in parsed]
        return "".join(lines).encode() + raw

    def _send(self, raw: bytes, thread_id: str | None) -> dict[str, Any]:
        parsed = message_from_bytes(raw)
        recipients = recipients_of(parsed)
        if not recipients:
            raise bad_request("Recipient address required", "invalidArgument")
        if any(not re.fullmatch(r"[^\s@]+@[^\s@]+", each) for each in recipients):
            raise bad_request("Invalid To header", "invalidArgument")
        self.sent.append(Sent(recipients, raw, {name: header_of(parsed, name) for name in parsed}))
        mail = self._keep(self._complete(raw), ["SENT"], thread_id)
        return {"id": mail.id, "threadId": mail.thread_id, "labelIds": mail.labels}

    @handles("gmail.users.messages.send")
    def send(self, call: Call) -> dict[str, Any]:
        return self._send(*self._handed_over(call, call.body))

    # Drafts

    def _draft(self, draft_id: str) -> Mail:
        if draft_id not in self.drafts:
            raise not_found("Requested entity was")
        return self.mails[self.drafts[draft_id]]

    def _draft_row(self, draft_id: str) -> dict[str, Any]:
        mail = self._draft(draft_id)
        return {"id": draft_id, "message": {"id": mail.id, "threadId": mail.thread_id, "labelIds": mail.labels}}

    @handles("gmail.users.drafts.create")
    def create_draft(self, call: Call) -> dict[str, Any]:
        raw, thread_id = self._handed_over(call, call.body.get("message", {}))
        draft_id = self.new_id("r-")
        self.drafts[draft_id] = self._keep(self._complete(raw), ["DRAFT"], thread_id).id
        return self._draft_row(draft_id)

    @handles("gmail.users.drafts.update")
    def update_draft(self, call: Call) -> dict[str, Any]:
        before = self._draft(call["id"])
        raw, thread_id = self._handed_over(call, call.body.get("message", {}))
        del self.mails[before.id]
        self.drafts[call["id"]] = self._keep(self._complete(raw), ["DRAFT"], thread_id).id
        return self._draft_row(call["id"])

    @handles("gmail.users.drafts.get")
    def get_draft(self, call: Call) -> dict[str, Any]:
        return {"id": call["id"], "message": self._shown(self._draft(call["id"]), call)}

    @handles("gmail.users.drafts.list")
    def list_drafts(self, call: Call) -> dict[str, Any]:
        items, following = self.page(call, list(self.drafts), default=100, most=500)
        rows = [{"id": each, "message": {"id": self.drafts[each]}} for each in items]
        return {**({"drafts": rows} if rows else {}), "resultSizeEstimate": len(self.drafts), **following}

    @handles("gmail.users.drafts.send")
    def send_draft(self, call: Call) -> dict[str, Any]:
        mail = self._draft(call.body.get("id", ""))
        answer = self._send(mail.raw, mail.thread_id)
        del self.drafts[call.body["id"]], self.mails[mail.id]
        return answer


def _bare(subject: str) -> str:
    return _PREFIX.sub("", subject.strip()).casefold()


SERVICE = Gmail
