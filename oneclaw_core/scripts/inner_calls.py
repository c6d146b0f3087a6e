"""The calls that a running tool makes: each passes the same steps as a call of a model."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.scripts.journal import (
    DivergedError,
    Journal,
    ScriptCall,
    ScriptCallState,
    ScriptStart,
    continuing_text,
)
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.tools.calls.call import Call, InnerCallBegun, InnerCallEnded, ToolOutcome, Within
from oneclaw_core.tools.calls.steps import unavailable_tool, unknown_tool
from oneclaw_core.types.budget import ScriptAllowance
from oneclaw_core.types.messages import Attachment, ToolCall
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS, LOAD_TOOL_GROUP
from oneclaw_core.types.tools import Act, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from oneclaw_core.scripts.journal import ScriptRecords
    from oneclaw_core.tools.calls.running_call import Questions
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry
    from oneclaw_core.types.permissions import PassingGrant


MAX_PURPOSE_CHARACTERS = 200
_KEY_BYTES = 9

Adapt = Callable[[str, str, ToolResult], ToolResult]
"""Returns the result of a call as a script gets it, for :func:`oneclaw_core.scripts.begin_script`."""


@dataclass(slots=True)
class _One:
    """A call on its way.

    Attributes:
        asked: the call.
        row: the same, as it is stored.
        act: stands in for the tool.
        is_repeatable: True if it can be made again.
        is_started: True if it was written that it may have had its effect.
    """

    asked: ToolCall
    row: ScriptCall
    act: Act | None
    is_repeatable: bool
    is_started: bool = False


class InnerCalls:
    """Runs the calls that the tool of one running call makes.

    Args:
        outer: the running call.
        questions: of the running call; they know its event loop, its time and when it ends.
        executor: passes a call through the steps.
        registry: the tools there are.
        wait_for_observers: returns when the observers of plugins keep up; ``None`` without any.
        records: of the calls of scripts; ``None`` without a store.

    Attributes:
        rules: the limits for all calls.
    """

    def __init__(
        self,
        outer: Call,
        questions: Questions,
        executor: ToolExecutor,
        registry: ToolRegistry,
        wait_for_observers: Callable[[], Awaitable[None]] | None = None,
        records: ScriptRecords | None = None,
    ) -> None:
        self.rules = Rules(outer)
        self._registry = registry
        self._outer = outer
        self._questions = questions
        self._executor = executor
        self._wait_for_observers = wait_for_observers
        self._records = records
        self._journal: Journal | None = None
        self._log = CallLog()
        self._adapt: Adapt = lambda tool, call_id, result: result
        self._files: list[Attachment] = []
        self._open = 0
        self._is_over = False
        self._number = 0
        self._occurrences: dict[str, int] = {}

    # For the tool, on whatever event loop it runs

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
        made = self._call(name, arguments, act, is_repeatable=is_repeatable)
        return await self._questions.loop.run_in_task(made)

    async def begin(
        self, code: str, purpose: str, engine: str, continues: str | None, adapt: Adapt | None = None
    ) -> ScriptStart:
        """Begin a script, see :func:`oneclaw_core.scripts.script.begin_script`."""
        return await self._questions.loop.run(self._begin(code, purpose, engine, continues, adapt))

    async def end_script(self, *, is_final: bool) -> None:
        """Note that a script has finished, or can go on later."""
        self._is_over = is_final
        if self._journal is not None and is_final:
            await self._questions.loop.run(self._journal.end())

    def summary(self) -> str:
        """Say which calls were made, how they ended and how a script that did not finish can go on."""
        parts = [self._log.summary()]
        if self._journal is not None and self._log and not self._is_over:
            parts.append(continuing_text(self._journal.call_id))
        return "\n".join(part for part in parts if part)

    def with_files(self, result: ToolResult) -> ToolResult:
        """Return the result of the tool with the files for the user that its calls had."""
        return replace(result, attachments=(*result.attachments, *self._files)) if self._files else result

    def find(self, name: str) -> RegisteredTool | None:
        """Return a tool; ``None`` if there is none of that name."""
        return self._outer.caller.own_tools.get(name) or self._registry.find(name)

    def tool_names(self) -> tuple[str, ...]:
        """Return the names of all tools that can be called now."""
        caller = self._outer.caller
        found = dict.fromkeys((*caller.active.names, *caller.own_tools))
        return tuple(each for each in found if self._problem(each) is None)

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Return why tools cannot be called, by their names; those that can are left out."""
        found = {name: self._problem(name) for name in names}
        return {name: problem for name, problem in found.items() if problem is not None}

    def only_for_models(self, name: str) -> str | None:
        """Return why only a model may call a tool, ``None`` if others may too."""
        if name in _OF_THE_SESSION:
            return f"Tool '{name}' cannot be called by a script: call it by itself, then run the script."
        if name in (_RUNS_SCRIPTS, self._outer.asked.name):
            return f"Tool '{name}' cannot be called by a script."
        found = self.find(name)
        if found is not None and found.definition.behaviour.is_poll:
            return f"Tool '{name}' waits for something, so a script cannot call it: call it by itself."
        return None

    def _problem(self, name: str) -> str | None:
        """Return why a tool cannot be called now, ``None`` if it can."""
        caller, found = self._outer.caller, self.find(name)
        if found is None:
            return unknown_tool(self._registry, name, caller)
        return self.only_for_models(name) or unavailable_tool(
            self._registry, name, found.source, caller, self._outer.loaded
        )

    # On the event loop of the home

    async def _begin(
        self, code: str, purpose: str, engine: str, continues: str | None, adapt: Adapt | None
    ) -> ScriptStart:
        caller, call_id = self._outer.caller, self._outer.asked.id
        digest = blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        start = ScriptStart(
            code=code,
            purpose=" ".join(purpose.split())[:MAX_PURPOSE_CHARACTERS],
            engine=engine,
            started_ms=time.time_ns() // 1_000_000,
            seed=tuple(int.from_bytes(digest[place : place + 4], "big") for place in range(0, 16, 4)),
        )
        if self._records is not None and caller.session_id is not None and caller.within is None:
            self._journal = await Journal.begun(self._records, caller.session_id, call_id, start, continues)
            start = self._journal.start_of_script
        elif continues is not None:
            raise UsageError("there is no session here, so no earlier script to continue")
        self.rules.purpose = start.purpose
        self._adapt = adapt or self._adapt
        return start

    async def _call(
        self, name: str, arguments: Mapping[str, Any], act: Act | None, *, is_repeatable: bool
    ) -> ToolResult:
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
        row = ScriptCall(
            call_id=first,
            key=key,
            occurrence=occurrence,
            number=self._number,
            tool=name,
            arguments=text,
            state=ScriptCallState.STARTED,
        )
        refused = self.rules.refused(self._number)
        if refused is not None:
            return refused
        if act is None and (reason := self.only_for_models(name)) is not None:
            return ToolResult.error("not_available", reason)
        found = self.find(name)
        is_repeatable = is_repeatable or (found is not None and found.definition.is_repeatable)
        return await self._shown(_One(asked, row, act, is_repeatable))

    async def _shown(self, one: _One) -> ToolResult:
        """Run a call, and show that it begins and how it ends."""
        outer, name = self._outer, one.asked.name
        shown = ToolCall(one.asked.id, name, self._log.redacted(one.asked.arguments))
        outer.show(InnerCallBegun(shown, outer.asked.id))
        outer.report(f"{one.row.number} {'call' if one.row.number == 1 else 'calls'}, {name}", None)
        place = self._log.begin(name)
        self._open += 1
        started = time.perf_counter()
        result = ToolResult.error("interrupted", "The call was interrupted.")
        text = result.text()
        try:
            result = await self._journalled(one)
            text = result.text()
            kept = self.rules.kept(name, result, text)
            result, text = kept, text if kept is result else kept.text()
            self._log.end(place, result)
        finally:
            self._open -= 1
            duration_ms = (time.perf_counter() - started) * 1000
            outer.show(InnerCallEnded(shown, outer.asked.id, self._log.short(result, text), duration_ms))
        self.rules.note(one.row.key, name, result)
        return result

    async def _journalled(self, one: _One) -> ToolResult:
        """Run a call, unless the script made it before it was interrupted."""
        journal = self._journal
        if journal is None:
            return (await self._in_turn(one)).result
        try:
            known = await journal.look(one.row, lambda: self._open, is_repeatable=one.is_repeatable)
            if known is not None:
                result, marks = known
                self._take_marks(marks)
                self._outer.caller.conversation.add(marks)
                return result
            started = time.perf_counter()
            outcome = await self._in_turn(one)
            row = replace(one.row, duration_ms=(time.perf_counter() - started) * 1000)
            await journal.finish(row, outcome.result, outcome.marks, had_effect=one.is_started)
            return outcome.result
        except DivergedError:
            text = "The script did not make the calls again that it had made before, so it was ended."
            self.rules.end("interrupted", text)
        except StoreError as error:
            self.rules.end("interrupted", f"The script was ended, since its calls cannot be written: {error}.")
        return self.rules.ended or ToolResult.error("interrupted", "The script was ended.")

    async def _in_turn(self, one: _One) -> ToolOutcome:
        """Run a call when there is room for it."""
        if self._wait_for_observers is not None:
            await self._wait_for_observers()
        rules = self.rules
        if rules.depth > 1:  # the call around it has a place, and waits for this one
            return await self._finished(one)
        async with rules.allowance.slots:
            # Calls that were made within the limits run, but none after the user has refused the third one.
            if rules.ended is not None and rules.is_refused:
                return ToolOutcome(one.asked, rules.ended, 0)
            return await self._finished(one)

    async def _finished(self, one: _One) -> ToolOutcome:
        """Run a call; what it has read is known to the running call before its result is."""
        outer, asked, journal, rules = self._outer, one.asked, self._journal, self.rules
        provenance, name = outer.provenance, asked.name

        async def starting() -> None:
            if journal is not None and not one.is_repeatable:
                await journal.write(one.row)
                one.is_started = True

        clock, views = self._questions.clock, provenance.paths.views
        within = Within(outer.asked.id, clock, rules, one.row.number, rules.depth, provenance.typed, views, starting)
        outcome = await self._executor.outcome(
            asked,
            replace(outer.caller, kind="script", within=within),
            loaded=outer.loaded,
            report=lambda message, fraction: outer.report(f"{name}: {message}", None),
            show=outer.show,
            act=one.act,
        )
        views.add(outcome.views)
        self._take_marks(outcome.marks)
        self._files += [each for each in outcome.result.attachments if each.is_for_user]
        return replace(outcome, result=self._adapt(name, asked.id, outcome.result))

    def _take_marks(self, marks: Iterable[Mark]) -> None:
        """Mark the result of the tool: nothing that is made of a page is that page, nor the user's own words."""
        self._outer.provenance.marks += [each.passed_on() for each in marks if each.kind is not MarkKind.USER]


