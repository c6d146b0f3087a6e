"""A script that is run again makes no call twice: what it did is in its journal, which belongs to the session."""

import json
import os
from dataclasses import replace

import pytest

from oneclaw_core import ToolContext, ToolResult, UsageError, hookimpl, tool
from oneclaw_core.scripts import begin_script, journal
from oneclaw_core.scripts.journal import ScriptCallState
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.types.messages import MessageType

STEPS = [["look", {"x": 1}], ["put", {"x": 1}], ["guarded", {"x": 2}], ["put", {"x": 3}]]


class Tools:
    """Tools that note what they did, and one that runs scripts: lists of calls."""

    def __init__(self):
        self.done, self.steps, self.engine = [], [*STEPS], "1"

    @hookimpl
    def register_tools(self, register):
        @tool(read_only=True)
        def look(x: int) -> dict:
            """Look."""
            self.done.append(("look", x))
            return {"x": x}

        @tool
        def put(x: int) -> str:
            """Have an effect."""
            self.done.append(("put", x))
            return f"put {x}"

        @tool(required_permissions=["custom.write"])
        def guarded(x: int) -> str:
            """Have an effect, if the user agrees."""
            self.done.append(("guarded", x))
            return f"guarded {x}"

        @tool
        async def script(context: ToolContext, continues: str | None = None) -> ToolResult:
            """Make the calls that the test says, up to the first that fails."""
            code = json.dumps(self.steps)
            try:
                begun = await begin_script(context, code, "a test", engine=self.engine, continues=continues)
            except UsageError as error:
                return ToolResult.error("validation_error", str(error))
            results = []
            for name, arguments in json.loads(begun.code):
                result = await context.call_tool(name, arguments)
                if not result.is_success:
                    await begun.end(is_final=False)
                    return ToolResult.error(result.error_type, f"{result.text()}\n{begun.summary()}")
                results.append(result.result)
            await begun.end()
            return ToolResult.success([results, begun.started_ms, begun.seed])

        for each in (look, put, guarded, script):
            register(each)


@pytest.fixture
def tools():
    return Tools()


@pytest.fixture
def home(oneclaw_factory, tools):
    return oneclaw_factory([tools], check_plugins=False)


def run(home, **arguments):
    home.model.calls("script", **arguments).says("done")
    return home.send("go").tool_calls[-1].result


def call_id(home, place=-1):
    session = home.run(home.app.store.last_used_session())
    calls = [each for each in home.run(home.app.store.messages(session.id)) if each.type is MessageType.TOOL_CALL]
    return calls[place].tool_call_id


def rows(home):
    session = home.run(home.app.store.last_used_session())
    return home.run(home.app.store.script_calls(session.id))


@pytest.mark.long
def test_a_script_goes_on_after_a_later_grant_without_doing_anything_twice(home, tools):
    home.user.says("no", "once")
    refused = run(home)
    assert refused.error_type == "permission_denied"
    assert "Calls that finished: look, put." in refused.error_message
    first = call_id(home)
    assert f'js_eval with continues "{first}"' in refused.error_message

    went_on = run(home, continues=first)

    assert went_on.result[0] == [{"x": 1}, "put 1", "guarded 2", "put 3"]
    assert tools.done == [("look", 1), ("put", 1), ("guarded", 2), ("put", 3)]


def test_time_and_seed_are_those_of_the_first_start(home):
    home.user.says("no", "once")
    run(home)
    about = json.loads(rows(home)[0].arguments)

    went_on = run(home, continues=call_id(home)).result

    assert went_on[1:] == [about["started_ms"], about["seed"]]


def test_a_call_that_continues_can_be_continued(home, tools):
    home.user.says("no", "no", "once")
    run(home)
    first = call_id(home)
    assert run(home, continues=first).error_type == "permission_denied"

    assert run(home, continues=call_id(home)).is_success
    assert tools.done.count(("put", 1)) == 1


@pytest.mark.parametrize("is_changed", [False, True])
def test_what_cannot_be_continued_is_said(home, tools, is_changed):
    home.user.says("no" if is_changed else "once")
    run(home)
    tools.engine = "2" if is_changed else "1"

    result = run(home, continues=call_id(home))

    assert result.error_type == "validation_error"
    assert ("its engine is another by now" if is_changed else "that script has finished") in result.error_message
    assert "no script 'none'" in run(home, continues="none").error_message


def test_a_call_that_may_have_had_its_effect_is_not_made_again_nor_tried_anew(home, tools):
    home.user.says("no", "session")
    run(home)
    first, session = call_id(home), home.run(home.app.store.last_used_session())
    put = next(each for each in rows(home) if each.tool == "put")
    started = replace(put, state=ScriptCallState.STARTED, result=None)
    home.run(home.app.store.note_script_calls(session.id, [started]))
    result = run(home, continues=first)
    assert result.error_type == "interrupted"
    assert "It is not made again" in result.error_message
    assert tools.done.count(("put", 1)) == 1


