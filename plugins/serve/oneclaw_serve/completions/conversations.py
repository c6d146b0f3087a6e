"""Finding the session of a conversation, which clients send again as a whole with each request.

Clients change the form of what they send: texts become lists of parts, blanks and Markdown differ, system prompts hold
the time, questions lose or gain a preface, and old messages are left out. So messages are compared by their words. An
answer must have the words of ours. A conversation that goes on from an earlier point, as when a question is edited,
begins a new session.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_serve.completions.messages import instructions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_serve.completions.messages import ChatMessage
    from oneclaw_serve.event_log import EventLog

# How models begin and end what they think, in lower case.
_THOUGHTS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning")),
    ('<details type="reasoning"', "</details>"),
)
# Invisible characters, and punctuation that Markdown and its editors write in several ways.
_NO_WORDS = re.compile(r"[\s\u200b-\u200f\u2060\ufeff_*`#>~|\\.,:;!?'\"()\[\]<-]+")
_MOST_CHARACTERS = 2_000
# Some characters become eighteen others, which takes long.
_MOST_NORMALIZED_CHARACTERS = 20_000
_MOST_SESSIONS = 20
# An answer of fewer characters alone is given in many conversations.
_TELLING_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it is compared.

    Attributes:
        role: ``user`` or ``assistant``.
        words: of its text; of a long one, the end.
        digest: of all words and of the files.
    """

    role: str
    words: str
    digest: str

    @classmethod
    def of(cls, message: ChatMessage) -> Said:
        """Take the words of a message."""
        text = without_thoughts(message.text)
        if len(text) <= _MOST_NORMALIZED_CHARACTERS:
            text = unicodedata.normalize("NFKC", text)
        text = text.casefold()
        words = _NO_WORDS.sub(" ", text).strip() or " ".join(text.split())
        files = json.dumps(message.files, sort_keys=True) if message.files else ""
        return cls(message.role, words[-_MOST_CHARACTERS:], _digest(message.role, words, files))

    def is_like(self, other: Said) -> bool:
        """Return True for the same message, or a question with a preface or context that the other one lacks."""
        if self.digest == other.digest:
            return True
        if self.role != other.role or self.role == "assistant":
            return False
        return _holds(self.words, other.words) or _holds(other.words, self.words)


async def said_in(messages: Iterable[ChatMessage]) -> list[Said]:
    """Take the words of messages; others are served meanwhile."""
    said = []
    for each in messages:
        said.append(Said.of(each))
        await asyncio.sleep(0)
    return said


