"""The settings of the stand-in's Gmail: labels, filters, aliases, vacation responder, forwarding."""

from __future__ import annotations

import re
from typing import Any

from google_discovery import document_of
from google_service import ApiError, Call, Service, bad_request, handles, not_found

SYSTEM_LABELS = (
    *("INBOX", "SPAM", "TRASH", "UNREAD", "STARRED", "IMPORTANT", "SENT", "DRAFT", "CHAT"),
    *(f"CATEGORY_{name}" for name in ("PERSONAL", "SOCIAL", "PROMOTIONS", "UPDATES", "FORUMS")),
)


def palette() -> set[str]:
    """The colours of labels, from Google's own description."""
    text = document_of("gmail")["schemas"]["LabelColor"]["properties"]["backgroundColor"]["description"]
    return set(re.findall(r"#[0-9a-f]{6}", text.partition("allowed:")[2]))


class GmailSettings(Service):
    """What a mailbox is set to."""

    def start(self) -> None:
        self.labels: dict[str, dict[str, Any]] = {
            name: {"id": name, "name": name, "type": "system"} for name in SYSTEM_LABELS
        }
        self.filters: dict[str, dict[str, Any]] = {}
        self.send_as: dict[str, dict[str, Any]] = {
            "ana@example.com": {
                "sendAsEmail": "ana@example.com",
                "displayName": "Ana Alm",
                "signature": "",
                "isPrimary": True,
                "isDefault": True,
            }
        }
        self.vacation: dict[str, Any] = {"enableAutoReply": False, "restrictToContacts": False}
        self.auto_forwarding: dict[str, Any] = {"enabled": False}
        self.forwarding_addresses: dict[str, str] = {}

    def add_label(self, name: str, **values: Any) -> str:
        label_id = f"Label_{next(self._numbers)}"
        self.labels[label_id] = {"id": label_id, "name": name, "type": "user", **values}
        return label_id

    def add_alias(self, email: str, name: str = "", status: str = "accepted") -> None:
        self.send_as[email] = {"sendAsEmail": email, "displayName": name, "signature": "", "verificationStatus": status}

    def add_filter(self, criteria: dict[str, Any], action: dict[str, Any]) -> str:
        filter_id = self.new_id("ANe1Bm")
        self.filters[filter_id] = {"id": filter_id, "criteria": criteria, "action": action}
        return filter_id

    def forget_label(self, label_id: str) -> None:
        """Take a label that is deleted off all mail."""

    def check_labels(self, label_ids: list[str]) -> None:
        for each in label_ids:
            if each not in self.labels:
                raise bad_request(f"Invalid label: {each}", "invalidArgument")
            if each in ("SENT", "DRAFT", "CHAT"):
                raise bad_request(f"Invalid label: {each}", "invalidArgument")

    def _own(self, call: Call) -> dict[str, Any]:
        label = self.labels.get(call["id"])
        if label is None:
            raise not_found("Requested entity was")
        if label["type"] != "user":
            raise bad_request("Invalid update to system label.", "invalidArgument")
        return label

    def _check(self, label_id: str | None, body: dict[str, Any]) -> None:
        name = body.get("name")
        if name is not None:
            if name.upper() in SYSTEM_LABELS:
                raise bad_request("Invalid label name", "invalidArgument")
            if any(each["name"].lower() == name.lower() and each["id"] != label_id for each in self.labels.values()):
                raise ApiError(409, "aborted", "Label name exists or conflicts")
        color = body.get("color")
        if color is not None and (len(color) != 2 or not set(color.values()) <= palette()):
            raise bad_request("Label color is not on the allowed color palette", "invalidArgument")

    @handles("gmail.users.labels.list")
    def list_labels(self, call: Call) -> dict[str, Any]:
        return {"labels": list(self.labels.values())}

    @handles("gmail.users.labels.create")
    def create_label(self, call: Call) -> dict[str, Any]:
        self._check(None, call.body)
        return self.labels[self.add_label(**call.body)]

    @handles("gmail.users.labels.patch")
    def patch_label(self, call: Call) -> dict[str, Any]:
        label = self._own(call)
        self._check(label["id"], call.body)
        label.update(call.body)
        return label

    @handles("gmail.users.labels.delete")
    def delete_label(self, call: Call) -> None:
        label = self._own(call)
        del self.labels[label["id"]]
        self.forget_label(label["id"])

    @handles("gmail.users.settings.filters.list")
    def list_filters(self, call: Call) -> dict[str, Any]:
        return {"filter": list(self.filters.values())} if self.filters else {}

    @handles("gmail.users.settings.filters.create")
    def create_filter(self, call: Call) -> dict[str, Any]:
        criteria, action = call.body.get("criteria", {}), call.body.get("action", {})
        if not criteria or not action:
            raise bad_request("Filter must have criteria and an action.", "invalidArgument")
        self.check_labels([*action.get("addLabelIds", []), *action.get("removeLabelIds", [])])
        if "SPAM" in action.get("addLabelIds", []):
            raise bad_request("Invalid label: SPAM", "invalidArgument")
        if "forward" in action and self.forwarding_addresses.get(action["forward"]) != "accepted":
            raise bad_request("Unrecognized forwarding address", "failedPrecondition")
        if any((each["criteria"], each["action"]) == (criteria, action) for each in self.filters.values()):
            raise bad_request("Filter already exists", "failedPrecondition")
        return self.filters[self.add_filter(criteria, action)]

    @handles("gmail.users.settings.filters.delete")
    def delete_filter(self, call: Call) -> None:
        if self.filters.pop(call["id"], None) is None:
            raise not_found("Requested entity was")

    @handles("gmail.users.settings.sendAs.list")
    def list_send_as(self, call: Call) -> dict[str, Any]:
        return {"sendAs": list(self.send_as.values())}

    @handles("gmail.users.settings.sendAs.patch")
    def patch_send_as(self, call: Call) -> dict[str, Any]:
        if call["sendAsEmail"] not in self.send_as:
            raise not_found("Send-as")
        alias = self.send_as[call["sendAsEmail"]]
        alias.update(call.body)
        alias["signature"] = re.sub(r"(?is)<script.*?</script>", "", alias["signature"])
        return alias

    @handles("gmail.users.settings.getVacation")
    def get_vacation(self, call: Call) -> dict[str, Any]:
        return self.vacation

    @handles("gmail.users.settings.updateVacation")
    def update_vacation(self, call: Call) -> dict[str, Any]:
        body = call.body
        start, end = int(body.get("startTime", 0)), int(body.get("endTime", 0))
        if start and end and start >= end:
            raise bad_request("startTime must precede endTime", "invalidArgument")
        texts = ("responseSubject", "responseBodyPlainText", "responseBodyHtml")
        if body.get("enableAutoReply") and not any(body.get(name) for name in texts):
            raise bad_request("Either the response subject or the response body must be nonempty", "invalidArgument")
        self.vacation = dict(body)
        return self.vacation

    @handles("gmail.users.settings.getAutoForwarding")
    def get_auto_forwarding(self, call: Call) -> dict[str, Any]:
        return self.auto_forwarding

    @handles("gmail.users.settings.updateAutoForwarding")
    def update_auto_forwarding(self, call: Call) -> dict[str, Any]:
        if call.body.get("enabled") and self.forwarding_addresses.get(call.body.get("emailAddress")) != "accepted":
            raise bad_request("Unrecognized forwarding address", "failedPrecondition")
        self.auto_forwarding = dict(call.body)
        return self.auto_forwarding

    @handles("gmail.users.settings.forwardingAddresses.list")
    def list_forwarding_addresses(self, call: Call) -> dict[str, Any]:
        rows = [
            {"forwardingEmail": email, "verificationStatus": status}
            for email, status in self.forwarding_addresses.items()
        ]
        return {"forwardingAddresses": rows} if rows else {}
