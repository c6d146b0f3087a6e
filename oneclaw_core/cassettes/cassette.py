"""A model that replays what another one answered, and asks that one where it may.

Its file has an entry for each answer, found by the key of what was said and called before it. A stored session can be
written as such a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import OneClawError, ProviderError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.providers.model_object import ModelObject, OwnModel
from oneclaw_core.secrets.redaction import redact, redact_all
from oneclaw_core.turn.request import shown_history
from oneclaw_core.turn.stream import closing
from oneclaw_core.types.messages import Message, MessageType, StopReason, TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse, TextDelta
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence


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


FORMAT = 1


class CassetteError(OneClawError):
    """A cassette cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """An answer of a model, as a cassette keeps it.

    Attributes:
        key: of the conversation before it.
        said: what was said last before it, for people.
        pieces: its text, as it came.
        calls: each with ``id``, ``name`` and ``arguments``, which is JSON text.
        usage: the tokens, by name, as far as the service said.
        stop_reason: why it ends.
        provider_data: what the service wants back; only in strict cassettes.
    """

    key: str
    said: str
    pieces: tuple[str, ...] = ()
    calls: tuple[Mapping[str, str], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    stop_reason: str = StopReason.COMPLETE
    provider_data: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, response: ModelResponse, pieces: Sequence[str], key: str, said: str, *, is_strict: bool
    ) -> RecordedAnswer:
        """Make the entry of an answer, without secrets.

        Args:
            response: the answer.
            pieces: its text as it came; pieces that do not make the text, or share a secret, become one.
            key: of the conversation before it.
            said: what was said last.
            is_strict: True to keep what the service wants back.
        """
        text = redact(response.text)
        if "".join(pieces) != text:
            pieces = [text] if text else []
        used = {name: value for name, value in asdict(response.usage).items() if value not in (None, False)}
        return cls(
            key=key,
            said=redact(said),
            pieces=tuple(pieces),
            calls=tuple({name: redact(text) for name, text in asdict(call).items()} for call in response.tool_calls),
            usage=used,
            stop_reason=str(response.stop_reason),
            provider_data=_redacted(response.provider_data) if is_strict else None,
        )

    def response(self) -> ModelResponse:
        """Return the answer.

        Raises:
            TypeError, ValueError: the entry is invalid.
        """
        return ModelResponse(
            text="".join(self.pieces),
            tool_calls=tuple(ToolCall(**each) for each in self.calls),
            usage=TokenUsage(**self.usage),
            stop_reason=StopReason(self.stop_reason),
            provider_data=self.provider_data,
        )

    def document(self) -> dict[str, Any]:
        """Return the entry as JSON data, without what is not there."""
        document: dict[str, Any] = {"key": self.key, "said": self.said, "text": list(self.pieces)}
        document |= {"calls": list(self.calls), "usage": self.usage}
        document |= {"stop_reason": self.stop_reason, "provider_data": self.provider_data}
        return {name: value for name, value in document.items() if value not in ([], {}, None)}


