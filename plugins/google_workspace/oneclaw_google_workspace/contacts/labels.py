"""The labels of contacts, which the API calls contact groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_google_workspace.client import GoogleClient

MY_CONTACTS = "contactGroups/myContacts"
_PREFIX = "contactGroups/"


class Labels:
    """The labels of an account.

    Attributes:
        names: by resource name.
        counts: how many contacts have it, by resource name.
        own: resource names of those that the user made.
    """

    def __init__(
        self, names: dict[str, str], counts: dict[str, int], plain_names: dict[str, str], own: Iterable[str]
    ) -> None:
        self.names = names
        self.counts = counts
        self.own = frozenset(own)
        # What Google calls "friends", people see in their language; both are understood.
        self._plain_names = plain_names

    @classmethod
    async def of(cls, google: GoogleClient) -> Labels:
        """Ask Google for them.

        Raises:
            GoogleError: it did not work out.
        """
        groups, _ = await google.all_items(
            "people.contactGroups.list",
            "contactGroups",
            fields="contactGroups(resourceName,name,formattedName,groupType,memberCount)",
            limit=5_000,
            pageSize=1_000,
            groupFields="name,groupType,memberCount",
        )
        return cls(
            {each["resourceName"]: each.get("formattedName") or each.get("name", "") for each in groups},
            {each["resourceName"]: each.get("memberCount", 0) for each in groups},
            {each["resourceName"]: each.get("name", "") for each in groups},
            (each["resourceName"] for each in groups if each.get("groupType") == "USER_CONTACT_GROUP"),
        )

    def resource_names(self, wanted: Iterable[str]) -> list[str]:
        """Find labels by name or resource name.

        Raises:
            GoogleError: there is none of a name; the message lists those there are.
        """
        return list(dict.fromkeys(self._resource_name(each) for each in wanted))

    def find(self, wanted: str) -> str | None:
        """The resource name of a label by its name, in any case, or its resource name; ``None`` if there is none."""
        if wanted.startswith(_PREFIX) and wanted in self.names:
            return wanted
        for names in (self.names, self._plain_names):
            for resource_name, name in names.items():
                if name.casefold() == wanted.strip().casefold():
                    return resource_name
        return None

    def _resource_name(self, wanted: str) -> str:
        found = self.find(wanted)
        if found is not None:
            return found
        own = [name for resource_name, name in self.names.items() if resource_name != MY_CONTACTS]
        raise invalid(f"There is no label {wanted[:100]!r}. There are: {', '.join(own[:50]) or 'none'}.")
