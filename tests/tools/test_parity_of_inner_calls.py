"""Each case runs once as a call of the model and once as a call of a script: outcome and records are the same."""

import asyncio
from dataclasses import dataclass, field

import pytest
from how_long import some

from oneclaw_core import Ask, Deny, ToolContext, ToolResult, ToolSelection, hookimpl, tool
from oneclaw_core.types.messages import MessageType

FILE = "notes.txt"


class Plugin:
    """Tools, and hooks that note what they see and do what the arguments say."""

    def __init__(self):
        self.gated, self.observed, self.done, self.decided = [], [], [], []

    @hookimpl
    def register_tools(self, register):
        @tool
        def act(what: str = "") -> str:
            """Have an effect."""
            self.done.append(what)
            return f"did {what}"

        @tool(required_permissions=["custom.write"])
        def guarded(what: str = "") -> str:
            """Have an effect, if the user agrees."""
            self.done.append(what)
            return f"wrote {what}"

        @tool
        async def asks(subject: str, context: ToolContext) -> str:
            """Ask for a permission while running."""
            await context.ask_permission("custom.visit", "visit it", subject)
            self.done.append(subject)
            return subject

        @tool
        def fails() -> str:
            """Fail."""
            raise RuntimeError("broken")

        @tool(timeout_seconds=0.1)
        async def hangs() -> str:
            """Never end."""
            await asyncio.sleep(60)
            return ""

        @tool(reads=["private"])
        def private() -> str:
            """Read private data."""
            return "diary"

        @tool
        def outside(context: ToolContext) -> str:
            """Read what others wrote."""
            context.mark_outside("the mail 7")
            return "mail"

        @tool
        async def question(context: ToolContext) -> str:
            """Ask the user."""
            return await context.ask_user("Which?") or ""

        @tool
        async def writes(context: ToolContext) -> str:
            """Write a file."""
            path = await context.writable(FILE)
            path.write_text("new")
            return path.name

        @tool(timeout_seconds=60)
        async def script(name: str, arguments: dict, context: ToolContext) -> ToolResult:
            """Make one call."""
            return await context.call_tool(name, arguments)

        for each in (act, guarded, asks, fails, hangs, private, outside, question, writes, script):
            register(each)

    @hookimpl
    def rewrite_tool_call(self, context, call):
        rewritten = {"rewritten": {"what": "other"}, "spoilt": {"what": ["no", "text"]}}
        return rewritten.get(call.arguments.get("what"))

    @hookimpl
    def before_tool_call(self, context, call):
        if call.tool == "script":
            return None
        self.gated.append((call.tool, dict(call.arguments)))
        what = call.arguments.get("what")
        if what == "gate breaks":
            raise RuntimeError("broken gate")
        return {"denied": Deny("not today"), "gate asks": Ask("custom.gate", "look", "that")}.get(what)

    @hookimpl
    def rewrite_tool_result(self, context, call, result):
        return ToolResult.success("[hidden]") if call.arguments.get("what") == "result" else None

    @hookimpl
    def after_tool_call(self, context, call, result):
        if call.tool != "script":
            self.observed.append((call.tool, dict(call.arguments), result.error_type, result.text()))

    @hookimpl
    def permission_decided(self, context, decision):
        self.decided.append((decision.permission, decision.subject, decision.is_granted, decision.decided_by))


@dataclass
class Case:
    """A call.

    Attributes:
        tool: its tool.
        arguments: of it.
        says: the user's answers to questions for permissions.
        replies: the user's answers to other questions.
        is_disabled: True if the user has disabled the tool.
        is_outside_toolset: True if the agent may not use it.
        error_type: expected.
    """

    tool: str
    arguments: dict = field(default_factory=dict)
    says: tuple = ()
    replies: tuple = ()
    is_disabled: bool = False
    is_outside_toolset: bool = False
    error_type: str | None = None