def read_cassette(path: Path, key_kind: str) -> list[RecordedAnswer]:
    """Read the entries of a cassette.

    Args:
        path: of the file.
        key_kind: the kind of its keys.

    Raises:
        CassetteError: it is not there, or not a cassette with such keys.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found, kept_kind = [_entry(each) for each in document["entries"]], document["key"]
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and this version reads {FORMAT}")
        for each in found:
            each.response()
    except FileNotFoundError:
        raise CassetteError(f"there is no cassette {path}: record it with pytest --oneclaw-record=new") from None
    except OSError as error:
        raise CassetteError(f"the cassette {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise CassetteError(f"{path} is not a cassette: {error}") from None
    if kept_kind != key_kind:
        raise CassetteError(f"the cassette {path} has keys of the kind {kept_kind!r}, not {key_kind!r}: record it anew")
    return found


def _entry(document: Mapping[str, Any]) -> RecordedAnswer:
    known = {each.name for each in fields(RecordedAnswer)}
    values = {name: value for name, value in document.items() if name in known}
    pieces, calls = document.get("text", ()), document.get("calls", ())
    return RecordedAnswer(**values | {"pieces": tuple(pieces), "calls": tuple(calls)})


def write_cassette(path: Path, key_kind: str, entries: Sequence[RecordedAnswer]) -> None:
    """Write a cassette, and make its folder if need be.

    Raises:
        CassetteError: a secret that is known is left in it, or it cannot be written.
    """
    text = cassette_text(key_kind, entries)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise CassetteError(f"the cassette {path} cannot be written: {error.strerror or error}") from None


def cassette_text(key_kind: str, entries: Sequence[RecordedAnswer]) -> str:
    """Write a cassette as text.

    Raises:
        CassetteError: a secret that is known is left in it.
    """
    documents = [each.document() for each in entries]
    text = json.dumps({"format": FORMAT, "key": key_kind, "entries": documents}, indent=1, ensure_ascii=False) + "\n"
    # In the file some letters are escaped, so what it holds is looked at too.
    held = [text, *("".join(each.pieces) for each in entries)]
    if redact_all(held) != held or _redacted(documents) != documents:
        raise CassetteError("the cassette is not written: a secret that is known would be left in it")
    return text


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(name)): _redacted(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each) for each in value]
    return value


RecordMode = Literal["none", "new", "all"]
RECORD_MODES: tuple[RecordMode, ...] = ("none", "new", "all")
_MOST_SHOWN = 10


class CassetteMissError(ProviderError):
    """A cassette has no answer to what a model is asked; the message names what it was, and what is not used."""


class Cassette(OwnModel):
    """A model that answers from a file. A turn takes it as its model.

    An answer is found by what was said and called before it, so tools run, and the system prompt and the definitions
    of tools may change. Secrets that OneClaw knows are replaced before anything is written.

    Args:
        path: of the file, JSON.
        key: ``conversation``, or ``strict`` for answers that depend on the system prompt, the tools and the texts of
            results too.
        normalise: regular expressions of what changes from run to run, each with what it is replaced by; paths, ids
            and times are replaced as well.
        record: ``none`` to replay only; ``new`` to ask the model where there is no answer; ``all`` to record all
            answers anew.
        model: asked when recording, as an object or as ``PROVIDER/MODEL`` with a key of the environment.

    Attributes:
        requests: everything that the model was sent, in order.

    Raises:
        CassetteError: the file is missing, or is none.
    """

    config = ProviderConfig(name="cassette", type="cassette", is_local=True)

    def __init__(
        self,
        path: str | Path,
        *,
        key: KeyKind = "conversation",
        normalise: Iterable[tuple[str, str]] = (),
        record: RecordMode = "none",
        model: ModelObject | str | None = None,
    ) -> None:
        if key not in KEY_KINDS or record not in RECORD_MODES:
            raise CassetteError(
                f"key is one of {', '.join(KEY_KINDS)}, and record one of {', '.join(RECORD_MODES)}, "
                f"not {key!r} and {record!r}"
            )
        if record != "none" and model is None:
            raise CassetteError("name the model that is recorded: model='PROVIDER/MODEL', or a model object")
        self.path = Path(path)
        self.name = self.path.stem
        self.requests: list[ModelRequest] = []
        self._keys = ConversationKeys(key, tuple(normalise))
        self._record, self._model = record, model
        starts_empty = record == "all" or (record == "new" and not self.path.exists())
        self._entries = [] if starts_empty else read_cassette(self.path, key)
        self._unused = list(self._entries)

    @property
    def unused(self) -> tuple[RecordedAnswer, ...]:
        """The recorded answers that were not asked for."""
        return tuple(self._unused)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request from the file, or ask the model and record its answer.

        Raises:
            CassetteMissError: there is no answer, and none is recorded.
            ProviderError: the model could not be asked.
        """
        self.requests.append(request)
        key = self._keys.of(request)
        found = next((each for each in self._unused if each.key == key), None)
        if found is not None:
            self._unused.remove(found)
            for piece in found.pieces:
                yield TextDelta(piece)
            yield found.response()
            return
        if self._record == "none":
            raise CassetteMissError(self._miss(request))
        async with aclosing(self._recorded(request, key)) as events:
            async for event in events:
                yield event

    async def _recorded(self, request: ModelRequest, key: str) -> AsyncGenerator[ModelEvent, None]:
        pieces: list[str] = []
        async with (
            self._opened() as model,
            closing(model.provider.stream(replace(request, model=model.name))) as events,
        ):
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, ModelResponse):
                    said, is_strict = self._keys.said(request.messages), self._keys.kind == "strict"
                    self._entries.append(RecordedAnswer.of(event, pieces, key, said, is_strict=is_strict))
                    write_cassette(self.path, self._keys.kind, self._entries)
                yield event

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[ModelObject, None]:
        """Open the model that is recorded: a configured one in an empty home, with the keys of the environment."""
        assert self._model is not None
        if not isinstance(self._model, str):
            yield self._model
            return
        from tempfile import TemporaryDirectory

        from oneclaw_core.app import OneClaw

        environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
        with TemporaryDirectory(prefix="oneclaw-record-") as home:
            async with OneClaw.open(home, environ=environ) as claw, claw.configured_model(self._model) as model:
                yield model

    def _miss(self, request: ModelRequest) -> str:
        unused = "".join(f"\n  {each.said}" for each in self._unused[:_MOST_SHOWN])
        more = f"\n  and {len(self._unused) - _MOST_SHOWN} more" if len(self._unused) > _MOST_SHOWN else ""
        return (
            f"the cassette {self.path} has no answer to\n  {self._keys.said(request.messages)}\n"
            f"Its answers that are not used yet follow on:{unused or ' nothing, all are used'}{more}\n"
            "Record it with: pytest --oneclaw-record=new"
        )


