"""Plugins that refuse, ask, rewrite calls and results, and add texts."""

import asyncio

import pytest
from plugins_at_work import CALL, DISABLE, SESSION, TURN, at_work, raised_by, record_with, told

from oneclaw_core import (
    Ask,
    Deny,
    PermissionDeniedError,
    PromptSection,
    ToolResult,
)
from oneclaw_core.plugins.running.event_hooks import Verdict


def verdicts(answer, hook="before_tool_call"):
    def gate():
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work():
        plugins, _ = at_work(record_with(**{hook: gate}))
        if hook == "before_turn":
            return await plugins.before_turn(TURN)
        return await plugins.before_tool_call(CALL)

    return asyncio.run(work())


def test_what_a_gate_answers_is_a_verdict(caplog):
    assert verdicts(None) == []
    assert verdicts(Ask("a.b", "detail", "subject")) == [Verdict("acme", Ask("a.b", "detail", "subject"))]
    assert verdicts(Deny("no")) == [Verdict("acme", Deny("The plugin acme refuses this: no"))]
    for answer, fault in (
        (7, "returned an object of type int, not a valid Deny or Ask or None"),
        (Deny(7), "returned an object of type Deny, not a valid Deny or Ask or None"),
        (Ask(""), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (Ask("a", 7), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (Ask("a", "", 7), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (ValueError("bad"), "raised ValueError: bad"),
    ):
        caplog.clear()
        (verdict,) = verdicts(answer)
        text = f"plugin acme: before_tool_call {fault}; {DISABLE}"
        assert (verdict.plugin, verdict.answer, verdict.reason) == ("acme", Deny(text), text)
        assert told(caplog) == [text]
    assert Verdict("acme", Ask("a")).reason == ""
    assert verdicts(None, "before_turn") is None
    asked = verdicts(Ask("a"), "before_turn")
    assert (
        asked.reason == f"plugin acme: before_turn returned an object of type Ask, not a valid Deny or None; {DISABLE}"
    )


def test_every_question_is_gathered_and_the_first_refusal_counts_alone():
    def gate(name, answer):
        return record_with(name, before_tool_call=lambda: answer, before_turn=lambda: answer)

    async def work():
        ask, other, deny, late = (Ask("a"), Ask("b"), Deny("no"), Deny("late"))
        plugins, _ = at_work(gate("a", ask), gate("b", None), gate("c", other))
        assert await plugins.before_tool_call(CALL) == [("a", ask), ("c", other)]
        plugins, _ = at_work(gate("a", None), gate("b", deny), gate("c", late))
        assert [each.plugin for each in await plugins.before_tool_call(CALL)] == ["b"]
        assert (await plugins.before_turn(TURN)).plugin == "b"

    asyncio.run(work())


def test_texts_and_sections_that_are_none_are_left_out(caplog):
    def sections(name, *values, order=0, hook="prompt_sections"):
        return record_with(
            name,
            options={hook: {"tryfirst": order < 0, "trylast": order > 0}},
            **{hook: lambda: values[0] if len(values) == 1 else list(values)},
        )

    async def work():
        plugins, _ = at_work(
            record_with("c", message_context=lambda: "third"),
            record_with("a", message_context=lambda: "first"),
            record_with("b", message_context=lambda: " \n"),
            record_with("d", message_context=lambda: 7),
            record_with("e", message_context=lambda: None),
        )
        assert await plugins.message_context(TURN) == [("a", "first"), ("c", "third")]
        assert told(caplog) == [
            "plugin d: message_context returned something other than str objects; disable it with: oneclaw plugins "
            "disable d"
        ]
        caplog.clear()
        long = PromptSection("long", "x" * 4001)
        plugins, _ = at_work(
            sections("z", PromptSection("2", " two "), PromptSection("1", "one"), order=-1),
            sections("b", PromptSection("x", "b")),
            sections("a", PromptSection("x", " \n")),
            sections("c", long),
            sections("d", "text"),
            sections("e", PromptSection("x", 7)),
            sections("f", None),
            order=["b"],
        )
        assert await plugins.prompt_sections(SESSION) == "one\n\ntwo\n\nb"
        assert sorted(told(caplog)) == [
            "plugin c: prompt_sections returned the section 'long' with more than 4,000 characters; disable it with: "
            "oneclaw plugins disable c",
            "plugin d: prompt_sections returned something other than PromptSection objects; disable it with: oneclaw "
            "plugins disable d",
            "plugin e: prompt_sections returned the section 'x' without a text; disable it with: oneclaw plugins "
            "disable e",
        ]
        caplog.clear()
        whole = PromptSection("x", "y" * 4000)
        large = PromptSection("x", "z" * 5000, max_characters=6000, core_tool="exec")
        small = PromptSection("y", "a")
        hook = "current_sections"
        plugins, _ = at_work(
            *(sections(name, each, hook=hook) for name, each in zip("abcd", (whole, large, whole, small), strict=True))
        )
        assert await plugins.current_sections(SESSION) == (whole, large, whole)
        assert told(caplog) == [
            "plugin d: its section 'y' of the system prompt is left out: all sections together may have 8,000 "
            "characters"
        ]

    asyncio.run(work())


def test_order_and_kinds_of_hooks_are_known():
    async def work():
        lifecycle, _ = at_work(record_with(plugin_started=lambda: None))
        assert (lifecycle.hooks, lifecycle.governs_calls, lifecycle.follows_turns) == (frozenset(), False, False)
        prompt, _ = at_work(record_with(prompt_sections=lambda: None))
        assert (prompt.hooks, prompt.governs_calls, prompt.follows_turns) == ({"prompt_sections"}, False, False)
        turn, _ = at_work(record_with(turn_finished=lambda: None))
        assert (turn.governs_calls, turn.follows_turns) == (False, True)
        options = {"around": {"tools": ["shell"]}, "after_tool_call": {"in_turns": True, "tools": ["x"]}}
        record = record_with(options=options, around=lambda: None, after_tool_call=lambda: None)
        plugins, _ = at_work(record)
        assert plugins.governs_calls
        for tool, group, is_in_turn, is_about in (
            ("shell", None, False, True),
            ("other", "shell", False, True),
            ("x", None, False, False),
            ("x", None, True, True),
            ("y", "files", True, False),
        ):
            assert plugins.are_about(tool, group, is_in_turn=is_in_turn) is is_about
        assert [each.name for each in plugins.concerned("around", CALL)] == ["acme"]
        assert plugins.concerned("after_tool_call", CALL) == plugins.concerned("none", CALL) == []
        assert await plugins.context_of_tool(None) is await plugins.context_of_tool("none") is None
        assert (await plugins.context_of_tool("acme")).name == "acme"
        assert (await plugins.context_of_tool("acme")).name == "acme"

    asyncio.run(work())


async def hooked(hooks, options=None):
    plugins, _ = at_work(record_with(options=options, **hooks))
    return plugins.of_call(id="c", tool="shell", arguments={"a": 1}, group="files")


def test_a_call_is_rewritten_by_json_objects_alone():
    async def work():
        for value, faults, message in (
            (7, [], "returned an object of type int, not JSON arguments"),
            ([1], [], "returned an object of type list, not JSON arguments"),
            ({"a": object()}, [], "returned an object of type dict, not JSON arguments"),
            ({"a": float("nan")}, [], "returned an object of type dict, not JSON arguments"),
            ({"a": 2}, ["one.", "two."], "returned invalid arguments: one. two."),
        ):
            call = await hooked({"rewrite_tool_call": lambda value=value: value})
            text = await raised_by(call.rewrite({"a": 1}, lambda given, faults=faults: faults))
            assert text == f"plugin acme: rewrite_tool_call {message}; {DISABLE}"
        given = {"a": {"b": [1]}}
        call = await hooked({"rewrite_tool_call": lambda: given})
        rewritten = await call.rewrite({"a": 1}, lambda arguments: [])
        given["a"]["b"].append(2)
        assert rewritten == {"a": {"b": [1]}} == call.arguments == call.info.arguments
        same = await hooked({"rewrite_tool_call": lambda: None})
        arguments = {"a": 1}
        assert await same.rewrite(arguments, lambda arguments: ["never asked"]) is arguments

    asyncio.run(work())


def test_a_gate_asks_or_refuses_for_a_call():
    async def work():
        for detail, shown in (("run ls", "run ls (the plugin acme asks)"), ("", "the plugin acme asks")):
            asked = []

            async def ask(*given, asked=asked):
                asked.append(given)

            call = await hooked({"before_tool_call": lambda detail=detail: Ask("a.b", detail, "s")})
            await call.check(ask)
            assert asked == [("a.b", shown, "s")]
        decided = []
        hooks = {
            "before_tool_call": lambda: Deny("no"),
            "permission_decided": lambda call, decision: decided.append((call.tool, decision)),
        }
        plugins, _ = at_work(record_with(**hooks))
        call = plugins.of_call(id="c", tool="shell", arguments={})
        with pytest.raises(PermissionDeniedError) as error:
            await call.check(ask)
        assert (str(error.value), error.value.permission) == ("The plugin acme refuses this: no", "shell")
        await plugins.drain(5.0)
        ((tool, decision),) = decided
        assert (tool, decision.permission, decision.subject, decision.is_granted, decision.decided_by) == (
            *("shell", "shell", None, False, "plugin acme"),
        )

    asyncio.run(work())


WITHHELD = (
    "The call ran and may have had its effect, but its result is withheld: plugin acme: rewrite_tool_result {fault}; "
    f"{DISABLE}. Do not repeat it; look for what it did, or tell the user."
)


def test_a_result_is_rewritten_or_withheld():
    async def work():
        first, other = ToolResult.success({"a": [1]}), ToolResult.success("other")
        for value, expected in (
            (None, first),
            (other, other),
            (
                7,
                ToolResult.error(
                    "unknown_outcome", WITHHELD.format(fault="returned an object of type int, not a ToolResult")
                ),
            ),
        ):
            call = await hooked({"rewrite_tool_result": lambda value=value: value})
            assert await call.rewrite_result(first) == expected
        seen = []
        hooks = {"after_tool_call": lambda call, result, duration_ms: seen.append((call.id, result, duration_ms))}
        plugins, _ = at_work(record_with(**hooks))
        plugins.of_call(id="c", tool="shell", arguments={}).finished(first)
        await plugins.drain(5.0)
        ((call_id, result, duration_ms),) = seen
        assert (call_id, result, 0 <= duration_ms < 60_000) == ("c", first, True)
        quiet, _ = at_work(record_with(turn_finished=lambda: None))
        call = quiet.of_call(id="c", tool="shell", arguments={})
        call.finished(first)
        call.decided("a", None, is_granted=True, decided_by="user")

    asyncio.run(work())
