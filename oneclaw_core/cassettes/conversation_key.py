"""The key of a recorded answer: what was said and called before it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.model_requests import ModelRequest

KeyKind = Literal["conversation", "strict"]
KEY_KINDS: tuple[KeyKind, ...] = ("conversation", "strict")

_KEY_CHARACTERS = 16
_SAID_CHARACTERS = 200
# What plugins, and OneClaw, send with a message of the user.
_CONTEXT = re.compile(r'\s*<context plugin="[^"]*">\n.*?\n</context>', re.DOTALL)
_CHANGING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32}\b", re.IGNORECASE), "<id>"),
    # The folders of a path; in an address they stand behind the host.
    (re.compile(r"(?<![\w:/.~<>-])(?:~|[A-Za-z]:)?[/\\](?:[\w.@+ -]*[\w.@+-][/\\])+"), "<folder>/"),
)


@dataclass(frozen=True, slots=True)
class ConversationKeys:
    """Makes keys of conversations.

    Attributes:
        kind: ``conversation`` for the texts of the user, the calls with their arguments, and the names and error types
            of results; ``strict`` for the system prompt, the tools, the answers and the texts of results too.
        normalise: what changes from run to run, as regular expressions with what they are replaced by. Paths, ids and
            times are replaced as well.
    """

    kind: KeyKind = "conversation"
    normalise: tuple[tuple[str, str], ...] = ()

    def of(self, request: ModelRequest) -> str:
        """Return the key of the answer to a request."""
        if self.kind == "conversation":
            return self.of_messages(request.messages)
        tools = [[each.name, each.description, each.parameters] for each in request.tools]
        return self._digest([self._plain(request.system_prompt), tools, *map(self._entry, request.messages)])

    def of_messages(self, messages: Iterable[Message]) -> str:
        """Return the key of the answer to a conversation."""
        is_strict = self.kind == "strict"
        return self._digest(
            [self._entry(each) for each in messages if is_strict or each.type is not MessageType.ASSISTANT]
        )

    def said(self, messages: Sequence[Message]) -> str:
        """Return what was said last, for people."""
        last = messages[-1] if messages else None
        if last is None:
            return "nothing"
        if last.type is not MessageType.TOOL_RESULT:
            return f"user: {self._plain(_CONTEXT.sub('', last.content))[:_SAID_CHARACTERS]}"
        outcome = last.error_type or "success"
        user = next((each for each in reversed(messages) if each.type is MessageType.USER), None)
        asked = "" if user is None else f", after user: {self._plain(_CONTEXT.sub('', user.content))}"
        return f"result of {last.tool_name}: {outcome}{asked}"[:_SAID_CHARACTERS]

    def _entry(self, message: Message) -> list[Any]:
        is_strict = self.kind == "strict"
        match message.type:
            case MessageType.TOOL_CALL:
                return ["call", message.tool_name, self._arguments(message.tool_input or "")]
            case MessageType.TOOL_RESULT:
                content = [self._plain(message.content)] if is_strict else []
                return ["result", message.tool_name, message.error_type, *content]
        text = message.content if is_strict else _CONTEXT.sub("", message.content)
        files = [[each.name, each.media_type] for each in message.attachments]
        return [str(message.type), self._plain(text), *files]

    def _arguments(self, text: str) -> Any:
        try:
            return self._plain_value(json.loads(text or "{}"))
        except (ValueError, RecursionError):
            return self._plain(text)

    def _plain_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._plain(value)
        if isinstance(value, list):
            return [self._plain_value(each) for each in value]
        if isinstance(value, dict):
            return {name: self._plain_value(each) for name, each in value.items()}
        return value

    def _plain(self, text: str) -> str:
        for own, instead in self.normalise:
            text = re.sub(own, instead, text)
        for pattern, instead in _CHANGING:
            text = pattern.sub(instead, text)
        return redact(text).strip()

    def _digest(self, said: list[Any]) -> str:
        text = json.dumps(said, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_CHARACTERS]
