"""The tool calls of an answer of Chat Completions, put together from fragments. No I/O.

A call is told by its place and its name: ids may be missing, or differ from fragment to fragment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import are_complete_arguments, objects_in, unique_call_id

from oneclaw_core import ToolCall
from oneclaw_core.providers import ArgumentsDelta, compact_json
from oneclaw_openai.wire_text import join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PLACEHOLDER = "{}"
_OWN_KEYS = frozenset({"index", "id", "type", "function", "name", "arguments"})


@dataclass(slots=True, eq=False)
class Call:
    """A call that comes in fragments.

    Attributes:
        id: as the server gave it, often empty.
        name: of the tool.
        pieces: of the arguments.
        extra: members of the wire format of others, which the server wants back.
        index: its place, ``None`` if the server gave none.
    """

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    index: int | None = None

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return _joined(self.pieces)

    @property
    def is_whole(self) -> bool:
        """True if the arguments are complete."""
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and are_complete_arguments(self.arguments)

    @property
    def has_arguments(self) -> bool:
        """True if any arguments have come."""
        return any(piece.strip() for piece in self.pieces)


class ChatCalls:
    """Takes the fragments of the calls of one answer.

    Attributes:
        is_mixed: True if fragments of one call came before its name, and so went to another call.
    """

    def __init__(self) -> None:
        self.is_mixed = False
        self._calls: list[Call] = []
        self._call_at: dict[int, Call] = {}

    def add(self, delta: Mapping[str, Any]) -> Iterator[ArgumentsDelta]:
        """Take the fragments in a delta and yield the pieces of arguments in them."""
        for fragment in _fragments(delta):
            arguments = _arguments(fragment)
            if call := self._call_of(fragment, arguments):
                _add_extra(call.extra, fragment)
                if arguments:
                    call.pieces.append(arguments)
                    yield ArgumentsDelta(arguments, call.name)

    def complete(self, message: Mapping[str, Any]) -> Iterator[ArgumentsDelta]:
        """Take the calls of a whole message, which may complete what came in fragments, and yield what is new."""
        for place, given in enumerate(_fragments(message)):
            name, arguments = _name(given), _arguments(given)
            known = next((each for each in self._calls if each.id and each.id == _id(given)), None)
            if known is None and place < len(self._calls) and self._calls[place].name in ("", name):
                known = self._calls[place]
            if known is None:
                known = Call(_id(given), name, index=place)
                self._calls.append(known)
            _add_extra(known.extra, given)
            known.name = known.name or name
            if arguments and not known.is_whole:
                if are_complete_arguments(arguments):
                    known.pieces.clear()
                known.pieces.append(arguments)
                yield ArgumentsDelta(arguments, known.name)

    def found(self) -> list[Call]:
        """Return the calls in their order, without what only repeats another one or says nothing."""
        kept: list[Call] = []
        for call in self._calls:
            if not (call.name or call.has_arguments):
                continue
            if not call.has_arguments and any(
                each.name == call.name and each.index == call.index and each.index is not None and each.has_arguments
                for each in kept
            ):
                continue
            kept.append(call)
        return kept

    def _call_of(self, fragment: Mapping[str, Any], arguments: str) -> Call | None:
        """Find the call that a fragment continues, or begin one; ``None`` if it says nothing."""
        call_id, name, index = _id(fragment), _name(fragment), _index(fragment)
        by_index = None if index is None else self._call_at.get(index)
        by_id = next((each for each in reversed(self._calls) if call_id and each.id == call_id), None)
        last = self._calls[-1] if self._calls else None
        if not name:
            call = by_id or by_index
            if call is None and last is not None and (index is None or self._grows(last, call_id, index)):
                call = last
            elif call is not None and by_index is call and call.index != index and arguments.strip() and not call_id:
                self.is_mixed = True  # a place that grows with each fragment is not taken twice
            if call is None:  # its name may come later, but nothing of nothing does
                return self._begin(call_id, "", index) if call_id or arguments.strip() else None
            if index is not None:
                self._call_at[index] = call
            return call
        call = by_index or by_id or (last if index is None else None)
        if call is None or not _continues(call, call_id, name, arguments, index):
            if call is not None and _is_echo(call, call_id, name, arguments):
                return None
            # What came at this place before has continued a call of another place.
            self.is_mixed = self.is_mixed or (by_index is not None and by_index.index != index)
            return self._begin(call_id, name, index)
        call.name = call.name or name
        call.id = call.id or call_id
        if call.arguments.strip() == _PLACEHOLDER and arguments.strip():
            call.pieces.clear()
        return call

    def _grows(self, last: Call, call_id: str, index: int) -> bool:
        """Return True if a server may count its fragments, and not its calls, so that one at a new place goes on."""
        return bool(last.name) and not call_id and not last.is_whole and last.index is not None and index > last.index

    def _begin(self, call_id: str, name: str, index: int | None) -> Call:
        call = Call(call_id, name, index=index)
        self._calls.append(call)
        if index is not None:
            self._call_at[index] = call
        return call


def tool_calls(calls: Sequence[Call]) -> Iterator[ToolCall]:
    """Give calls the ids that they have in the history."""
    taken: set[str] = set()
    for call in calls:
        arguments = call.arguments
        yield ToolCall(unique_call_id(call.id, taken), call.name, arguments if arguments.strip() else "{}")


def _continues(call: Call, call_id: str, name: str, arguments: str, index: int | None) -> bool:
    """Return True if a fragment with a name belongs to a call at its place."""
    if call.name not in ("", name):
        return False
    if not call.is_whole:
        return index is not None or not call.id or not call_id or call.id == call_id
    is_same = bool(call_id) and call.id == call_id and index in (None, call.index)
    if not arguments.strip():
        return is_same or not (call_id and call.id)
    return is_same and call.arguments.strip() == _PLACEHOLDER


def _is_echo(call: Call, call_id: str, name: str, arguments: str) -> bool:
    """Return True if a fragment says again what a whole call has said."""
    is_other = bool(call_id) and bool(call.id) and call_id != call.id
    return not is_other and call.name == name and arguments.strip() == call.arguments.strip()


def _joined(pieces: Sequence[str]) -> str:
    """Join the pieces of arguments; some servers begin with an empty object, or send all so far again and again."""
    joined = join_surrogates("".join(pieces))
    if len(pieces) < 2 or not joined.strip() or are_complete_arguments(joined):
        return joined
    half = len(joined) // 2
    candidates = [
        join_surrogates("".join(pieces[1:])) if pieces[0].strip() == _PLACEHOLDER else "",
        join_surrogates(pieces[-1]) if all(pieces[-1].startswith(each) for each in pieces) else "",
        joined[:half] if joined[:half] == joined[half:] else "",
    ]
    return next((each for each in candidates if are_complete_arguments(each)), joined)


def _fragments(delta: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    calls = delta.get("tool_calls")
    yield from objects_in([calls] if isinstance(calls, dict) else calls)
    if isinstance(function := delta.get("function_call"), dict):  # before there were several calls
        yield {"index": 0, "function": function}


def _function(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    function = fragment.get("function")
    return function if isinstance(function, dict) else fragment


def _id(fragment: Mapping[str, Any]) -> str:
    return join_surrogates(str(fragment.get("id") or ""))


def _name(fragment: Mapping[str, Any]) -> str:
    return join_surrogates(str(_function(fragment).get("name") or ""))


def _index(fragment: Mapping[str, Any]) -> int | None:
    index = fragment.get("index")
    if isinstance(index, str) and index.isdecimal() and len(index) < 9:
        return int(index)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _arguments(fragment: Mapping[str, Any]) -> str:
    arguments = _function(fragment).get("arguments")
    if isinstance(arguments, dict):  # some servers send the object itself
        return compact_json(arguments)
    return arguments if isinstance(arguments, str) else ""


def _add_extra(extra: dict[str, Any], fragment: Mapping[str, Any]) -> None:
    for key, value in fragment.items():
        if key not in _OWN_KEYS and value not in (None, "", [], {}):
            extra[key] = value
    function = fragment.get("function")
    for key, value in function.items() if isinstance(function, dict) else ():
        if key not in _OWN_KEYS and value not in (None, "", [], {}):
            extra.setdefault("function", {})[key] = value
