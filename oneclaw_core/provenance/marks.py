"""The reads and writes of one tool call, and which of them need the user's consent.

A conversation that holds text from outside is one that somebody else may steer. Once it holds private data too, what
the model composed is sent to no host without a question. Following a link is free: the URL stands word for word in a
text of the user, or in a page that was read.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.files.views import FileViews
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.system.version import USER_AGENT
from oneclaw_core.types.provenance import MAX_ORIGINS, FileState, Mark, MarkKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.files.paths import PathGuard, TrustedDirectory
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.tools.calls.call import Caller
    from oneclaw_core.types.messages import ToolCall

# What is kept for later conversations, or done in them.
_KEPT = frozenset({"agents.create", "config.write", "memory.write", "tasks.write", "tools.write"})
# What stays here, or is asked for by its address.
_LOCAL = frozenset({"files.read", "files.write", "network.private", "network.public"})
_HARMLESS_PARTS = frozenset({"read", "organize"})
_MAX_SESSIONS = 64
# Of one result and each kind; the conversation keeps fewer.
_MAX_MARKS = 4 * MAX_ORIGINS

# Values of headers that a model may choose without a question. They are exact: a pattern would let text through.
_TYPES = (
    "*/*", "application/json", "application/ld+json", "application/pdf", "application/rss+xml", "application/xml",
    "image/*", "text/*", "text/csv", "text/html", "text/markdown", "text/plain", "text/xml",
    "application/json, text/plain, */*",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5",
)  # fmt: skip
_ENCODINGS = (
    "gzip", "deflate", "br", "zstd", "identity", "gzip, deflate", "gzip, deflate, br", "gzip, deflate, zstd",
    "gzip, deflate, br, zstd",
)  # fmt: skip
_LANGUAGES = ("*", "de", "en", "en,*;q=0.5", "en-US", "en-US,en;q=0.5", "en-US,en;q=0.9", "es", "fr", "ja", "zh")
_FREE_VALUES = {
    "accept": frozenset(_TYPES),
    "accept-encoding": frozenset(_ENCODINGS),
    "accept-language": frozenset(_LANGUAGES),
    "connection": frozenset({"close", "keep-alive"}),
    "content-length": frozenset({"0"}),
    "user-agent": frozenset({USER_AGENT}),
}
# It follows from the URL: tools refuse another one.
_FREE_HEADERS = frozenset({"host"})


@dataclass(slots=True)
class CallProvenance:
    """The marks of one call, and the exits that it may take.

    Attributes:
        origins: what is known of the home.
        caller: on whose behalf it runs.
        marks: of what the call has read.
        paths: that the call uses.
        typed: a text of the user that the call was made with; empty for a call of a model.
        of_result: the marks of the result, once the call is finished.
    """

    origins: CallOrigins
    caller: Caller
    marks: list[Mark]
    paths: PathGuard
    typed: str = ""
    of_result: tuple[Mark, ...] = ()
    _settled: int = field(default=0, repr=False)

    async def settle(self) -> None:
        """Add what the call has read so far to the conversation."""
        read = dict.fromkeys((each.path, each.state) for each in self.paths.used[self._settled :] if each.use == "read")
        self._settled = len(self.paths.used)
        if read:
            self.marks += await self.origins.marks_of_files(read, self.paths)
        self.caller.conversation.add(self.marks)

    async def finish(self) -> None:
        """Settle the marks of the result, and note which files hold what the conversation holds."""
        await self.settle()
        written = [each for each in self.paths.used if each.use != "read"]
        kept = dict.fromkeys((*self.marks, *self.caller.conversation.marks()))
        kept.pop(Mark(MarkKind.USER, ""), None)  # it is about this result alone
        if written and kept and self.origins.records is not None:
            await self.origins.records.record_written(written, kept, time.time_ns())
        of_kind: dict[MarkKind, dict[Mark, None]] = {}
        for mark in self.marks:
            of_kind.setdefault(mark.kind, {})[mark] = None
        self.of_result = tuple(mark for marks in of_kind.values() for mark in islice(marks, _MAX_MARKS))

    async def needs_question(
        self, method: str, url: str, headers: Mapping[str, str], *, has_body: bool, is_followed: bool = False
    ) -> bool:
        """Return True if the user has to agree with a request.

        Args:
            method: in upper case.
            url: whole.
            headers: in lower case; a name in unusual case counts as unknown.
            has_body: True if it has one.
            is_followed: True if a server has redirected to it.
        """
        await self.settle()
        if not (self.caller.conversation.outside and self.caller.conversation.private):
            return False
        if has_body or method not in ("GET", "HEAD"):
            return True
        if is_followed:
            return False
        if any(name not in _FREE_HEADERS and it not in _FREE_VALUES.get(name, ()) for name, it in headers.items()):
            return True
        return not await self._is_link(url) or not await self.origins.may_follow(self.caller.session_of_user)

    async def _is_link(self, url: str) -> bool:
        from oneclaw_core.provenance.links import links_of_user, one_form

        wanted = one_form(url)
        if wanted is None:
            return False
        if self.typed and wanted in links_of_user(self.typed):
            return True
        session_id, turn = self.caller.session_id, self.caller.turn
        while session_id is not None:
            if wanted in await self.origins.links_of(session_id):
                return True
            # What the agent that it works for may follow, it may follow too.
            outer = turn.call if turn is not None else None
            session_id, turn = (outer.session_id, outer.turn) if outer is not None else (None, None)
        return False


class CallOrigins:
    """Knows where the text of calls and messages comes from.

    Args:
        paths: the files that tools may touch.
        records: of where text comes from; ``None`` for none.
        project: the start directory; ``None`` for one that is never trusted.
        free_requests: reads how many requests a session that could leak private data may send without a question;
            ``None`` for no limit.

    Attributes:
        records: of where text comes from.
        project: the start directory; in a trusted one, files are the user's own.
    """

    def __init__(
        self,
        paths: PathGuard,
        records: Store | None = None,
        project: TrustedDirectory | None = None,
        free_requests: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        self._paths = paths
        self.records = records
        self.project = project
        self._free_requests = free_requests
        self._links: dict[str, tuple[int, set[str]]] = {}
        self._followed: Counter[str | None] = Counter()

    async def links_of(self, session_id: str) -> set[str]:
        """Return the URLs in the user's texts and the pages of a session; each message is read once."""
        from oneclaw_core.provenance.links import links_of_page, links_of_user

        if self.records is None:
            return set()
        latest, links = self._links.pop(session_id, (0, set()))
        for sequence, content, url in await self.records.link_sources(session_id, latest):
            links |= links_of_user(content) if url is None else links_of_page(content, url)
            latest = sequence
        while len(self._links) >= _MAX_SESSIONS:
            del self._links[next(iter(self._links))]
        self._links[session_id] = latest, links
        return links

    async def may_follow(self, session_id: str | None) -> bool:
        """Count a link that a session follows without a question; return False if the limit is reached."""
        if self._free_requests is not None and self._followed[session_id] >= await self._free_requests():
            return False
        self._followed[session_id] += 1
        return True

    def of_call(self, caller: Caller, call: ToolCall) -> CallProvenance:
        """Begin to note what a call reads and writes."""
        within = caller.within
        if within is not None:
            views, typed = within.views, within.typed
        else:
            views = caller.turn.views if caller.turn is not None else FileViews()
            # A list of those that count as the user: what others compose is never typed.
            typed = call.arguments if caller.kind in ("command line", "program") else ""
        paths = self._paths.for_call([], views.of_call())
        return CallProvenance(self, caller, [], paths, typed)

    async def marks_of_attached(self, files: Iterable[str]) -> Iterable[Mark]:
        """Return the marks of a message of the user with the texts of files in it."""
        start = self._paths.start_directory
        paths = await run_in_thread(lambda: [(start / each).resolve() for each in files])
        return await self.marks_of_files(paths, self._paths, "the attached file")

    async def marks_of_files(
        self, files: Iterable[Path | tuple[Path, FileState | None]], guard: PathGuard, said: str = "the file"
    ) -> Iterable[Mark]:
        """Return the marks of what was read from files: as private, and as from outside unless they are the user's own.

        Args:
            files: resolved paths, with the state that was read; without one it is the present state.
            guard: with the workspace, whose files are the user's own.
            said: what is said of a file before its name.
        """
        own = [guard.workspace.resolve()]  # looked up when the files were
        if self.project is not None and self.project.is_trusted:
            own.append(Path(self.project.path))
        read = [each if isinstance(each, tuple) else (each, None) for each in files]
        states = await run_in_thread(
            lambda: [found for path, state in read if (found := state or _state_of(path)) is not None]
        )
        known = [((), False)] * len(states) if self.records is None else await self.records.file_marks(states)
        marks: dict[Mark, None] = {}
        for state, (stored, is_all) in zip(states, known, strict=True):
            if is_all:
                marks |= dict.fromkeys(stored)
                continue
            path = Path(state.path)
            origin = f"{said} {guard.display(path)}" if len(marks) < MAX_ORIGINS else "other files"
            marks |= dict.fromkeys(each.passed_on() for each in stored)
            marks[Mark.of(MarkKind.PRIVATE, origin)] = None
            if not any(path.is_relative_to(each) for each in own):
                marks[Mark.of(MarkKind.OUTSIDE, origin)] = None
        return marks


def _state_of(path: Path) -> FileState | None:
    try:
        return FileState.of(path, path.stat())
    except OSError:  # it was not there either when it was asked for
        return None


def asks_again(permission: str, conversation: Provenance) -> bool:
    """Return True if only an answer that knows of the conversation, or a grant that names the subject, is enough."""
    if not conversation.outside:
        return False
    if permission in _KEPT:
        return True
    # What a server calls a tool says nothing about it.
    is_harmless = permission.rpartition(".")[2] in _HARMLESS_PARTS and not permission.startswith("mcp.")
    is_harmless = is_harmless or permission in _LOCAL
    return bool(conversation.private) and not is_harmless
