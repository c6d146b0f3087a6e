"""Fingerprints of what requests begin with, so that one can say later which part ended a prompt cache."""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from oneclaw_core.sessions.usage import PrefixFingerprint
from oneclaw_core.types.identity_cache import IdentityCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.model_requests import ModelRequest
    from oneclaw_core.types.tools import ToolDefinition

_HASH_BYTES = 8
_MOST_LISTS = 8


class CachePrefixes:
    """Makes fingerprints of requests; one for many turns, since it remembers those of tools."""

    def __init__(self) -> None:
        self._tools = IdentityCache(_of_tool)
        self._lists: dict[tuple[int, ...], tuple[object, str]] = {}

    def of(self, request: ModelRequest, *, are_groups_at_front: bool) -> PrefixFingerprint:
        """Make the fingerprint of a request.

        Args:
            request: everything a model is sent.
            are_groups_at_front: True if the tools of loaded groups stand with the core tools, before the messages,
                so that loading a group changes what the request begins with.
        """
        groups = request.tools.groups if are_groups_at_front else ()
        return PrefixFingerprint(
            tools=self._of_tools((request.tools.core, *(group.tools for group in groups), request.tools.of_turn)),
            system_prompt=_hash([request.system_prompt.encode(errors="replace")]),
            history=_of_history(request.messages),
        )

    def _of_tools(self, parts: tuple[Sequence[ToolDefinition], ...]) -> str:
        if len(self._lists) >= _MOST_LISTS:
            self._lists.clear()
        # By identity; the thing itself is in the value, so that no other can take over its identity.
        key = tuple(map(id, parts))
        known = self._lists.get(key)
        if known is None:
            known = self._lists[key] = (parts, _hash(map(self._tools.of, chain.from_iterable(parts))))
        return known[1]


def _of_tool(tool: ToolDefinition) -> bytes:
    text = json.dumps([tool.name, tool.description, tool.parameters], default=str)
    return blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


def _of_history(messages: Sequence[Message]) -> str:
    """Say where the messages begin: what is stored never changes, and what is not stored is a summary."""
    unstored = [each.content for each in takewhile(lambda each: each.sequence is None, messages)]
    first = messages[len(unstored)].sequence if len(unstored) < len(messages) else None
    return f"{first}:{_hash(text.encode(errors='replace') for text in unstored)}" if unstored else str(first)


def _hash(parts: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
