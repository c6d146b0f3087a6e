"""Checks: what tools do with odd arguments, where nothing is permitted."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.arguments import LONG_TEXT
from oneclaw_devtools.conformance.finding import Check, Finding, Severity, summarised

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from oneclaw_devtools.conformance.facts import CallFacts, ToolFacts
    from oneclaw_devtools.conformance.probe import ProbeEnd

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

SHOWN_RESULT_CHARACTERS = 30_000
SHOWN_CAUSE_CHARACTERS = 200

_THROWN_AWAY = "files go to a temporary directory"

HANGS = Check(
    "calls.hangs",
    _E,
    "a call that does not end",
    "give every wait a separate limit; run what can hang with isolation='process'",
)
BLOCKS = Check(
    "calls.blocks",
    _E,
    "an async tool that does not let others go on",
    "await what takes time, or write the tool without async: then it runs in a thread",
)
KILLS = Check(
    "calls.kills",
    _E,
    "a call that ends the process",
    "raise an exception instead; run what can crash with isolation='process'",
)
EXITS = Check("calls.exits", _E, "a call that raises `SystemExit`", "return ToolResult.error, or raise an exception")
BROKEN = Check(
    "calls.broken", _E, "a call that fails by a slip in the code, such as `NameError`", "fix the tool's code"
)
RAISES = Check(
    "calls.raises",
    _W,
    "a call that is answered with an exception",
    "catch it, and return ToolResult.error with a sentence that says what to do instead",
)
NOT_JSON = Check(
    "calls.not-json", _E, "a result that JSON cannot hold", "return text, numbers, lists, dicts, or a pydantic model"
)
MISFIT = Check(
    "calls.signature",
    _E,
    "a function that does not take the arguments that its definition allows",
    "make the function's signature and the tool's parameters agree",
)
TRACEBACK = Check(
    "calls.traceback", _E, "a result with a traceback in it", "let the exception pass: the log gets the traceback"
)
LEAKS_KEY = Check(
    "calls.leaks-key",
    _E,
    "a result with a key of the environment in it",
    "never return the environment, or errors with it",
)
READS_OUTSIDE = Check(
    "calls.reads-outside",
    _E,
    "a result with a file in it that tools may not read",
    "open files by context.paths.readable(path) only, and declare files.read",
)
UNDECLARED = Check(
    "permissions.undeclared",
    _E,
    "a call that writes outside, starts a program or reaches the network without having to ask",
    "declare the permission, or use context.paths, context.http and context.ask_permission",
)
DESPITE = Check(
    "permissions.despite",
    _W,
    "a call that went further than it was permitted, which the check prevented",
    "use context.paths and context.http, which know what is granted",
)
PRINTS = Check("calls.prints", _W, "a call that prints on standard output", "return it, or use context.progress")
CHANGES = Check(
    "calls.changes-process",
    _W,
    "a call that changes what all tools share",
    "pass directories and settings to what needs them; other tools run at the same time",
)
RESULT_SCHEMA = Check(
    "calls.result-schema",
    _E,
    "a result that does not fit the tool's `output_schema`",
    "correct the schema, or what the tool returns",
)
LONG_RESULT = Check(
    "calls.long-result",
    _N,
    f"a result of more than {SHOWN_RESULT_CHARACTERS:,} characters, of which a model is shown a preview",
    "return a part, and a parameter to ask for more",
)
ECHOES = Check(
    "calls.echoes",
    _N,
    "tools that repeat a very long argument in whole, which the model pays for again",
    "cut what you quote in messages",
)
NO_MESSAGE = Check("calls.no-message", _W, "an error without a message", "say what is wrong and what to do instead")
ERROR_TYPE = Check(
    "calls.error-type",
    _W,
    "an error type that is not in snake_case",
    "name it in one or two words, such as file_not_found",
)
UNTRIED = Check(
    "calls.untried",
    _N,
    "tools that answered no call with anything but `permission_denied`",
    f"try them with --allow PERMISSION; {_THROWN_AWAY}",
)

_SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
_SLIPS = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "AttributeError", "SyntaxError")
_PERMISSIONS_FOR = {
    "write": ("files.", "config.", "tools.", "tasks."),
    "program": ("shell.",),
    "network": ("network.",),
    "signal": ("shell.",),
}
_BY_LEAK = {"key": LEAKS_KEY, "file": READS_OUTSIDE, "traceback": TRACEBACK}


def call_findings(
    calls: Iterable[CallFacts], tools: Sequence[ToolFacts], allow: Collection[str] = ()
) -> Iterator[Finding]:
    """Judge the calls, and say each thing once for each tool.

    Args:
        calls: of all tools.
        tools: of the plugin.
        allow: the permissions that they had.
    """
    by_tool: dict[str, list[CallFacts]] = defaultdict(list)
    for call in calls:
        by_tool[call.tool].append(call)
    untried = []
    for tool in tools:
        made = by_tool.get(tool.name, [])
        yield from _of_tool(tool, made)
        answered = [call for call in made if call.error_type != "validation_error"]
        if answered and all(call.error_type == "permission_denied" for call in answered):
            untried.append(tool)
    echoing = [
        name
        for name, made in by_tool.items()
        if any(call.case == LONG_TEXT and call.size_characters > SHOWN_RESULT_CHARACTERS for call in made)
    ]
    yield from summarised(ECHOES, echoing, "called with a very long text, the result holds all of it")
    if untried:
        permissions = sorted({each for tool in untried for each in tool.required_permissions if each not in allow})
        names = [tool.name for tool in untried]
        options = " ".join(f"--allow {each}" for each in permissions) or "--allow PERMISSION"
        remedy = f"try {'it' if len(names) == 1 else 'them'} with {options}; {_THROWN_AWAY}"
        yield from summarised(UNTRIED, names, f"needs {', '.join(permissions) or 'a permission'}", remedy)


def late_finding(call: Mapping[str, str], seconds: float) -> Finding:
    """Say that a call did not end."""
    return HANGS.found(f"tool {call['tool']}", f"{_case(call['case'])}: no answer within {seconds:g} s")


def end_finding(call: Mapping[str, str], end: ProbeEnd, tool: ToolFacts | None) -> Finding | None:
    """Say that the process ended, or stood still, in a call; an isolated tool may do as it likes."""
    if end.has_hung:
        return BLOCKS.found(f"tool {call['tool']}", f"{_case(call['case'])}: nothing else ran, and it {end.how}")
    if tool is not None and tool.isolation is not None:
        return None
    return KILLS.found(f"tool {call['tool']}", f"{_case(call['case'])}: the process {end.how}")


def _of_tool(tool: ToolFacts, calls: Sequence[CallFacts]) -> Iterator[Finding]:
    said: set[tuple[str, str]] = set()
    for call in calls:
        for check, cause in _of_call(tool, call):
            # Of what goes wrong with several arguments in the same way, one is enough.
            key = (check.name, cause if check in (UNDECLARED, DESPITE) else "")
            if key not in said:
                said.add(key)
                yield check.found(
                    tool.where, f"{_case(call.case)} ({call.arguments[:60]}): {cause[:SHOWN_CAUSE_CHARACTERS]}"
                )


def _of_call(tool: ToolFacts, call: CallFacts) -> Iterator[tuple[Check, str]]:
    for leak in call.leaks:
        if leak in _BY_LEAK:
            yield _BY_LEAK[leak], _BY_LEAK[leak].about
    for tried in call.guarded:
        kind = tried.partition(":")[0]
        is_declared = any(each.startswith(_PERMISSIONS_FOR.get(kind, ())) for each in tool.required_permissions)
        has_own = any(not each.startswith(("files.", "network.", "shell.")) for each in tool.required_permissions)
        yield (DESPITE if is_declared or has_own else UNDECLARED), f"it tried to {_deed(tried)}"
    if call.printed:
        yield PRINTS, f"it printed {call.printed[:80]!r}"
    if call.changes:
        yield CHANGES, f"it changed {'; '.join(call.changes)}"
    if call.misfits:
        yield RESULT_SCHEMA, f"its result does not fit its output_schema: {'; '.join(call.misfits)}"
    if call.size_characters > SHOWN_RESULT_CHARACTERS and call.case != LONG_TEXT:
        yield LONG_RESULT, f"its result has {call.size_characters:,} characters"
    if call.status == "error":
        yield from _of_error(call)


def _of_error(call: CallFacts) -> Iterator[tuple[Check, str]]:
    if not call.text.strip():
        yield NO_MESSAGE, f"the error {call.error_type!r} has no message"
    if call.error_type and not _SNAKE_CASE.fullmatch(call.error_type):
        yield ERROR_TYPE, f"the error type is {call.error_type!r}"
    if call.error_type == "timeout":
        yield HANGS, "it reached its own timeout"
    if call.error_type != "execution_error":
        return
    raised = call.raised or ""
    if "JSON" in call.text and call.text.startswith("The tool returned an object of type "):
        yield NOT_JSON, call.text
    elif raised == "SystemExit":
        yield EXITS, call.text
    elif raised in _SLIPS:
        yield BROKEN, call.text
    elif raised in ("ToolDefinitionError", "PluginError"):
        yield MISFIT, call.text
    elif (raised or "cancelled itself" in call.text) and not call.guarded:
        yield RAISES, call.text


def _deed(tried: str) -> str:
    kind, _, detail = tried.partition(": ")
    return {"write": "write ", "program": "start ", "network": "connect to ", "signal": "end "}.get(kind, "") + detail


def _case(name: str) -> str:
    return f"called with {name}"
