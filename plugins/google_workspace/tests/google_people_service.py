"""The stand-in's Google Contacts."""

from __future__ import annotations

from typing import Any

from google_service import ApiError, Call, Service, bad_request, handles, not_found

MY_CONTACTS = "contactGroups/myContacts"
SINGLE = ("names", "biographies", "birthdays", "nicknames")


class People(Service):
    """Contacts, labels, other contacts and the directory of a company."""

    def start(self) -> None:
        self.contacts: dict[str, dict[str, Any]] = {}
        self.others: list[dict[str, Any]] = []
        self.directory: list[dict[str, Any]] = []
        self.groups = {MY_CONTACTS: "myContacts", "contactGroups/friends": "friends"}
        self.searchable: list[dict[str, Any]] = []  # what the search knows, until an empty query comes

    def add(self, name: str, *, groups: tuple[str, ...] = (), **fields: Any) -> str:
        """Have a contact that the user made in Google's own app."""
        given, _, family = name.partition(" ")
        names = [{"givenName": given, "familyName": family}] if family else [{"givenName": given}]
        person = self._save(f"people/{self.new_id('c')}", {"names": names, **fields})
        for group in (MY_CONTACTS, *groups):
            self._member(person, group)
        return person["resourceName"]

    def add_group(self, name: str) -> str:
        resource_name = f"contactGroups/{self.new_id('g')}"
        self.groups[resource_name] = name
        return resource_name

    def touch(self, resource_name: str) -> None:
        """Somebody else changes a contact."""
        self._save(resource_name, self.contacts[resource_name])

    def members(self, group: str) -> list[str]:
        return [name for name, person in self.contacts.items() if group in _groups(person)]

    def _save(self, resource_name: str, fields: dict[str, Any]) -> dict[str, Any]:
        etag = self.new_id("etag")
        person = {
            **fields,
            "resourceName": resource_name,
            "etag": f"%{etag}",
            "metadata": {"sources": [{"type": "CONTACT", "id": resource_name[7:], "etag": f"#{etag}"}]},
        }
        for each in person.get("names", []):
            each["displayName"] = " ".join(filter(None, (each.get("givenName"), each.get("familyName"))))
        for each in person.get("addresses", []):
            keys = ("streetAddress", "postalCode", "city", "region", "country")
            each["formattedValue"] = "\n".join(each[key] for key in keys if key in each)
        self.contacts[resource_name] = person
        return person

    @staticmethod
    def _member(person: dict[str, Any], group: str) -> None:
        membership = {"contactGroupMembership": {"contactGroupResourceName": group}}
        person.setdefault("memberships", []).append(membership)

    @staticmethod
    def _shown(person: dict[str, Any], fields: str) -> dict[str, Any]:
        wanted = set(fields.split(","))
        return {key: value for key, value in person.items() if key in {*wanted, "resourceName", "etag"}}

    def _find(self, name: str) -> dict[str, Any]:
        if name not in self.contacts:
            raise not_found("Requested entity was")
        return self.contacts[name]

    @handles("people.people.connections.list")
    def list_contacts(self, call: Call) -> dict[str, Any]:
        if not call.get("personFields"):
            raise bad_request("personFields mask is required.")
        people = list(self.contacts.values())
        if call.get("sortOrder") == "LAST_MODIFIED_DESCENDING":
            people.reverse()
        else:
            key = "familyName" if call.get("sortOrder") == "LAST_NAME_ASCENDING" else "givenName"
            people.sort(key=lambda person: person["names"][0].get(key, ""))
        items, following = self.page(call, people, size="pageSize", default=100, most=1000)
        shown = [self._shown(person, call["personFields"]) for person in items]
        return {"connections": shown, "totalItems": len(people), **following}

    @handles("people.people.get")
    def get(self, call: Call) -> dict[str, Any]:
        return self._shown(self._find(call["resourceName"]), call["personFields"])

    @handles("people.people.getBatchGet")
    def batch_get(self, call: Call) -> dict[str, Any]:
        if len(call["resourceNames"]) > 200:
            raise bad_request("At most 200 resource names.")
        responses = []
        for name in call["resourceNames"]:
            response: dict[str, Any] = {"requestedResourceName": name}
            if name in self.contacts:
                response |= {"httpStatusCode": 200, "person": self._shown(self.contacts[name], call["personFields"])}
            else:
                response |= {"httpStatusCode": 404, "status": {"code": 5, "message": "Person was not found."}}
            responses.append(response)
        return {"responses": responses}

    @handles("people.people.searchContacts", "people.otherContacts.search")
    def search(self, call: Call) -> dict[str, Any]:
        is_other = call.method.id == "people.otherContacts.search"
        if is_other and not set(call["readMask"].split(",")) <= {"names", "emailAddresses", "phoneNumbers", "metadata"}:
            raise bad_request("Invalid readMask.")
        if not call["query"]:
            self.searchable = [*self.others] if is_other else [*self.contacts.values()]
            return {}
        found = [person for person in self.searchable if _matches(person, call["query"])]
        results = [{"person": self._shown(person, call["readMask"])} for person in found[: call.get("pageSize") or 10]]
        return {"results": results} if results else {}

    @handles("people.people.searchDirectoryPeople")
    def search_directory(self, call: Call) -> dict[str, Any]:
        found = [person for person in self.directory if _matches(person, call["query"])]
        items, following = self.page(call, found, size="pageSize", default=100, most=500)
        return {"people": [self._shown(person, call["readMask"]) for person in items], **following}

    @handles("people.people.createContact")
    def create(self, call: Call) -> dict[str, Any]:
        _check_single(call.body)
        person = self._save(f"people/{self.new_id('c')}", call.body)
        if not person.get("memberships"):
            self._member(person, MY_CONTACTS)
        return self._shown(person, call["personFields"])

    @handles("people.people.updateContact")
    def update(self, call: Call) -> dict[str, Any]:
        person = self._find(call["resourceName"])
        sources = [each for each in call.body.get("metadata", {}).get("sources", []) if each.get("type") == "CONTACT"]
        if not sources:
            raise bad_request("person.metadata.sources is required.")
        if (call.body.get("etag"), sources[0].get("etag")) != (
            person["etag"],
            person["metadata"]["sources"][0]["etag"],
        ):
            raise ApiError(400, "failedPrecondition", "Request person.etag is different than the current person.etag.")
        fields = call["updatePersonFields"].split(",")
        if "memberships" in fields:
            raise bad_request("Use contactGroups.members.modify.")
        _check_single(call.body)
        changed = {key: value for key, value in person.items() if key not in fields}
        changed |= {field: call.body[field] for field in fields if call.body.get(field)}
        return self._shown(self._save(call["resourceName"], changed), call["personFields"])

    @handles("people.people.deleteContact")
    def delete(self, call: Call) -> dict[str, Any]:
        self._find(call["resourceName"])
        del self.contacts[call["resourceName"]]
        return {}

    @handles("people.people.batchDeleteContacts")
    def batch_delete(self, call: Call) -> dict[str, Any]:
        names = call.body["resourceNames"]
        if len(names) > 500:
            raise bad_request("At most 500 contacts.")
        for name in names:
            self._find(name)
        for name in names:
            del self.contacts[name]
        return {}

    @handles("people.contactGroups.list")
    def list_groups(self, call: Call) -> dict[str, Any]:
        groups = [self._group(name) for name in self.groups]
        items, following = self.page(call, groups, size="pageSize", default=30, most=1000)
        return {"contactGroups": items, "totalItems": len(groups), **following}

    @handles("people.contactGroups.get")
    def get_group(self, call: Call) -> dict[str, Any]:
        if call["resourceName"] not in self.groups:
            raise not_found("Group")
        group = self._group(call["resourceName"])
        members = self.members(call["resourceName"])[: call.get("maxMembers", 0)]
        return {**group, "memberResourceNames": members} if members else group

    def _own_group(self, call: Call) -> str:
        name = call["resourceName"]
        if name not in self.groups:
            raise not_found("Group")
        if self._group(name)["groupType"] != "USER_CONTACT_GROUP":
            raise bad_request("System contact groups cannot be changed.")
        return name

    def _check_group(self, group: dict[str, Any]) -> str:
        name = group.get("name", "").strip()
        if not name:
            raise bad_request("contactGroup.name is required.")
        if name.casefold() in (each.casefold() for each in self.groups.values()):
            raise ApiError(409, "alreadyExists", "Contact group name already exists.")
        return name

    @handles("people.contactGroups.create")
    def create_group(self, call: Call) -> dict[str, Any]:
        name = self._check_group(call.body["contactGroup"])
        resource_name = f"contactGroups/{self.new_id('made')}"
        self.groups[resource_name] = name
        return self._group(resource_name)

    @handles("people.contactGroups.update")
    def update_group(self, call: Call) -> dict[str, Any]:
        resource_name = self._own_group(call)
        group = call.body["contactGroup"]
        if group.get("etag") != self._group(resource_name)["etag"]:
            raise ApiError(400, "failedPrecondition", "Request contactGroup.etag is different than the current one.")
        if call.body.get("updateGroupFields") != "name":
            raise bad_request("Only the name can be updated.")
        self.groups[resource_name] = self._check_group(group)
        return self._group(resource_name)

    @handles("people.contactGroups.delete")
    def delete_group(self, call: Call) -> dict[str, Any]:
        resource_name = self._own_group(call)
        for member in self.members(resource_name):
            person = self.contacts[member]
            person["memberships"] = [
                each
                for each in person["memberships"]
                if each["contactGroupMembership"]["contactGroupResourceName"] != resource_name
            ]
        if call.get("deleteContacts"):
            raise bad_request("No tool deletes contacts along with a label.")
        del self.groups[resource_name]
        return {}

    @handles("people.contactGroups.members.modify")
    def modify_members(self, call: Call) -> dict[str, Any]:
        group, missing, last = call["resourceName"], [], []
        for name in call.body.get("resourceNamesToAdd", []):
            if name not in self.contacts:
                missing.append(name)
            elif group not in _groups(self.contacts[name]):
                self._member(self.contacts[name], group)
        for name in call.body.get("resourceNamesToRemove", []):
            person = self.contacts.get(name)
            if person is None:
                missing.append(name)
            elif _groups(person) == [group]:
                last.append(name)
            else:
                person["memberships"] = [
                    each
                    for each in person["memberships"]
                    if each["contactGroupMembership"]["contactGroupResourceName"] != group
                ]
        lists = {"notFoundResourceNames": missing, "canNotRemoveLastContactGroupResourceNames": last}
        return {key: value for key, value in lists.items() if value}

    def _group(self, resource_name: str) -> dict[str, Any]:
        name = self.groups[resource_name]
        is_system = name in ("myContacts", "friends")
        return {
            "resourceName": resource_name,
            "etag": f"etag-{name}",
            "name": name,
            "formattedName": {"myContacts": "My Contacts", "friends": "Friends"}.get(name, name),
            "groupType": "SYSTEM_CONTACT_GROUP" if is_system else "USER_CONTACT_GROUP",
            "memberCount": len(self.members(resource_name)),
        }


def _groups(person: dict[str, Any]) -> list[str]:
    return [each["contactGroupMembership"]["contactGroupResourceName"] for each in person.get("memberships", [])]


def _matches(person: dict[str, Any], query: str) -> bool:
    texts = [each.get("displayName", "") for each in person.get("names", [])]
    texts += [each.get("name", "") for each in person.get("organizations", [])]
    texts += [each["value"] for key in ("emailAddresses", "phoneNumbers") for each in person.get(key, [])]
    return any(word.startswith(query.casefold()) for text in texts for word in text.casefold().split())


def _check_single(body: dict[str, Any]) -> None:
    for field in SINGLE:
        if len(body.get(field, [])) > 1:
            raise bad_request(f"{field} is a singleton.")


SERVICE = People
