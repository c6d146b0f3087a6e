"""The order of event hooks, wrappers around prompt hooks, first results, and gates that are all asked."""

import asyncio

import pytest
from stand_ins import plugin, plugins_at_work

from oneclaw_core import (
    CallInfo,
    CommandUse,
    Deny,
    ExpandedMessage,
    OneClawError,
    PromptSection,
    SessionInfo,
    TurnInfo,
    UsageError,
    hookimpl,
)

SESSION = SessionInfo(id="s", agent="A")
COMMAND = CommandUse(name="x", arguments="", agent="A", selection=None)


def sections_of(tmp_path, **given):
    async def work():
        return await plugins_at_work(tmp_path, None, **given).prompt_sections(SESSION)

    return asyncio.run(work())


def expanded(tmp_path, **given):
    async def work():
        return await plugins_at_work(tmp_path, None, **given).expand_command(COMMAND)

    return asyncio.run(work())


def with_section(name, text, order=None):
    def prompt_sections(context):
        if order is not None:
            order.append(name)
        return [PromptSection(name, text)]

    return plugin(prompt_sections=prompt_sections)


def expanding(name, answer, seen):
    async def expand_command(context, command):
        seen.append(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return plugin(expand_command=expand_command)


def test_a_wrapper_runs_around_all_others_and_changes_what_they_return(tmp_path):
    order = []

    @hookimpl(wrapper=True)
    def prompt_sections(context):
        order.append("before")
        found = yield
        order.append("after")
        return [[PromptSection(each.id, each.text.replace("secret", "***")) for each in some] for some in found]

    text = sections_of(
        tmp_path,
        a=with_section("a", "alpha secret", order),
        b=with_section("b", "beta", order),
        w=plugin(prompt_sections=prompt_sections),
    )
    assert text == "alpha ***\n\nbeta"
    assert order == ["before", "a", "b", "after"]


def failing_before(context):
    raise ValueError("broken")
    yield


def failing_after(context):
    yield
    raise ValueError("broken")


def yielding_twice(context):
    yield
    yield


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (failing_before, "raised ValueError: broken"),
        (failing_after, "raised ValueError: broken"),
        (yielding_twice, "raised RuntimeError: has a second yield"),
    ],
)
def test_a_wrapper_that_fails_is_skipped(tmp_path, caplog, function, fault):
    wrapper = plugin(prompt_sections=hookimpl(wrapper=True)(function))
    assert sections_of(tmp_path, a=with_section("a", "alpha"), w=wrapper) == "alpha"
    assert f"plugin w: prompt_sections {fault}" in caplog.text


def test_the_first_plugin_that_expands_a_command_is_the_last_one_that_is_asked(tmp_path):
    seen = []
    given = {
        "a": expanding("a", None, seen),
        "b": expanding("b", ExpandedMessage("hi"), seen),
        "c": expanding("c", ExpandedMessage("no"), seen),
    }
    assert expanded(tmp_path, **given).text == "hi"
    assert seen == ["a", "b"]


def test_a_wrapper_replaces_the_expanded_command(tmp_path):
    @hookimpl(wrapper=True)
    def expand_command(context, command):
        found = yield
        return ExpandedMessage(f"{found.text}!")

    assert (
        expanded(tmp_path, b=expanding("b", ExpandedMessage("hi"), []), w=plugin(expand_command=expand_command)).text
        == "hi!"
    )


def test_a_refusal_to_expand_passes_a_wrapper(tmp_path):
    raised = []

    @hookimpl(wrapper=True)
    def expand_command(context, command):
        try:
            return (yield)
        except OneClawError as error:
            raised.append(str(error))
            return ExpandedMessage("all is well")

    given = {"b": expanding("b", UsageError("no such song"), []), "w": plugin(expand_command=expand_command)}
    with pytest.raises(UsageError, match="no such song"):
        expanded(tmp_path, **given)
    assert raised == [
        "plugin b: expand_command raised UsageError: no such song; disable it with: oneclaw plugins disable b"
    ]


def test_plugins_run_in_the_order_of_marks_then_of_the_user_then_of_names(tmp_path):
    order = []

    def noting(name, **mark):
        @hookimpl(**mark)
        def message_commands(context):
            order.append(name)

        return plugin(message_commands=message_commands)

    given = {
        "a": noting("a", trylast=True),
        "b": noting("b", trylast=True),
        "c": noting("c"),
        "d": noting("d"),
        "e": noting("e", tryfirst=True),
        "y": noting("y", trylast=True),
        "z": noting("z"),
    }

    async def work(options):
        await plugins_at_work(tmp_path, options, **given).message_commands()
        found = "".join(order)
        order.clear()
        return found

    assert asyncio.run(work(None)) == "ecdzaby"
    assert asyncio.run(work({"order": ["z", "y"]})) == "zyecdab"


def test_every_gate_is_asked_and_the_first_denial_counts(tmp_path):
    seen = []

    def gate(name, answer):
        def before_turn(turn):
            seen.append(f"{name} turn")
            return answer

        def before_tool_call(call):
            seen.append(f"{name} call")
            return answer

        return plugin(before_turn=before_turn, before_tool_call=before_tool_call)

    given = {"a": gate("a", None), "b": gate("b", Deny("no")), "c": gate("c", Deny("never")), "d": gate("d", None)}
    turn = TurnInfo(id="t", session=SESSION, agent="A", model="offline/rules", text="hello")

    async def work():
        plugins = plugins_at_work(tmp_path, None, **given)
        return await plugins.before_turn(turn), await plugins.before_tool_call(CallInfo(id="1", tool="t", arguments={}))

    on_turn, on_call = asyncio.run(work())
    assert on_turn.reason == "The plugin b refuses this: no"
    assert [each.reason for each in on_call] == ["The plugin b refuses this: no"]
    assert seen == ["a turn", "b turn", "c turn", "d turn", "a call", "b call", "c call", "d call"]
