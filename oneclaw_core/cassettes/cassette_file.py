"""The file of a cassette: its entries, without secrets."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError
from oneclaw_core.secrets.redaction import redact, redact_all
from oneclaw_core.types.messages import StopReason, TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ModelResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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
    held = [text, *("".join(each.pieces) for each in entries), *_texts(documents)]
    if redact_all(held) != held:
        raise CassetteError("the cassette is not written: a secret that is known would be left in it")
    return text


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, each in value.items() for text in (str(name), *_texts(each))]
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return []


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(name)): _redacted(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each) for each in value]
    return value