SHOWN_CHARACTERS = 2_000
_RUNNING, _DONE = "running", "done"


@dataclass(slots=True)
class CallLog:
    """Knows how each call ended, and writes calls without secrets."""

    _ended: list[tuple[str, str]] = field(default_factory=list)

    def begin(self, name: str) -> int:
        """Note that a call of a tool begins; return its place."""
        self._ended.append((name, _RUNNING))
        return len(self._ended) - 1

    def end(self, place: int, result: ToolResult) -> None:
        """Note how a call ended."""
        ended = _DONE if result.is_success else result.error_type or "execution_error"
        self._ended[place] = self._ended[place][0], ended

    def __bool__(self) -> bool:
        """Return True if a call was made."""
        return bool(self._ended)

    def summary(self) -> str:
        """Say which calls were made and how they ended, in the order of their beginnings."""
        parts = []
        for state, words in ((_DONE, "finished"), (_RUNNING, "may or may not have had their effect")):
            counts = Counter(name for name, ended in self._ended if ended == state)
            if counts:
                listed = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())
                parts.append(f"Calls that {words}: {listed}.")
        failed = Counter(f"{name} ({ended})" for name, ended in self._ended if ended not in (_DONE, _RUNNING))
        if failed:
            listed = ", ".join(each if count == 1 else f"{each} {count} times" for each, count in failed.items())
            parts.append(f"Calls that failed: {listed}.")
        return "\n".join(parts)

    def redacted(self, text: str) -> str:
        """Return the beginning of a text without known secrets."""
        return redact(text[:SHOWN_CHARACTERS])

    def short(self, result: ToolResult, text: str) -> ToolResult:
        """Return a result for people: its beginning, without known secrets and files.

        Args:
            result: the result.
            text: of it.
        """
        short = self.redacted(text)
        if not result.is_success:
            return ToolResult.error(result.error_type or "execution_error", short)
        if len(text) > SHOWN_CHARACTERS:
            return ToolResult.success(f"{short} … ({len(text):,} characters)")
        return ToolResult.success(result.result if short == text else short)


