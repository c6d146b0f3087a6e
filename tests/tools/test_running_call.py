"""One running call: its time, its questions, and what becomes of its result."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from policies import policy_of
from pytest_oneclaw import running_call

from oneclaw_core import (
    NobodyToAskError,
    OneClawError,
    PermissionDeniedError,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolRegistry,
    ToolResult,
    UsageError,
)
from oneclaw_core.files import PathGuard
from oneclaw_core.http import SignInNeededError
from oneclaw_core.loops import blocking
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.tools import context
from oneclaw_core.tools.calls import running, steps
from oneclaw_core.tools.calls import running_call as services
from oneclaw_core.tools.calls.call import Caller, ToolOutcome
from oneclaw_core.tools.calls.steps import execution_error, presentable
from oneclaw_core.tools.context import TurnScope, detached_context
from oneclaw_core.types.budget import TurnBudget
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.user_question import UserQuestion
from oneclaw_core.wiring import tool_executor


class Asked:
    """The permissions that were asked for."""

    def __init__(self, *, refused=()):
        self.given, self.refused = [], refused

    async def __call__(self, permission, detail="", subject=None, directory=None, sandbox=None, *, as_a_whole=False):
        self.given.append((permission, detail, subject, directory, sandbox, as_a_whole))
        if permission in self.refused:
            raise PermissionDeniedError("no", permission)
        return True


def context_of(tmp_path=Path("/tmp")):
    return ToolContext(tmp_path, "s1", "Poet", "probe", "c1", PathGuard(tmp_path, tmp_path))


class Tool:
    def __init__(self, run, seconds=5.0):
        self.definition = ToolDefinition("probe", "Probes.", timeout_seconds=seconds)
        self._run = run

    async def execute(self, arguments, given):
        return await self._run(given)


async def items_of(run, seconds=5.0, home=Path("/tmp")):
    registry = ToolRegistry()
    registry.register(Tool(run, seconds))
    executor = tool_executor(registry, policy_of([], None), CallOrigins(PathGuard(home, home)), home)
    caller = Caller(registry.toolset().active([]), "Poet", "s1")
    return [each async for each in executor.execute_as_completed([ToolCall("c1", "probe", "{}")], caller)]


def result_of(run, seconds=5.0):
    (outcome,) = (each for each in asyncio.run(items_of(run, seconds)) if isinstance(each, ToolOutcome))
    return outcome.result


def raising(error):
    async def run(given):
        raise error

    return run


def test_whatever_a_tool_raises_is_its_result():
    for error, kind, message in (
        (PermissionDeniedError("not allowed", "a.b"), "permission_denied", "not allowed"),
        (SignInNeededError("sign in first"), SignInNeededError("x").error_type, "sign in first"),
        (ValueError("bad"), "execution_error", "ValueError: bad"),
        (ValueError(), "execution_error", "ValueError"),
        (SystemExit(3), "execution_error", "SystemExit: 3"),
        (asyncio.CancelledError(), "execution_error", "Tool 'probe' cancelled itself."),
        (ExceptionGroup("unhandled errors", [ValueError("bad")]), "execution_error", "ValueError: bad"),
        (
            ExceptionGroup("outer", [ValueError("bad"), ExceptionGroup("inner", [OSError("down"), ValueError("bad")])]),
            "execution_error",
            "ValueError: bad\nOSError: down",
        ),
        (
            ExceptionGroup("x", [OSError(), PermissionDeniedError("not allowed", "a.b")]),
            "permission_denied",
            "not allowed",
        ),
    ):
        assert result_of(raising(error)) == ToolResult.error(kind, message)


def test_a_tool_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(running, "CLEAN_UP_SECONDS", 0.02)

    async def sleep(given):
        await asyncio.sleep(30)

    async def stubborn(given):
        while not ended.is_set():
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue

    stopped = "Tool 'probe' was stopped after its timeout of 0.01 s."
    goes_on = (
        "Tool 'probe' has not ended within its timeout of 0.3 s. It cannot be stopped and may go on in the "
        "background, so it may still have its effect. Do not repeat it without asking the user."
    )
    assert result_of(sleep, 0.01) == ToolResult.error("timeout", stopped)
    ended = asyncio.Event()

    async def work():
        (outcome,) = await items_of(stubborn, 0.3)  # on a busy machine it begins late
        ended.set()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return outcome.result

    assert asyncio.run(work()) == ToolResult.error("timeout", goes_on)


def test_a_call_whose_time_is_up_at_once_leaves_no_coroutine_behind():
    async def sleep(given):
        await asyncio.sleep(30)

    # On Python 3.11 the tool has not begun yet. A coroutine that is never awaited causes a warning, and the test fails.
    assert result_of(sleep, 1e-9).error_type == "timeout"


def test_the_time_of_questions_does_not_count(tmp_path):
    async def work():
        async with running_call(tmp_path, timeout_seconds=10.0) as given:
            assert 9 < given.remaining_seconds() <= 10
            assert given.asked_seconds() == 0.0
            with given.paused():
                await asyncio.sleep(0.03)
                assert given.remaining_seconds() == float("inf")
                assert 0.02 < given.asked_seconds() < 5
                with given.paused():
                    await asyncio.sleep(0.01)
                assert given.remaining_seconds() == float("inf")
            asked = given.asked_seconds()
            assert 0.03 < asked < 5
            await asyncio.sleep(0.01)
            assert given.asked_seconds() == asked
            assert 9.5 < given.remaining_seconds() <= 10

    asyncio.run(work())


def test_progress_is_short_and_within_bounds():
    async def run(given):
        for message, fraction in (("x" * 1001, 0.5), (7, 2), ("a", -1), ("b", float("inf")), ("c", "1"), ("d", None)):
            given.progress(message, fraction)
        await asyncio.sleep(0)
        return ToolResult.success()

    *news, _ = asyncio.run(items_of(run))
    assert [(each.message, each.fraction) for each in news] == [
        *(("x" * 1000, 0.5), ("7", 1.0), ("a", 0.0), ("b", None), ("c", None), ("d", None)),
    ]


ENDED = "this call has ended: a tool cannot ask or connect after its timeout"
BY_HAND = context.NOT_IN_A_RUNNING_CALL


def test_a_call_that_has_ended_asks_and_connects_no_more(tmp_path):
    async def work():
        async with running_call(tmp_path) as given:
            client, service = given.http, given.service_http
            assert (client is given.http, service is given.service_http, client is service) == (True, True, False)
            sync = given.sync_http
            assert sync is given.sync_http
        assert (client.is_closed, service.is_closed, sync.is_closed) == (True, True, True)
        for act in (
            lambda: given.http,
            lambda: given.service_http,
            lambda: given.sync_http,
        ):
            with pytest.raises(OneClawError) as error:
                act()
            assert str(error.value) == ENDED
        for act in (given.ask_permission("a.b"), given.ask_user("Who?"), given.call_tool("x", {})):
            with pytest.raises(OneClawError) as error:
                await act
            assert str(error.value) == ENDED

    asyncio.run(work())


def test_a_tool_executed_by_hand_has_no_services():
    async def work():
        given = context_of()
        for act in (
            lambda: given.http,
            lambda: given.service_http,
            lambda: given.sync_http,
            lambda: given.services,
            lambda: given.plugin,
            lambda: given.progress("x"),
            lambda: given.ask_permission_sync("a.b"),
            given.asked_seconds,
            given.remaining_seconds,
            lambda: given.send_message("hello"),
        ):
            with pytest.raises(OneClawError) as error:
                act()
            assert str(error.value) == BY_HAND
        for act in (given.ask_permission("a.b"), given.ask_user("Who?"), given.allow_url("https://a.example")):
            with pytest.raises(OneClawError) as error:
                await act
            assert str(error.value) == BY_HAND
        assert await given.is_granted("a.b", "c", None, "")
        await given.record_writes()
        with pytest.raises(OneClawError, match="only in a call that the executor runs"):
            await given.call_tool("x", {})
        assert given.logger.name == "oneclaw.tool.probe"

    asyncio.run(work())


def test_marks_of_a_result():
    given = context_of()
    given.mark_outside("the mail 1")
    given.mark_page("https://a.example")
    given.mark_private("the calendar")
    assert given.marks == [
        Mark.of(MarkKind.OUTSIDE, "the mail 1"),
        Mark.of(MarkKind.PAGE, "https://a.example"),
        Mark.of(MarkKind.PRIVATE, "the calendar"),
    ]


def test_a_call_asks_for_what_it_needs(tmp_path):
    async def work():
        asked = Asked()
        async with running_call(tmp_path, require=asked) as given:
            await given.ask_permission("a.b", "do it", "s", "/d")
            await given.ask_permission("a.b")
            assert await given.is_granted("a.b", "s", "/d", "bubblewrap", as_a_whole=True)
            await given.allow_address("a.example", "93.184.216.34", 443)
            await given.allow_address("nas", "10.0.0.1", 80)
            await given.allow_address("nas", "10.0.0.1", 80)
            await given.allow_address("nas", "10.0.0.1", 8080)
            instead = "an async tool asks with: "
            for act, how in (
                (lambda: given.ask_permission_sync("a.b"), "await context.ask_permission(...)"),
                (
                    lambda: given.paths.questions.ask("a.b", "d", Path("/x"), None),
                    "await context.readable(path), or writable",
                ),
            ):
                with pytest.raises(OneClawError) as error:
                    act()
                assert str(error.value) == instead + how
        assert asked.given == [
            ("a.b", "do it", "s", "/d", None, False),
            ("a.b", "", None, None, None, False),
            ("a.b", "outside the sandbox", "s", "/d", "bubblewrap", True),
            (
                "network.public",
                "connect to a.example at the public address 93.184.216.34",
                "a.example",
                None,
                None,
                False,
            ),
            *(
                ("network.private", "connect to nas at the private address 10.0.0.1", place, None, None, False)
                for place in dict.fromkeys(each[2] for each in asked.given[4:])
            ),
        ]
        assert len(asked.given) == 6
        async with running_call(tmp_path, require=Asked(refused=("network.private",))) as refusing:
            with pytest.raises(PermissionDeniedError) as error:
                await refusing.allow_address("nas", "10.0.0.1", 80)
        assert str(error.value).startswith("nas is at the private address 10.0.0.1. ")
        assert error.value.permission == "network.private"

    asyncio.run(work())


def test_a_path_is_asked_for_once_from_a_thread(tmp_path):
    async def work():
        asked = Asked()
        async with running_call(tmp_path, require=asked) as given:
            for path, directory in (("/a/b", Path("/a")), ("/a/None", None)):
                for _ in range(2):
                    await asyncio.to_thread(given.paths.questions.ask, "files.read", "read it", Path(path), directory)
            assert asked.given == [
                ("files.read", "read it", "/a/b", "/a", None, False),
                ("files.read", "read it", "/a/None", None, None, False),
            ]
            await asyncio.to_thread(given.ask_permission_sync, "a.b", "d", "s", "/x")
        assert asked.given[2:] == [("a.b", "d", "s", "/x", None, False)]

    asyncio.run(work())


class Project:
    def __init__(self, *, is_trusted=False, can_be_asked=True, agrees=True):
        self.is_trusted, self.can_be_asked, self.agrees, self.asked = is_trusted, can_be_asked, agrees, []

    async def ask_trust(self, require, detail):
        self.asked.append(detail)
        self.is_trusted = self.agrees
        return self.agrees


async def answer_nothing(question, seconds):
    return None


def test_trust_is_asked_for_where_a_person_is(tmp_path):
    async def work():
        for project, person, is_trusted, asked in (
            (None, answer_nothing, False, []),
            (Project(is_trusted=True), None, True, []),
            (Project(), None, False, []),
            (Project(can_be_asked=False), answer_nothing, False, []),
            (Project(), answer_nothing, True, ["write x"]),
            (Project(agrees=False), answer_nothing, False, ["write x"]),
        ):
            permissions = Asked()
            async with running_call(tmp_path, require=permissions, project=project, ask_user=person) as given:
                questions = given.paths.questions
                before = project is not None and project.is_trusted
                assert questions.is_trusted is before
                assert await given.trusts_start_directory("write x") is is_trusted
                assert (questions.is_trusted, [] if project is None else project.asked) == (is_trusted, asked)
                # Who trusts a directory to have a file written in it has agreed to that.
                await asyncio.to_thread(questions.ask, "files.write", "write x", Path("/x"), Path("/"))
                assert len(permissions.given) == (0 if asked and is_trusted else 1)
                await asyncio.to_thread(questions.ask, "files.write", "write x", Path("/y"), None)
                assert len(permissions.given) == (1 if asked and is_trusted else 2)
        async with running_call(tmp_path, project=Project(), ask_user=answer_nothing) as given:
            with pytest.raises(OneClawError) as error:
                given.paths.asks_trust("x")
        assert str(error.value) == "an async tool asks with: await context.writable(path)"

    asyncio.run(work())


def test_an_answer_in_the_users_own_words_marks_the_result(tmp_path):
    async def work():
        answers = {"Which?": "red", "Who?": "Ada", "Nothing?": None}
        asked = []

        async def ask_user(question, timeout_seconds):
            asked.append((question, timeout_seconds))
            return answers[question.question]

        async with running_call(tmp_path, ask_user=ask_user) as given:
            assert await given.ask_user("Which?", ["red"], allows_text=False, timeout_seconds=3) == "red"
            assert await given.ask_user("Nothing?") is None
            assert given.marks == []
            assert await given.ask_user("Who?") == "Ada"
            assert given.marks == [Mark(MarkKind.USER, "")]
            assert asked[0] == (UserQuestion("Which?", ("red",), allows_text=False), 3)
            assert asked[1] == (UserQuestion("Nothing?"), None)
            with pytest.raises(UsageError):
                await given.ask_user("")
        async with running_call(tmp_path) as given:
            with pytest.raises(NobodyToAskError) as error:
                await given.ask_user("Who?")
        assert str(error.value) == "no one can be asked here"

    asyncio.run(work())


def test_a_tool_acts_as_another_one_with_arguments_that_plugins_may_have_rewritten(tmp_path):
    called = []

    class Inner:
        async def call(self, name, arguments, act=None, *, is_repeatable=False):
            called.append((name, arguments, is_repeatable))
            return await act({"rewritten": True}, None)

    async def act(arguments, context):
        return ToolResult.success(arguments)

    async def work():
        async with running_call(tmp_path, inner=Inner()) as governed, running_call(tmp_path) as free:
            wanted = {"command": "ls", "timeout": None}
            assert (await governed.act_as("exec", wanted, act)).result == {"rewritten": True}
            assert (await free.act_as("exec", wanted, act)).result == {"command": "ls"}
            with pytest.warns(DeprecationWarning, match="use ToolContext.act_as"):
                async with governed.inner_call("exec", wanted) as arguments:
                    assert arguments == {"rewritten": True}

    asyncio.run(work())
    assert called == [("exec", {"command": "ls"}, False)] * 2


def error_of(result):
    assert not result.is_success
    return result.error_type, result.error_message


def test_only_what_can_be_kept_is_a_result(monkeypatch):
    for result, message in (
        (
            ToolResult.success({1, 2}),
            "The tool returned an object of type set, which JSON cannot hold: Object of type set is not JSON seri",
        ),
        (ToolResult.success(float("nan")), "The tool returned an object of type float, which JSON cannot hold: "),
        (
            ToolResult.success("", attachments=("x",)),
            "The tool returned attachments that are no Attachment objects.",
        ),
        (ToolResult.success("", loads_groups=["x"]), "The tool returned loads_groups that are no tuple of names."),
        (ToolResult.success("", loads_groups=(1,)), "The tool returned loads_groups that are no tuple of names."),
    ):
        kind, text = error_of(presentable(result))
        assert kind == "execution_error"
        assert text.startswith(message)
    monkeypatch.setattr(steps, "MAX_KEPT_ATTACHMENT_BYTES", 4)
    whole = ToolResult.success("", attachments=(Attachment("a", "t/p", b"12"), Attachment("b", "t/p", b"34")))
    assert presentable(whole) == whole
    large = replace(whole, attachments=(*whole.attachments, Attachment("c", "t/p", b"x" * 1234)))
    assert error_of(presentable(large)) == (
        "execution_error",
        "The tool returned attachments of 1,238 bytes, and only 4 can be kept. Ask for fewer or smaller ones.",
    )
    monkeypatch.setattr(steps, "MAX_KEPT_CHARACTERS", 1_001)
    assert presentable(ToolResult.success(["x" * 997])).is_success
    assert error_of(presentable(ToolResult.success(["x" * 1_998]))) == (
        "execution_error",
        "The tool returned 2,002 characters of JSON, and only 1,001 can be kept. Ask for a smaller part.",
    )
    clean = ToolResult.success("clean", loads_groups=("mail",))
    assert presentable(clean) is clean
    assert presentable(ToolResult.success("a\ud83eb")).result == presentable(ToolResult.success(["a\ud83eb"])).result[0]
    assert presentable(ToolResult.success({"é": (1, 2)})).result == {"é": [1, 2]}
    assert error_of(presentable(ToolResult.error(None, None))) == ("execution_error", "")
    assert error_of(presentable(ToolResult.error("x", "y"))) == ("x", "y")


class OddError(Exception):
    def __str__(self):
        raise RuntimeError


def test_an_exception_is_told_by_its_type_and_message():
    for error, text in (
        (ValueError("x" * 3000), "ValueError: " + "x" * 1988),
        (KeyError("a"), "KeyError: 'a'"),
        (KeyError(), "KeyError"),
        (OddError(), "OddError: (its message cannot be shown)"),
    ):
        assert error_of(execution_error(error)) == ("execution_error", text)


def test_a_tool_that_blocks_the_program_is_named(caplog, monkeypatch):
    hand = SimpleNamespace(now=100.0, monotonic=lambda: hand.now)
    monkeypatch.setattr(blocking, "time", hand)
    monkeypatch.setattr(services, "time", hand)
    seconds = blocking.HEARTBEAT_SECONDS

    async def work(given):
        hand.now += seconds
        return ToolResult.success("done")

    assert result_of(work) == ToolResult.success("done")
    assert caplog.records == []
    seconds = 3.14
    assert result_of(work) == ToolResult.success("done")
    assert [each.getMessage() for each in caplog.records] == [
        "tool probe blocked the program's event loop for 3.1 s: use await there, or a plain function, which runs in a "
        "thread"
    ]
    text = (
        "Tool 'probe' blocked the program for 3.1 s, and ended after its timeout of 2 s. It may have had its effect. "
        "Do not repeat it without asking the user."
    )
    assert error_of(result_of(work, 2.0)) == ("timeout", text)


def test_a_form_is_answered_by_values_that_fit(tmp_path):
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}

    async def work():
        for answer, values in (
            ('{"age": 3}', {"age": 3}),
            ("[]", None),
            ('{"age": "x"}', None),
            (None, None),
            ("7", None),
        ):
            asked = []

            async def ask_user(question, seconds, answer=answer, asked=asked):
                asked.append((question, seconds))
                return answer

            async with running_call(tmp_path, ask_user=ask_user) as given:
                assert await given.ask_form("Who?", schema, name="person", timeout_seconds=2) == values
                assert asked == [(UserQuestion("Who?", form=schema, form_name="person"), 2)]
                assert await given.ask_form("Who?", schema) == values
            assert asked[1] == (UserQuestion("Who?", form=schema), None)

    asyncio.run(work())


def test_a_context_that_is_sent_has_data_alone(tmp_path):
    async def work():
        given = replace(context_of(tmp_path), deps=object(), shown_characters=7)
        sent = given.without_services(["files.read:/x"])
        assert (sent.home, sent.session_id, sent.agent_name, sent.tool_name, sent.call_id) == (
            *(tmp_path, "s1", "Poet", "probe", "c1"),
        )
        assert (sent.paths.granted, sent.shown_characters, sent.deps, sent.selection) == (
            *({"files.read:/x"}, 7, None, given.selection),
        )
        with pytest.raises(OneClawError):
            sent.progress("x")

    asyncio.run(work())


def test_a_context_by_hand_lies_in_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    given, other = detached_context("probe"), detached_context("probe")
    assert (given.home, given.session_id, given.agent_name, given.tool_name) == (tmp_path / "home", None, "", "probe")
    assert given.call_id != other.call_id
    assert (given.paths.start_directory, given.paths.home) == (tmp_path, tmp_path / "home")
    assert given.paths.workspace == tmp_path / "home" / "workspace"


def test_who_a_sub_agent_works_for():
    budget = TurnBudget((), 1)
    first = TurnScope(budget)
    second = TurnScope(budget, replace(context_of(), turn=first, agent_name="Lead"), session_name="task 1")
    third = TurnScope(budget, replace(context_of(), turn=second, agent_name="Poet"))
    assert [each.sub_agent("Critic") for each in (first, second, third)] == [None, "task 1 (Critic)", "Critic"]
    assert [each.outer_agents() for each in (first, second, third)] == [(), ("Lead",), ("Poet", "Lead")]
    by_hand = TurnScope(budget, context_of())
    assert by_hand.outer_agents() == ("Poet",)
