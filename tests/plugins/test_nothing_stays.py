"""Calls into a plugin leave nothing in memory: objects are counted before and after 200 calls of every kind."""

import asyncio
import weakref
from contextlib import contextmanager

import pytest
from counted_objects import assert_none_left, counted_objects, freeze_objects
from oneclaw_channels import ChatCommands
from pydantic import BaseModel

from oneclaw_core import (
    CheckResult,
    CommandUse,
    Deny,
    ExpandedMessage,
    Health,
    MessageCommand,
    PromptSection,
    SessionInfo,
    ToolContext,
    ToolDefinition,
    ToolResult,
    ToolSelection,
    ToolSource,
    UsageError,
    hookimpl,
    tool,
)
from oneclaw_core.channels.commands import OWN_COMMANDS
from oneclaw_core.config.providers import MODEL_SETTING, PROVIDER_SETTING
from oneclaw_core.plugins import Channel, OutMessage, Receipt, WebRequest, WebResponse
from oneclaw_core.providers import ModelResponse, TextDelta
from oneclaw_core.services.manager import SERVICE_HOOK, ServiceManager
from oneclaw_core.types.messages import MessageType, ToolCall

CALLS = 200


THINGS = weakref.WeakSet()


class Thing:
    """An object that a plugin makes in a call, such as a connection or a part of a result."""

    def __init__(self):
        self.content = [self]
        THINGS.add(self)


class Settings(BaseModel):
    """Settings of the plugin."""

    number: int = 0


@tool
def plain() -> str:
    """Answer from a thread."""
    return f"plain {Thing()}"


@tool
async def waiting() -> str:
    """Answer from the event loop."""
    thing = Thing()
    await asyncio.sleep(0)
    return f"waited {thing}"


@tool
async def branching() -> str:
    """Leave the work to tasks, of which one outlives the call for a moment."""
    thing = Thing()

    async def part(number):
        await asyncio.sleep(0)
        return [number, thing]

    asyncio.get_running_loop().create_task(part(0))
    await asyncio.gather(*(part(number) for number in range(3)))
    return f"branched {thing}"


@tool
async def threading() -> str:
    """Leave the work to a thread."""
    return str(await asyncio.to_thread(lambda: [Thing()]))


@tool
def failing() -> str:
    """Fail in a thread."""
    thing = Thing()
    raise RuntimeError("broken", thing)


@tool
async def breaking() -> str:
    """Fail on the event loop, with an exception that has a cause."""
    thing = Thing()
    try:
        raise KeyError(thing)
    except KeyError as cause:
        raise RuntimeError("broken", thing) from cause


@tool(timeout_seconds=0.01)
async def endless() -> str:
    """Take too long."""
    thing = Thing()
    await asyncio.Event().wait()
    return str(thing)


@tool
async def telling(context: ToolContext) -> str:
    """Tell how far it is."""
    thing = Thing()
    for step in range(3):
        context.progress(f"{step} {thing}", step / 3)
    return "told"


class Answers:
    """A tool of a source."""

    def __init__(self):
        self.definition = ToolDefinition("answers", "Answer.", {"type": "object", "properties": {}})

    async def execute(self, arguments, context):
        await asyncio.sleep(0)
        return ToolResult.success(str(Thing()))


class Source(ToolSource):
    """Publishes a tool, again and again."""

    async def start(self, tools):
        self._tools = tools
        tools.publish([Answers()])

    async def refresh(self):
        self._tools.publish([Answers()])


class Box(Channel):
    """Sends nowhere."""

    async def send(self, message):
        await asyncio.sleep(0)
        return Receipt(str(Thing()))


class Speaker:
    """A model that calls a tool, then answers in parts."""

    attachment_media_types = ()

    def __init__(self, config):
        pass

    async def stream(self, request):
        thing = Thing()
        if request.messages[-1].type is MessageType.TOOL_RESULT:
            for part in ("All ", "done."):
                await asyncio.sleep(0)
                yield TextDelta(part)
            yield ModelResponse(text="All done.")
        else:
            yield ModelResponse(tool_calls=(ToolCall("c1", "waiting", "{}"),))
        del thing

    async def aclose(self):
        pass


async def answer(context, request):
    await asyncio.sleep(0)
    return WebResponse(body=f"{context.name} {Thing()}")


async def say(context, rest):
    thing = Thing()
    await asyncio.sleep(0)
    if rest == "fail":
        raise UsageError(f"{thing}")
    return f"{rest} {thing}"


async def look(context):
    await asyncio.sleep(0)
    yield CheckResult(Health.OK, f"fine {Thing()}")


async def ring(context, parameters, fire):
    await fire(f"{Thing()}")


async def work(context):
    thing = Thing()
    context.ready()
    await asyncio.Event().wait()
    del thing


