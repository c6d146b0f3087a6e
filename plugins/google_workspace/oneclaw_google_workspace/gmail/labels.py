"""The labels of a mailbox: people and models name them, the API wants ids."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_google_workspace.client import GoogleClient

_CLOSE_NAMES = 5
_CATEGORY = "category_"


class MailLabels:
    """The labels of a mailbox.

    Attributes:
        names: by id, in Google's order; nested ones are ``Parent/Child``.
        own: the ids of those that the user made.
    """

    def __init__(self, names: Mapping[str, str], own: Iterable[str]) -> None:
        self.names = dict(names)
        self.own = frozenset(own)
        self._ids = {name.casefold(): label_id for label_id, name in names.items()}

    @classmethod
    async def of(cls, google: GoogleClient) -> MailLabels:
        """Ask Google for them.

        Raises:
            GoogleError: it did not work out.
        """
        answer = await google.call("gmail.users.labels.list", fields="labels(id,name,type)")
        labels = [each for each in answer.get("labels", []) if each.get("id")]
        return cls(
            {each["id"]: each.get("name") or each["id"] for each in labels},
            (each["id"] for each in labels if each.get("type") == "user"),
        )

    def name(self, label_id: str) -> str:
        """The name of a label; of one that is not known, its id."""
        return self.names.get(label_id, label_id)

    def find(self, wanted: str) -> str | None:
        """The id of a label by its name, in any case, or its id; ``None`` if there is none."""
        text = wanted.strip().strip("/")
        if text in self.names:
            return text
        folded = text.casefold()
        return self._ids.get(folded) or self._ids.get(_CATEGORY + folded)

    def ids(self, wanted: Iterable[str]) -> list[str]:
        """The ids of labels, each once.

        Raises:
            GoogleError: there is none of a name; the message has similar ones.
        """
        found, missing = self.sorted_out(wanted)
        if missing:
            raise self.unknown(missing[0])
        return found

    def sorted_out(self, wanted: Iterable[str]) -> tuple[list[str], list[str]]:
        """Part the labels that there are, as ids, from the names of which there are none."""
        found: dict[str, None] = {}
        missing: dict[str, str] = {}
        for each in wanted:
            label_id = self.find(each)
            if label_id is not None:
                found[label_id] = None
            elif not each.strip().strip("/"):
                raise invalid("The name of a label must not be empty.")
            else:
                missing.setdefault(each.strip().casefold(), each.strip())
        return list(found), list(missing.values())

    def unknown(self, wanted: str) -> GoogleError:
        """Make the error for a label that there is not."""
        folded = {self.names[label_id].casefold(): self.names[label_id] for label_id in self.own}
        leaves = {name.rpartition("/")[2]: full for name, full in folded.items()}
        close = get_close_matches(wanted.casefold()[:100], [*folded, *leaves], n=_CLOSE_NAMES, cutoff=0.5)
        similar = list(dict.fromkeys(folded.get(each) or leaves[each] for each in close))
        rest = f"Similar ones: {', '.join(similar)}." if similar else "gmail_settings_get lists them."
        return invalid(f"There is no label {wanted[:100]!r}. {rest}")


async def create_label(google: GoogleClient, body: Mapping[str, Any], fields: str) -> tuple[dict[str, Any], bool]:
    """Create a label; one of that name that has come about meanwhile will do.

    Args:
        google: the client; the user has agreed.
        body: with a ``name``.
        fields: of the answer.

    Returns:
        The label, and whether it was created.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        made = await google.call(
            "gmail.users.labels.create",
            body={"labelListVisibility": "labelShow", "messageListVisibility": "show", **body},
            fields=fields,
            is_repeatable=True,  # there cannot be two of a name
        )
    except GoogleError as error:
        found = (await MailLabels.of(google)).find(body["name"]) if error.status == 409 else None
        if found is None:
            raise
        return {"id": found, "name": body["name"]}, False
    return made, True