# Calls that change which tools a session has belong to the session.
_OF_THE_SESSION = frozenset({LOAD_TOOL_GROUP, FIND_TOOL_GROUPS})
_RUNS_SCRIPTS = "js_eval"


MAX_CALLS = 500
MAX_RESULT_BYTES = 4_000_000
MAX_TOTAL_BYTES = 64_000_000
MAX_DEPTH = 2
MAX_REFUSALS = 3
MAX_SAME_FAILURES = 10
USES_BETWEEN_QUESTIONS = 10

# What reaches other people, or cannot be taken back.
_CAREFUL_PARTS = frozenset({"send", "share", "forward", "delete", "spend"})


class Rules:
    """Counts calls, their results, failures and refusals; see :class:`oneclaw_core.tools.calls.call.ScriptRules`.

    Args:
        outer: the call of the running tool.

    Attributes:
        purpose: the purpose of the script that makes the calls, in the words of a model; ``""`` for none.
        ended: why no more calls are made, ``None`` as long as they are.
        granted: what the user has granted for the rest of the script.
        depth: how many tools are between the calls and the one that the model or the user made, at least 1.
        allowance: what the scripts of the turn may do.
    """

    def __init__(self, outer: Call) -> None:
        within, turn = outer.caller.within, outer.caller.turn
        self.purpose = ""
        self.ended: ToolResult | None = None
        self.granted: list[PassingGrant] = []
        self.depth = 1 if within is None else within.depth + 1
        self.allowance = turn.scripts if turn is not None else ScriptAllowance()
        self._tool_name = outer.asked.name
        self._size_bytes = 0
        self._refusals = 0
        self._refused_permissions: set[str] = set()
        self._uses: dict[str, int] = {}
        self._failures: dict[str, int] = {}

    @property
    def is_refused(self) -> bool:
        """True if the user has refused so many calls that none is made any more."""
        return self._refusals >= MAX_REFUSALS

    def in_words(self, number: int) -> str:
        """Say which call of which script this is."""
        what = f"the script: {self.purpose}" if self.purpose else f"the tool {self._tool_name}"
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
        if self.is_refused:
            self.end("permission_denied", f"The user refused {self._refusals} calls, so the script was ended.")

    def end(self, error_type: str, message: str) -> None:
        """Make no more calls; the first reason counts."""
        if self.ended is None:
            self.ended = ToolResult.error(error_type, message)

    def refused(self, number: int) -> ToolResult | None:
        """Return the result of a call beyond the limits, ``None`` for one within them.

        Args:
            number: of the call, from 1.
        """
        if self.ended is None and number > MAX_CALLS:
            self.end("limit_reached", f"At most {MAX_CALLS} calls can be made by one script.")
        if self.ended is None and not self.allowance.take():
            text = f"At most {ScriptAllowance.MAX_CALLS:,} calls can be made by the scripts of one turn."
            self.end("limit_reached", text)
        if self.ended is not None:
            return self.ended
        if self.depth > MAX_DEPTH:
            return ToolResult.error("not_available", "Tools that are called by tools of a script can call no others.")
        return None

    def kept(self, name: str, result: ToolResult, text: str) -> ToolResult:
        """Return a result for the script, all of it or an error.

        Args:
            name: of the tool.
            result: of the call.
            text: of the result.
        """
        size = len(text.encode("utf-8", "surrogatepass"))
        self._size_bytes += size
        if size > MAX_RESULT_BYTES:
            text = (
                f"Tool '{name}' ran, but its result of {size:,} bytes is more than the {MAX_RESULT_BYTES:,} that a "
                "script can take. Ask for a smaller part."
            )
            return ToolResult.error("too_large", text)
        if self._size_bytes > MAX_TOTAL_BYTES:
            self.end("limit_reached", f"The results of one script can have {MAX_TOTAL_BYTES:,} bytes together.")
        return result

    def note(self, key: str, name: str, result: ToolResult) -> None:
        """Count calls that fail in the same way again and again."""
        if result.is_success:
            self._failures.pop(key, None)
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures >= MAX_SAME_FAILURES:
            self.end(
                "no_progress", f"The script made the same call of '{name}' {failures} times, and it failed each time."
            )