class Everything:
    """A plugin with every kind of function that OneClaw calls."""

    @hookimpl
    def register_tools(self, register):
        for each in (plain, waiting, branching, threading, failing, breaking, endless, telling):
            register(each)
        register.source("answers", lambda context: Source())

    @hookimpl
    def register_settings(self, register):
        register(Settings)

    @hookimpl
    def register_providers(self, register):
        register("speaker", Speaker)

    @hookimpl
    def register_channels(self, register):
        register("box", lambda context: Box(), is_send_only=True)

    @hookimpl
    def register_routes(self, register):
        register("page", answer)

    @hookimpl
    def register_chat_commands(self, register):
        register("say", say)

    @hookimpl
    def register_triggers(self, register):
        register("ring", ring, help="rings")

    @hookimpl
    def register_checks(self, register):
        register("look", look)

    @hookimpl
    def register_services(self, register):
        register("work", work)

    @hookimpl
    async def plugin_started(self, context):
        await asyncio.sleep(0)

    @hookimpl
    async def plugin_stopped(self, context):
        await asyncio.sleep(0)

    @hookimpl
    async def settings_changed(self, context, changed):
        await asyncio.sleep(0)
        return [Thing(), changed]

    @hookimpl
    async def prompt_sections(self, context, session):
        await asyncio.sleep(0)
        return [PromptSection("title", f"{session.id}")]

    @hookimpl
    async def message_context(self, context, turn):
        await asyncio.sleep(0)
        return f"{turn.id} {Thing()}"

    @hookimpl
    async def current_sections(self, context, session):
        await asyncio.sleep(0)
        return [PromptSection("now", f"{Thing()}")]

    @hookimpl
    async def message_commands(self, context):
        await asyncio.sleep(0)
        return [MessageCommand("shout", "Shout.")]

    @hookimpl
    async def expand_command(self, context, command):
        await asyncio.sleep(0)
        return ExpandedMessage(f"{command.arguments} {Thing()}")

    @hookimpl
    async def chat_notices(self, context):
        await asyncio.sleep(0)
        return [f"{Thing()}"]

    @hookimpl
    async def rewrite_tool_call(self, context, call):
        await asyncio.sleep(0)
        return dict(call.arguments)

    @hookimpl
    async def rewrite_tool_result(self, context, call, result):
        await asyncio.sleep(0)
        return ToolResult.success(f"{result.result} {Thing()}") if result.is_success else None

    @hookimpl
    async def before_turn(self, context, turn):
        await asyncio.sleep(0)
        return Deny(f"{Thing()}") if turn.text == "deny" else None

    @hookimpl
    async def before_tool_call(self, context, call):
        thing = Thing()
        await asyncio.sleep(0)
        del thing

    @hookimpl
    def around(self, context, work):
        @contextmanager
        def span():
            thing = Thing()
            yield
            del thing

        return span()


def observer(name):
    async def observe(context):
        await asyncio.sleep(0)
        return Thing()

    async def fail(context):
        thing = Thing()
        raise RuntimeError(thing)

    function = fail if name == "after_model_response" else observe
    function.__name__ = name
    return staticmethod(hookimpl(function))


for observed in (
    "turn_started",
    "turn_finished",
    "before_model_request",
    "after_model_response",
    "after_tool_call",
    "permission_decided",
    "session_created",
    "session_deleted",
):
    setattr(Everything, observed, observer(observed))


async def call(claw, name):
    return (await claw.call_tool(name)).result


def calls_of(name, error_type=None):
    async def call_once(claw, number):
        result = await call(claw, name)
        assert result.error_type == error_type, result

    return call_once


async def cancel_a_call(claw, number):
    calling = asyncio.create_task(call(claw, "waiting" if number % 2 else "endless"))
    for _ in range(number % 7):
        await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait({calling})


async def take_a_turn(claw, number):
    session = f"turn {number}"
    async for _ in claw.send_message("hello", session=session, model="speaker/model"):
        pass
    await claw.delete_session(session)


async def take_a_denied_turn(claw, number):
    try:
        async for _ in claw.send_message("deny", session="denied", model="speaker/model"):
            pass
    except Exception:  # noqa: BLE001  # of whatever kind
        pass


async def break_off_a_turn(claw, number):
    events = claw.send_message("hello", session=f"broken off {number}", model="speaker/model")
    async for _ in events:
        break
    await events.aclose()
    await claw.delete_session(f"broken off {number}")


async def change_settings(claw, number):
    await claw.plugins.refresh_settings({"Everything.number": number})


async def send_through_a_channel(claw, number):
    channel = await claw.services.channel("box")
    await channel.send(OutMessage(text=f"message {number}"))


async def answer_a_request(claw, number):
    (route,) = claw.plugins.registrations("register_routes")
    target = await claw.plugins.object_of(route)
    await target(await claw.plugins.context_of(route.plugin), WebRequest(path="page"))


