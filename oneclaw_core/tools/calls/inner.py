"""The calls that a running tool makes: each passes the same steps as a call of a model."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.secrets.redaction import Redaction
from oneclaw_core.tools.calls.available import unavailable_tool, unknown_tool
from oneclaw_core.tools.calls.call import InnerCallBegun, InnerCallEnded, ToolOutcome, Within
from oneclaw_core.tools.calls.journal import DivergedError, Journal
from oneclaw_core.tools.calls.script import Script
from oneclaw_core.types.budget import ScriptAllowance
from oneclaw_core.types.messages import ToolCall
from oneclaw_core.types.provenance import MarkKind
from oneclaw_core.types.script_calls import ScriptCall, ScriptCallState, continuing_text
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS, LOAD_TOOL_GROUP
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Mapping

    from oneclaw_core.tools.calls.call import Act, Call, Caller
    from oneclaw_core.tools.calls.clock import CallClock
    from oneclaw_core.tools.calls.journal import ScriptRecords
    from oneclaw_core.tools.calls.script import Adapt
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.provenance import Mark

    class RunInner(Protocol):
        """Passes a call through the steps, see :meth:`oneclaw_core.tools.executor.ToolExecutor.outcome`."""

        async def __call__(
            self,
            asked: ToolCall,
            caller: Caller,
            *,
            loaded: Container[str | None],
            report: Callable[[str, float | None], None],
            show: Callable[[InnerCallBegun | InnerCallEnded], None],
            act: Act | None = None,
        ) -> ToolOutcome:
            """Pass it."""
            ...


MAX_CALLS = 500
MAX_RESULT_BYTES = 4_000_000
MAX_TOTAL_BYTES = 64_000_000
MAX_DEPTH = 2
MAX_REFUSALS = 3
MAX_SAME_FAILURES = 10
USES_BETWEEN_QUESTIONS = 10
SHOWN_CHARACTERS = 2_000
MAX_PURPOSE_CHARACTERS = 200

# Calls that change which tools a conversation has belong to the conversation.
_OF_THE_CONVERSATION = frozenset({LOAD_TOOL_GROUP, FIND_TOOL_GROUPS})
_RUNS_SCRIPTS = "js_eval"
# What reaches other people, or cannot be taken back.
_CAREFUL_PARTS = frozenset({"send", "share", "forward", "delete", "spend"})
_KEY_BYTES = 9
_RUNNING, _DONE = "running", "done"


@dataclass(slots=True)
class _One:
    """A call on its way.

    Attributes:
        asked: the call.
        key: the same for the same tool and arguments.
        occurrence: counts those, from 0.
        number: counts all calls, from 1.
        act: stands in for the tool.
        is_repeatable: True if it can be made again.
        is_started: True if it was written that it may have had its effect.
    """

    asked: ToolCall
    key: str
    occurrence: int
    number: int
    act: Act | None
    is_repeatable: bool
    is_started: bool = False


async def _no_wait() -> None:
    """Wait for nothing: no plugin observes calls."""


class InnerCalls:
    """Runs the calls that the tool of one running call makes, and counts them.

    Args:
        outer: the running call.
        clock: its time, which stands still while the user is asked.
        run: passes a call through the steps.
        registry: the tools there are.
        wait_for_observers: returns when the observers of plugins keep up.
        records: of the calls of scripts; ``None`` without a store.

    Attributes:
        purpose: the purpose of the script that makes the calls, in the words of a model; ``""`` for none.
        ended: why no more calls are made, ``None`` as long as they are.
        files: files for the user that the calls had as results.
    """

    def __init__(
        self,
        outer: Call,
        clock: CallClock,
        run: RunInner,
        registry: ToolRegistry,
        wait_for_observers: Callable[[], Awaitable[None]] = _no_wait,
        records: ScriptRecords | None = None,
    ) -> None:
        self.purpose = ""
        self.ended: ToolResult | None = None
        self.files: list[Attachment] = []
        self._outer = outer
        self._clock = clock
        self._run = run
        self._registry = registry
        self._wait_for_observers = wait_for_observers
        self._records = records
        self._journal: Journal | None = None
        self._redaction: Redaction | None = None
        self._adapt: Adapt = lambda tool, call_id, result: result
        self._open = 0
        self._is_over = False
        self._number = 0
        self._log: list[tuple[str, str]] = []
        self._size_bytes = 0
        self._refusals = 0
        self._refused_permissions: set[str] = set()
        self._uses: dict[str, int] = {}
        self._occurrences: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        within, turn = outer.caller.within, outer.caller.turn
        self._depth = 1 if within is None else within.depth + 1
        self._allowance = turn.scripts if turn is not None else ScriptAllowance()

    # For the tool

    async def call(
        self, name: str, arguments: Mapping[str, Any], act: Act | None = None, *, is_repeatable: bool = False
    ) -> ToolResult:
        """Run one call in a separate task, so that the context variables that it sets do not reach the tool.

        Args:
            name: of the tool.
            arguments: JSON data.
            act: stands in for the tool.
            is_repeatable: True if this call can be repeated though the tool may change something.

        Returns:
            Its result, also of a call that failed.
        """
        try:
            text = json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return ToolResult.error(
                "validation_error", f"Tool '{name}' was called with arguments that are not JSON: {error}"
            )
        self._number += 1
        key = blake2b(f"{name}\0{text}".encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).hexdigest()
        occurrence = self._occurrences[key] = self._occurrences.get(key, -1) + 1
        # The same again when the tool runs again, so that a service can tell.
        first = self._journal.call_id if self._journal is not None else self._outer.asked.id
        asked = ToolCall(f"{first}.{key}.{occurrence}", name, text)
        refused = self._refused(name, act)
        if refused is not None:
            return refused
        found = self._tool(name)
        is_repeatable = is_repeatable or (found is not None and found.definition.is_repeatable)
        one = _One(asked, key, occurrence, self._number, act, is_repeatable)
        return await self._shown(one)

    async def begin(
        self, code: str, purpose: str, engine: str, continues: str | None, adapt: Adapt | None = None
    ) -> Script:
        """Begin a script, see :meth:`oneclaw_core.tools.context.ToolContext.begin_script`."""
        caller, call_id = self._outer.caller, self._outer.asked.id
        digest = blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        about: dict[str, Any] = {
            "code": code,
            "purpose": " ".join(purpose.split())[:MAX_PURPOSE_CHARACTERS],
            "engine": engine,
            "started_ms": time.time_ns() // 1_000_000,
            "seed": [int.from_bytes(digest[place : place + 4], "big") for place in range(0, 16, 4)],
        }
        if self._records is not None and caller.session_id is not None and caller.within is None:
            self._journal = await Journal.begun(self._records, caller.session_id, call_id, about, continues)
            about = self._journal.about
        elif continues is not None:
            raise UsageError("there is no session here, so no earlier script to continue")
        self.purpose = about["purpose"]
        self._adapt = adapt or self._adapt
        return Script(
            about["code"], self.purpose, about["started_ms"], tuple(about["seed"]), self._callable_names(), self
        )

    async def end_script(self, *, is_final: bool) -> None:
        """Write what is still to be written of a script."""
        self._is_over = is_final
        if self._journal is not None:
            await (self._journal.end() if is_final else self._journal.write())

    def _callable_names(self) -> tuple[str, ...]:
        names = (*self._outer.caller.active.names, *self._outer.caller.own_tools)
        return tuple(each for each in dict.fromkeys(names) if self._problem(each) is None)

    def summary(self) -> str:
        """Say which calls were made and how they ended, in the order of their beginnings."""
        parts = []
        for state, words in ((_DONE, "finished"), (_RUNNING, "may or may not have had their effect")):
            counts = Counter(name for name, ended in self._log if ended == state)
            if counts:
                listed = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())
                parts.append(f"Calls that {words}: {listed}.")
        failed = Counter(f"{name} ({ended})" for name, ended in self._log if ended not in (_DONE, _RUNNING))
        if failed:
            listed = ", ".join(each if count == 1 else f"{each} {count} times" for each, count in failed.items())
            parts.append(f"Calls that failed: {listed}.")
        if self._journal is not None and self._log and not self._is_over:
            parts.append(continuing_text(self._journal.call_id))
        return "\n".join(parts)

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Return why tools cannot be called, by their names; those that can are left out."""
        found = {name: self._problem(name) for name in names}
        return {name: problem for name, problem in found.items() if problem is not None}

    def with_files(self, result: ToolResult) -> ToolResult:
        """Return the result of the tool with the files for the user that its calls had."""
        return replace(result, attachments=(*result.attachments, *self.files)) if self.files else result

    # For questions: see ScriptRules

    def in_words(self, number: int) -> str:
        """Say which call of which script this is."""
        what = f"the script: {self.purpose}" if self.purpose else f"the tool {self._outer.asked.name}"
        return f"call {number} of {what}"

    def wants_question(self, permission: str) -> bool:
        """Count a use of a permission; return True if grants are not enough for this one."""
        if permission in self._refused_permissions:
            return True
        if permission.rpartition(".")[2] not in _CAREFUL_PARTS:
            return False
        uses = self._uses[permission] = self._uses.get(permission, 0) + 1
        return uses > 1 and uses % USES_BETWEEN_QUESTIONS == 1

    def note_refusal(self, permission: str) -> None:
        """Count a refusal of the user; the third one ends the calls."""
        self._refused_permissions.add(permission)
        self._refusals += 1
        if self._refusals >= MAX_REFUSALS:
            self._end("permission_denied", f"The user refused {self._refusals} calls, so the script was ended.")

    def _end(self, error_type: str, message: str) -> None:
        if self.ended is None:
            self.ended = ToolResult.error(error_type, message)

    def _tool(self, name: str) -> RegisteredTool | None:
        return self._outer.caller.own_tools.get(name) or self._registry.find(name)

    def _problem(self, name: str) -> str | None:
        """Return why a tool cannot be called now, ``None`` if it can."""
        caller, found = self._outer.caller, self._tool(name)
        if found is None:
            return unknown_tool(self._registry, name, caller)
        return self._not_for_scripts(name) or unavailable_tool(
            self._registry, name, found.source, caller, self._outer.loaded
        )

    def _not_for_scripts(self, name: str) -> str | None:
        """Return why only a model may call a tool, ``None`` if others may too."""
        if name in _OF_THE_CONVERSATION:
            return f"Tool '{name}' cannot be called by a script: call it by itself, then run the script."
        if name in (_RUNS_SCRIPTS, self._outer.asked.name):
            return f"Tool '{name}' cannot be called by a script."
        found = self._tool(name)
        if found is not None and found.definition.behaviour.is_poll:
            return f"Tool '{name}' waits for something, so a script cannot call it: call it by itself."
        return None

    def _refused(self, name: str, act: Act | None) -> ToolResult | None:
        """Return the result of a call that is not run, ``None`` for one that is."""
        if self.ended is None and self._number > MAX_CALLS:
            self._end("limit_reached", f"At most {MAX_CALLS} calls can be made by one script.")
        if self.ended is None and not self._allowance.take():
            text = f"At most {ScriptAllowance.MAX_CALLS:,} calls can be made by the scripts of one turn."
            self._end("limit_reached", text)
        if self.ended is not None:
            return self.ended
        if self._depth > MAX_DEPTH:
            return ToolResult.error("not_available", "Tools that are called by tools of a script can call no others.")
        reason = self._not_for_scripts(name) if act is None else None
        return None if reason is None else ToolResult.error("not_available", reason)

    async def _shown(self, one: _One) -> ToolResult:
        """Run a call, and show that it begins and how it ends."""
        outer, asked = self._outer, one.asked
        shown = ToolCall(asked.id, asked.name, self._redacted(asked.arguments[:SHOWN_CHARACTERS]))
        outer.show(InnerCallBegun(shown, outer.asked.id))
        outer.report(f"{one.number} {'call' if one.number == 1 else 'calls'}, {asked.name}", None)
        self._log.append((asked.name, _RUNNING))
        place = len(self._log) - 1
        self._open += 1
        started = time.perf_counter()
        result = ToolResult.error("interrupted", "The call was interrupted.")
        text = result.text()
        try:
            result, text = self._kept(asked.name, await self._journalled(one))
            self._log[place] = asked.name, _DONE if result.is_success else result.error_type or "execution_error"
        finally:
            self._open -= 1
            duration_ms = (time.perf_counter() - started) * 1000
            outer.show(InnerCallEnded(shown, outer.asked.id, self._short(result, text), duration_ms))
        self._note(one.key, asked.name, result)
        return result

    async def _journalled(self, one: _One) -> ToolResult:
        """Run a call, unless the script made it before it was interrupted."""
        journal = self._journal
        if journal is None:
            return (await self._in_turn(one)).result
        try:
            known = await journal.look(one.key, one.occurrence, lambda: self._open, is_repeatable=one.is_repeatable)
            if known is not None:
                result, marks = known
                self._take_marks(marks)
                self._outer.caller.conversation.add(marks)
                return result
            started = time.perf_counter()
            outcome = await self._in_turn(one)
            duration_ms = (time.perf_counter() - started) * 1000
            row = self._row(one, journal, duration_ms)
            await journal.finish(row, outcome.result, outcome.marks, had_effect=one.is_started)
            return outcome.result
        except DivergedError:
            text = "The script did not make the calls again that it had made before, so it was ended."
            self._end("interrupted", text)
        except StoreError as error:
            self._end("interrupted", f"The script was ended, since its calls cannot be written: {error}.")
        return self.ended or ToolResult.error("interrupted", "The script was ended.")

    def _row(self, one: _One, journal: Journal, duration_ms: float | None = None) -> ScriptCall:
        return ScriptCall(
            call_id=journal.call_id,
            key=one.key,
            occurrence=one.occurrence,
            number=one.number,
            tool=one.asked.name,
            arguments=one.asked.arguments,
            state=ScriptCallState.STARTED,
            duration_ms=duration_ms,
        )

    async def _in_turn(self, one: _One) -> ToolOutcome:
        """Run a call when there is room for it."""
        await self._wait_for_observers()
        if self._depth > 1:  # the call around it has a place, and waits for this one
            return await self._finished(one)
        async with self._allowance.slots:
            # Calls that were made within the limits run, but none after the user has refused the third one.
            if self.ended is not None and self._refusals >= MAX_REFUSALS:
                return ToolOutcome(one.asked, self.ended, 0)
            return await self._finished(one)

    async def _finished(self, one: _One) -> ToolOutcome:
        """Run a call; what it has read is known to the running call before its result is."""
        outer, caller, asked = self._outer, self._outer.caller, one.asked
        provenance, name, journal = outer.provenance, asked.name, self._journal

        async def starting() -> None:
            if journal is not None and not one.is_repeatable:
                await journal.start(self._row(one, journal))
                one.is_started = True

        views = provenance.paths.views
        within = Within(outer.asked.id, self._clock, self, one.number, self._depth, provenance.typed, views, starting)
        outcome = await self._run(
            asked,
            replace(caller, kind="script", within=within),
            loaded=outer.loaded,
            report=lambda message, fraction: outer.report(f"{name}: {message}", None),
            show=outer.show,
            act=one.act,
        )
        views.add(outcome.views)
        self._take_marks(outcome.marks)
        self.files += [each for each in outcome.result.attachments if each.is_for_user]
        return replace(outcome, result=self._adapt(name, asked.id, outcome.result))

    def _take_marks(self, marks: Iterable[Mark]) -> None:
        """Mark the result of the tool: nothing that is made of a page is that page, nor the user's own words."""
        self._outer.provenance.marks += [each.passed_on() for each in marks if each.kind is not MarkKind.USER]

    def _kept(self, name: str, result: ToolResult) -> tuple[ToolResult, str]:
        """Return a result for the script, all of it or an error, and its text."""
        text = result.text()
        size = len(text.encode("utf-8", "surrogatepass"))
        self._size_bytes += size
        if size > MAX_RESULT_BYTES:
            text = (
                f"Tool '{name}' ran, but its result of {size:,} bytes is more than the {MAX_RESULT_BYTES:,} that a "
                "script can take. Ask for a smaller part."
            )
            return ToolResult.error("too_large", text), text
        if self._size_bytes > MAX_TOTAL_BYTES:
            self._end("limit_reached", f"The results of one script can have {MAX_TOTAL_BYTES:,} bytes together.")
        return result, text

    def _redacted(self, text: str) -> str:
        if self._redaction is None:
            self._redaction = Redaction()
        return self._redaction((text,))[0]

    def _short(self, result: ToolResult, text: str) -> ToolResult:
        """Return a result for people: its beginning, without known keys and files.

        Args:
            result: the result.
            text: of it.
        """
        short = self._redacted(text[:SHOWN_CHARACTERS])
        if not result.is_success:
            return ToolResult.error(result.error_type or "execution_error", short)
        if len(text) > SHOWN_CHARACTERS:
            return ToolResult.success(f"{short} … ({len(text):,} characters)")
        return ToolResult.success(result.result if short == text else short)

    def _note(self, key: str, name: str, result: ToolResult) -> None:
        """Count calls that fail in the same way again and again."""
        if result.is_success:
            self._failures.pop(key, None)
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures >= MAX_SAME_FAILURES:
            self._end(
                "no_progress", f"The script made the same call of '{name}' {failures} times, and it failed each time."
            )