def entries_of_session(history: Iterable[Message]) -> list[RecordedAnswer]:
    """Return the answers of a model in a history, with keys of conversations.

    Args:
        history: the entries of a session, all of them.

    Raises:
        CassetteError: it holds no answer.
    """
    keys, messages = ConversationKeys(), shown_history(history)
    entries: list[RecordedAnswer] = []
    begin = 0
    for place, message in enumerate(messages):
        if message.type is MessageType.USER and not message.is_of_output:
            begin = place
        if message.type is not MessageType.ASSISTANT or message.is_incomplete:
            continue
        calls = _calls_behind(messages, place)
        if _is_of_turn(message, calls, messages[place - 1] if place else None):
            continue
        # The way to an output is sent in its own turn alone.
        before = [each for each in messages[:begin] if not each.is_of_output] + messages[begin:place]
        response = ModelResponse(text=message.content, tool_calls=tuple(calls))
        key, said = keys.of_messages(before), keys.said(before)
        entries.append(RecordedAnswer.of(response, (), key, said, is_strict=False))
    if not entries:
        raise CassetteError("the session has no answer of a model")
    return entries


def _calls_behind(messages: list[Message], place: int) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for each in messages[place + 1 :]:
        if each.type is not MessageType.TOOL_CALL:
            break
        calls.append(ToolCall(each.tool_call_id or "", each.tool_name or "", each.tool_input or ""))
    return calls


def _is_of_turn(message: Message, calls: list[ToolCall], before: Message | None) -> bool:
    """Return True for what the turn wrote itself, and writes again: loads of groups, and an output as the answer."""
    if not calls:
        is_taken = before is not None and before.is_of_output and before.type is MessageType.TOOL_RESULT
        return is_taken and before is not None and before.error_type is None
    return message.model is None and {each.name for each in calls} == {LOAD_TOOL_GROUP}