async def run_chat_commands(claw, number):
    commands = ChatCommands(claw.plugins, claw.catalog.plugins, OWN_COMMANDS)
    await commands.run("say", str(number), channel="box", session=None)
    with pytest.raises(UsageError):
        await commands.run("say", "fail", channel="box", session=None)


async def run_checks(claw, number):
    assert [each.results[0].status for each in await claw.plugins.run_checks() if each.registration.name == "look"]


async def run_a_service(claw, number):
    ready = asyncio.Event()
    services = claw.plugins.registrations(SERVICE_HOOK)
    manager = ServiceManager(claw, services, "serve", lambda news: ready.set())
    async with manager.running():
        await ready.wait()


async def use_a_command_and_notices(claw, number):
    use = CommandUse(name="shout", arguments=f"{number}", agent="General Assistant", selection=ToolSelection())
    assert "shout" in await claw.plugins.message_commands()
    assert await claw.plugins.expand_command(use)
    assert await claw.plugins.chat_notices()
    assert await claw.plugins.current_sections(SessionInfo(id="s", agent="General Assistant"))


async def run_a_trigger(claw, number):
    async def fire(text, *, key=None):
        return True

    await claw.services.trigger("ring").run({}, fire)


KINDS = {
    "sync tool": calls_of("plain"),
    "async tool": calls_of("waiting"),
    "tool with tasks": calls_of("branching"),
    "tool with a thread": calls_of("threading"),
    "failing sync tool": calls_of("failing", "execution_error"),
    "failing async tool": calls_of("breaking", "execution_error"),
    "timed-out tool": calls_of("endless", "timeout"),
    "tool that tells its progress": calls_of("telling"),
    "tool of a source": calls_of("answers"),
    "cancelled tool": cancel_a_call,
    "turn with all its hooks": take_a_turn,
    "denied turn": take_a_denied_turn,
    "turn that is broken off": break_off_a_turn,
    "settings_changed": change_settings,
    "channel": send_through_a_channel,
    "route": answer_a_request,
    "chat command": run_chat_commands,
    "check": run_checks,
    "service": run_a_service,
    "trigger": run_a_trigger,
    "message command, notice and current section": use_a_command_and_notices,
}


async def repeated(work, claw, start, calls):
    for number in range(start, start + calls):
        await work(claw, number)
    await calls_of("waiting")(claw, 0)
    await claw.plugins.drain(10)


# In the normal form, some of those that take little time.
ALWAYS = ("async tool", "tool with tasks", "failing async tool", "service")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in ALWAYS else pytest.mark.long) for kind in KINDS]
)
def test_calls_into_a_plugin_leave_no_objects(oneclaw_factory, caplog, kind):
    caplog.set_level("CRITICAL")  # pytest keeps what is logged
    home = oneclaw_factory([Everything()], check_plugins=False)
    freeze_objects()

    async def main():
        async with home.opened() as claw:
            await claw.store.set_setting(f"{PROVIDER_SETTING}speaker", {"type": "speaker"})
            await claw.store.set_setting(f"{MODEL_SETTING}speaker/model", {"input_price": 0, "output_price": 0})
            await repeated(KINDS[kind], claw, 0, 50)
            before = await asyncio.to_thread(counted_objects)
            await repeated(KINDS[kind], claw, CALLS, CALLS)
            await asyncio.to_thread(assert_none_left, before, CALLS)
            assert len(THINGS) < 10

    asyncio.run(main())


@tool(isolation="process")
def isolated(number: int) -> str:
    """Answer from another process.

    Args:
        number: whatever.
    """
    return "isolated " * number


@pytest.mark.long
@pytest.mark.one_python
def test_plugins_that_are_registered_started_and_stopped_leave_no_objects(oneclaw_factory, caplog):
    caplog.set_level("CRITICAL")
    home = oneclaw_factory([Everything()], check_plugins=False)
    calls = 20
    freeze_objects()

    async def open_and_close():
        async with home.opened() as claw:
            assert (await claw.call_tool("waiting")).result.is_success

    for number in range(2 * calls):
        if number == calls:
            before = counted_objects()
        asyncio.run(open_and_close())
    assert_none_left(before, calls, most_per_call=50)
    assert len(THINGS) < 10


@pytest.mark.long
@pytest.mark.one_python
def test_calls_of_isolated_tools_leave_no_objects(oneclaw_factory, caplog):
    caplog.set_level("CRITICAL")
    calls = 60
    freeze_objects()

    async def main():
        async with oneclaw_factory([]).opened() as claw:
            claw.add_tools(isolated)
            for number in range(2 * calls):
                if number == calls:
                    before = counted_objects()
                result = (await claw.call_tool("isolated", {"number": number % 7})).result
                assert result.is_success, result
            await asyncio.to_thread(assert_none_left, before, calls, 3)

    asyncio.run(main())
