"""Pairs of what to find and what to put there, as the editors of Docs and Slides take them; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.editor_text import insertable
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Replacements:
    """Pairs of texts, applied in order.

    Attributes:
        requests: the bodies of ``replaceAllText``, one for each.
    """

    requests: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, pairs: Sequence[Mapping[str, Any]]) -> Replacements:
        """Read what a model gave: ``find``, ``replace``, ``match_case`` and ``regex``.

        Raises:
            GoogleError: a pair cannot be applied.
        """
        return cls(tuple(_request(pair) for pair in pairs))

    @property
    def described(self) -> str:
        """The name of the items in a question to the user."""
        shown = [
            f"{_kind(each)}{passage(each['containsText']['text'], 60)} by {passage(each['replaceText'], 150)}"
            for each in self.requests[:_SHOWN]
        ]
        more = len(self.requests) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def counts(self, replies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Say how often each was replaced; Google leaves a 0 out."""
        padded = [*replies, *({} for _ in self.requests)]
        return [
            {
                "find": each["containsText"]["text"],
                "count": int(reply.get("replaceAllText", {}).get("occurrencesChanged", 0)),
            }
            for each, reply in zip(self.requests, padded, strict=False)
        ]


def _kind(request: Mapping[str, Any]) -> str:
    return "the regular expression " if request["containsText"].get("searchByRegex") else ""


def _request(pair: Mapping[str, Any]) -> dict[str, Any]:
    find, is_regex = insertable(pair["find"]), bool(pair.get("regex", False))
    if not find:
        raise invalid("find must not be empty.")
    if "\n" in find and not is_regex:
        raise invalid("find must lie within one paragraph, without newlines.")
    criteria: dict[str, Any] = {"text": find, "matchCase": bool(pair.get("match_case", True))}
    if is_regex:
        criteria["searchByRegex"] = True
    return {"containsText": criteria, "replaceText": insertable(pair["replace"])}