DENIED = "permission_denied"
CASES = {
    "success": Case("act", {"what": "a"}),
    "unknown tool": Case("atc", error_type="not_found"),
    "wrong arguments": Case("act", {"what": 1.5}, error_type="validation_error"),
    "unknown argument": Case("act", {"which": "a"}, error_type="validation_error"),
    "disabled": Case("act", is_disabled=True, error_type="not_available"),
    "outside the toolset": Case("act", is_outside_toolset=True, error_type="not_available"),
    "rewritten call": Case("act", {"what": "rewritten"}),
    "rewritten call that is invalid": Case("act", {"what": "spoilt"}, error_type="execution_error"),
    "rewritten result": Case("act", {"what": "result"}),
    "denied by a gate": Case("act", {"what": "denied"}, error_type=DENIED),
    "gate that breaks": Case("act", {"what": "gate breaks"}, error_type=DENIED),
    "gate that asks, no": Case("act", {"what": "gate asks"}, says=("no",), error_type=DENIED),
    "gate that asks, yes": Case("act", {"what": "gate asks"}, says=("once",)),
    "permission, once": Case("guarded", {"what": "a"}, says=("once",)),
    "permission, in the session": Case("guarded", {"what": "a"}, says=("session",)),
    "permission, always": Case("guarded", {"what": "a"}, says=("always",)),
    "permission, no": Case("guarded", {"what": "a"}, says=("no",), error_type=DENIED),
    "permission, never": Case("guarded", {"what": "a"}, says=("never",), error_type=DENIED),
    "permission with a subject": Case("asks", {"subject": "s"}, says=("always",)),
    "permission with a subject, no": Case("asks", {"subject": "s"}, says=("no",), error_type=DENIED),
    "tool that fails": Case("fails", error_type="execution_error"),
    "tool that hangs": Case("hangs", error_type="timeout"),
    "private data": Case("private"),
    "text from outside": Case("outside"),
    "question": Case("question", replies=("this one",)),
    "file outside the workspace": Case("writes", says=("once",)),
}


def records(home, plugin, result):
    """Return all that a call has left, for comparison."""
    app = home.app
    home.run(app.plugins.drain(5))
    session = home.run(app.store.last_used_session())
    messages = home.run(app.store.messages(session.id))
    stored = next(each for each in messages if each.type is MessageType.TOOL_RESULT)
    log = home.run(app.store.permission_log(limit=10))
    grants = home.run(app.store.grants())
    return {
        "result": (result.error_type, result.text()),
        "gates": plugin.gated,
        "observers": plugin.observed,
        "decisions": plugin.decided,
        "effects": plugin.done,
        "asked": [(each.permission, each.subject, each.detail, dict(each.arguments)) for each in home.user.asked],
        "questions": [(each.question, each.tool) for each in home.user.questions],
        "log": [(each.permission, each.subject, each.tool_name, each.is_granted, each.decided_by) for each in log],
        "grants": [(each.permission, each.pattern, each.decision) for each in grants],
        # The user's own words are those of the call alone: what is made of them is not.
        "marks": [(str(each.kind), each.origin) for each in stored.marks if str(each.kind) != "user"],
    }


@pytest.mark.parametrize("name", some(CASES, 9))
def test_a_call_of_a_script_is_a_call_of_the_model(name, oneclaw_factory, tmp_path):
    case, found = CASES[name], []
    for is_inner in (False, True):
        plugin = Plugin()
        folder = tmp_path / ("script" if is_inner else "model")
        home = oneclaw_factory([plugin], home=folder, check_plugins=False)
        if case.says:
            home.user.says(*case.says)
        if case.replies:
            home.user.replies(*case.replies)
        if case.is_disabled:
            home.run(home.app.store.set_tool_enabled("tool", case.tool, False))
        options = {}
        if case.is_outside_toolset:
            selection = ToolSelection.naming(["script"])
            home.run(home.app.services.agents.create("Narrow", "You help.", selection=selection))
            options = {"agent": "Narrow"}
        if is_inner:
            home.model.calls("script", name=case.tool, arguments=case.arguments).says("done")
        else:
            home.model.calls(case.tool, **case.arguments).says("done")
        result = home.send("go", **options).tool_calls[-1].result
        found.append(records(home, plugin, result))

    by_model, by_script = found

    assert by_script == by_model
    assert by_model["result"][0] == case.error_type


@pytest.mark.parametrize("is_inner", [False, True])
def test_a_cancelled_turn_cancels_the_call(is_inner, oneclaw_factory):
    plugin, begun, ended = Plugin(), asyncio.Event(), []

    @tool
    async def endless() -> str:
        """Never end."""
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return ""

    home = oneclaw_factory([plugin], check_plugins=False)
    home.app.add_tools(endless)
    if is_inner:
        home.model.calls("script", name="endless", arguments={})
    else:
        home.model.calls("endless")

    async def stop():
        turn = asyncio.ensure_future(home.app.ask("go", session="test", model="scripted/model"))
        await begun.wait()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)

    home.run(stop())
    session = home.run(home.app.store.find_session("test"))
    results = [each for each in home.run(home.app.store.messages(session.id)) if each.type is MessageType.TOOL_RESULT]

    assert ended == ["cancelled"]
    assert [each.error_type for each in results] == ["interrupted"]