def without_thoughts(text: str) -> str:
    """Return a text without what a model thought, in a time that is proportional to its length."""
    # Not longer than the text, so that places in it are those of the text.
    lower = text.lower() if len(text.lower()) == len(text) else text
    next_begin = {begin: lower.find(begin) for begin, _ in _THOUGHTS}
    last_end = {begin: lower.rfind(end) for begin, end in _THOUGHTS}
    ends = dict(_THOUGHTS)
    pieces: list[str] = []
    place = 0
    while True:
        for begin, found in next_begin.items():
            if -1 < found < place:
                next_begin[begin] = lower.find(begin, place)
        begins = [(found, begin) for begin, found in next_begin.items() if -1 < found < last_end[begin]]
        if not begins:
            return "".join([*pieces, text[place:]])
        found, begin = min(begins)
        pieces += [text[place:found], " "]
        place = lower.find(ends[begin], found) + len(ends[begin])


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a session whose conversation may go on.

    Attributes:
        session: its id.
        said: the conversation, ours included.
        is_cut: True if the client may have received only the beginning of the last answer.
        lines: digests of the lines of the client's system prompts so far.
    """

    session: str
    said: tuple[Said, ...]
    is_cut: bool
    lines: frozenset[str]

    def goes_on_as(self, before: Sequence[Said]) -> bool:
        """Return True if a conversation has the end of this one; old messages may be missing at either beginning."""
        ours, theirs = self.said[::-1], before[::-1]
        if min(len(ours), len(theirs)) < 2 and len(theirs[0].words) < _TELLING_CHARACTERS:
            return False
        if self.is_cut and ours[0].role == theirs[0].role == "assistant":
            if not ours[0].words.startswith(theirs[0].words):
                return False
            ours, theirs = ours[1:], theirs[1:]
        return all(one.is_like(other) for one, other in zip(ours, theirs, strict=False))

    def text(self) -> str:
        """Return it as text to store."""
        return json.dumps({"said": [asdict(each) for each in self.said], "cut": self.is_cut, "lines": [*self.lines]})

    @classmethod
    def read(cls, session: str, text: str) -> Known:
        """Read what :meth:`text` returned."""
        data: dict[str, Any] = json.loads(text)
        return cls(session, tuple(Said(**each) for each in data["said"]), data["cut"], frozenset(data["lines"]))


class Conversations:
    """The conversations of one client with one agent.

    Args:
        log: keeps them for a day.
        scope: what tells the client, its user and the agent from others.
    """

    def __init__(self, log: EventLog, scope: Iterable[str]) -> None:
        self._log = log
        self._client = f"v1/{_digest(*scope)}"

    async def take(self, before: Sequence[ChatMessage], system: str) -> str | None:
        """Return the session that a conversation goes on in, once; ``None`` for none.

        Args:
            before: the conversation up to our last answer.
            system: the client's system prompts now.
        """
        said = await said_in(before)
        if not said:
            return None
        point = _point(said)
        if (found := await self._take_end(point, system)) is not None:
            return found
        if await self._log.kept(self._client, f"point/{point}") is not None:
            return None  # it goes on from here already
        alike = [each for each in await self._candidates(said[-1]) if each.goes_on_as(said)]
        exact = [each for each in alike if len(each.said) == len(said)] or alike
        points = {_point(each.said) for each in exact}
        return await self._take_end(points.pop(), system) if len(points) == 1 else None

    async def _take_end(self, point: str, system: str) -> str | None:
        """Take one of the sessions whose conversations end at a point: that with the client's system prompt."""
        sessions: list[str] = json.loads(await self._log.take(self._client, f"end/{point}") or "[]")
        if not sessions:
            return None
        lines = _lines(system).keys()
        told = {each: known.lines if (known := await self.known(each)) else frozenset() for each in sessions}
        best = max(sessions, key=lambda each: len(told[each] & lines))
        is_told_apart = len(set(told.values())) > 1 and not told[best] & lines
        chosen = None if is_told_apart and told[best] != lines else best
        if left := [each for each in sessions if each != chosen]:
            await self._log.keep(self._client, f"end/{point}", json.dumps(left))
        return chosen

    async def _add_end(self, point: str, session: str) -> None:
        sessions: list[str] = json.loads(await self._log.kept(self._client, f"end/{point}") or "[]")
        listed = [session, *(each for each in sessions if each != session)][:_MOST_SESSIONS]
        await self._log.keep(self._client, f"end/{point}", json.dumps(listed))

    async def keep(
        self, session: str, messages: Sequence[ChatMessage], answer: ChatMessage, *, is_cut: bool = False
    ) -> None:
        """Note how a conversation stands.

        Args:
            session: its id.
            messages: that the client has sent.
            answer: ours, which may be empty if the client has left.
            is_cut: True if the client may have received only the beginning of the answer.
        """
        known = await self.known(session)
        said = tuple(await said_in(each for each in [*messages, answer] if each.is_said))
        lines = (known.lines if known else frozenset()) | _lines(instructions(messages)).keys()
        await self._log.keep(self._client, f"session/{session}", Known(session, said, is_cut, lines).text())
        if not said:
            return
        await self._add_end(_point(said), session)
        await self._log.keep(self._client, f"point/{_point(said)}", session)
        answers = _answer_key(None if is_cut else said[-1])
        listed = [each for each in await self._listed(answers) if each != session]
        await self._log.keep(self._client, answers, json.dumps([session, *listed][:_MOST_SESSIONS]))

    async def put_back(self, session: str, before: Sequence[ChatMessage]) -> None:
        """Have a conversation go on from a point again, since no answer was given."""
        if said := await said_in(before):
            await self._add_end(_point(said), session)

    async def keep_unfinished(self, request: str, session: str) -> None:
        """Note that the turn for a request has no answer yet; clients may send the same request again.

        Args:
            request: all of it.
            session: its id.
        """
        await self._log.keep(self._client, f"unfinished/{_digest(request)}", session)

    async def take_unfinished(self, request: str) -> str | None:
        """Return the session whose turn for a request has no answer yet, once; ``None`` for none."""
        return await self._log.take(self._client, f"unfinished/{_digest(request)}")

    async def known(self, session: str) -> Known | None:
        """Return what is known of a session."""
        text = await self._log.kept(self._client, f"session/{session}")
        return None if text is None else Known.read(session, text)

    async def new_instructions(self, session: str, messages: Sequence[ChatMessage]) -> str:
        """Return the lines of the client's system prompts that the session has not been told."""
        known = await self.known(session)
        lines = _lines(instructions(messages))
        told = known.lines if known else frozenset()
        return "\n".join(line for digest, line in lines.items() if digest not in told)

    async def _candidates(self, last: Said) -> list[Known]:
        sessions = [*await self._listed(_answer_key(last)), *await self._listed(_answer_key(None))]
        found = [await self.known(each) for each in dict.fromkeys(sessions)]
        return [each for each in found if each is not None]

    async def _listed(self, key: str) -> list[str]:
        text = await self._log.kept(self._client, key)
        return [] if text is None else json.loads(text)


def _answer_key(answer: Said | None) -> str:
    return "answer/" if answer is None else f"answer/{answer.digest}"


def _point(said: Sequence[Said]) -> str:
    return _digest(*(each.digest for each in said))


def _lines(text: str) -> dict[str, str]:
    return {_digest(stripped): stripped for line in text.splitlines() if (stripped := line.strip())}


def _holds(text: str, part: str) -> bool:
    return bool(part) and f" {part} " in f" {text} "


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