def test_a_script_that_does_something_else_is_ended_before_its_first_new_effect(home, tools, monkeypatch):
    monkeypatch.setattr(journal, "DIVERGENCE_SECONDS", 0.2)
    home.user.says("no", "once")
    run(home)
    first, itself = call_id(home), rows(home)[0]
    about = json.loads(itself.arguments) | {"code": json.dumps([["look", {"x": 1}], ["put", {"x": 99}]])}
    changed = "UPDATE script_calls SET arguments = :about WHERE call_id = :call AND number = 0"
    place = {"about": json.dumps(about), "call": first}
    home.run(home.app.store._database.write(lambda it: it.execute(changed, place)))
    result = run(home, continues=first)
    assert result.error_type == "interrupted"
    assert result.error_message.startswith("The script did not make the calls again")
    assert ("put", 99) not in tools.done


def test_calls_are_written_before_and_after_and_shortened_at_the_end(home, tools):
    home.user.says("session")
    tools.steps = [["look", {"x": 1}], ["put", {"x": 1}]]
    run(home)
    itself, *calls = rows(home)
    assert itself.state is ScriptCallState.ENDED
    assert [(each.number, each.tool, each.state) for each in calls] == [
        (1, "look", ScriptCallState.READ),
        (2, "put", ScriptCallState.DONE),
    ]
    assert calls[1].result == '"put 1"'


def test_the_journal_goes_with_its_session(home):
    home.user.says("session")
    run(home)
    store, session = home.app.store, home.run(home.app.store.last_used_session())
    count = len(rows(home))
    branch = home.run(store.branch_session(session.id, "branch"))
    assert len(home.run(store.script_calls(branch.id))) == count
    home.run(home.app.delete_session(session.id))
    assert home.run(store.script_calls(session.id)) == []
    assert len(home.run(store.script_calls(branch.id))) == count


def test_the_journal_is_taken_back_and_restored_with_the_messages(home):
    home.user.says("session")
    run(home)
    store, session = home.app.store, home.run(home.app.store.last_used_session())
    count, first = len(rows(home)), home.run(store.messages(session.id))[0].sequence
    part = new_id()
    home.run(store.end_history(session.id, first, part))
    assert home.run(store.script_calls(session.id)) == []
    home.run(store.restore_history(session.id, part))
    assert len(home.run(store.script_calls(session.id))) == count


def test_what_a_served_result_held_is_known_to_the_session_again(oneclaw_factory):
    @tool(reads=["private"], read_only=True)
    def secret() -> str:
        """Read a secret."""
        return "code"

    tools = Tools()
    tools.steps = [["secret", {}], ["guarded", {"x": 1}]]

    class More(Tools):
        @hookimpl
        def register_tools(self, register):
            register(secret)

    home = oneclaw_factory([tools, More()], check_plugins=False)
    home.user.says("no", "once")
    run(home)
    run(home, continues=call_id(home))
    session = home.run(home.app.store.last_used_session())
    last = [each for each in home.run(home.app.store.messages(session.id)) if each.type is MessageType.TOOL_RESULT][-1]
    assert [str(each.kind) for each in last.marks] == ["private"]


SECRET = "k3y-4711-of-acme"


class SecretTools(Tools):
    """A tool that reads a secret, and one that is called with it."""

    def __init__(self):
        super().__init__()
        self.read = []

    @hookimpl
    def register_tools(self, register):
        super().register_tools(register)

        @tool
        def reveal(x: int) -> dict:
            """Give a secret, among words that look like the place of one."""
            return {"key": os.environ.get("ACME_TOKEN", ""), "like": "\u27earedacted 0000\u27eb \u27ea!"}

        @tool
        async def script_with_secret(context: ToolContext, continues: str | None = None) -> ToolResult:
            """Read the secret, and use it."""
            begun = await begin_script(context, "secret", engine="1", continues=continues)
            found = await context.call_tool("reveal", {"x": 1})
            self.read.append(found.result if found.is_success else found.error_message)
            result = await context.call_tool("guarded", {"x": 2})
            await context.call_tool("put", {"x": found.text()})
            await begun.end(is_final=result.is_success)
            return result

        register(reveal)
        register(script_with_secret)


@pytest.mark.parametrize("is_changed", [False, True])
def test_secrets_do_not_stand_in_the_journal_of_a_running_script(oneclaw_factory, monkeypatch, is_changed):
    monkeypatch.setenv("ACME_TOKEN", SECRET)
    tools = SecretTools()
    home = oneclaw_factory([tools], check_plugins=False)
    home.user.says("no", "once")
    home.model.calls("script_with_secret").says("done")
    home.send("go")

    stored = json.dumps([[each.arguments, each.result] for each in rows(home)])
    assert "4711" not in stored
    assert "redacted" in stored

    if is_changed:
        monkeypatch.setenv("ACME_TOKEN", "another-secret")
    home.model.calls("script_with_secret", continues=call_id(home)).says("done")
    assert home.send("go").tool_calls[-1].result.is_success
    assert tools.read[0] == {"key": SECRET, "like": "\u27earedacted 0000\u27eb \u27ea!"}
    if is_changed:
        assert "a secret that is not known any more" in tools.read[1]
    else:
        assert tools.read[1] == tools.read[0]
    shown = json.dumps([[each.arguments, each.result] for each in rows(home)], ensure_ascii=False)
    assert "[redacted]" in shown
    assert "⟪!" not in shown.replace("⟪redacted 0000⟫ ⟪!", "")
