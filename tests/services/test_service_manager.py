"""Services of plugins at work."""

import asyncio
import logging

import pytest
from pydantic import BaseModel

from oneclaw_core import PermissionAnswer, SettingsError, ToolResultEvent, TurnFinishedEvent, hookimpl, tool
from oneclaw_core.services import manager
from oneclaw_core.services.manager import SERVICE_HOOK, ServiceChange, ServiceManager

pytestmark = pytest.mark.every_python


class Plugin:
    """A plugin with services, by name."""

    def __init__(self, services, **options):
        self._services, self._options = services, options

    @hookimpl
    def register_services(self, register):
        for name, work in self._services.items():
            register(name, work, **self._options)


class Scene:
    """Services at work in an open home, and what became known of them."""

    def __init__(self, claw, options=None):
        self.claw = claw
        self.news = []
        self._heard = asyncio.Condition()
        services = claw.plugins.registrations(SERVICE_HOOK)
        self.manager = ServiceManager(claw, services, "serve", self._report, options)

    def _report(self, news):
        self.news.append(news)

    @property
    def changes(self):
        return [str(each.change) for each in self.news]

    async def until(self, change, times=1):
        while self.changes.count(change) < times:
            await asyncio.sleep(0)


@pytest.fixture
def run(oneclaw_factory):
    """Run services while some work is done: ``run(work, name=service)``."""

    def run(work, /, *plugins, options=None, check_plugins=True, registered=None, **services):
        home = oneclaw_factory([Plugin(services, **(registered or {})), *plugins], check_plugins=check_plugins)

        async def scene():
            async with home.opened() as claw:
                here = Scene(claw, options)
                async with asyncio.timeout(30):
                    async with here.manager.running():
                        await work(here)
                return here

        return asyncio.run(scene())

    return run


async def forever():
    await asyncio.Event().wait()


def test_a_service_works_until_it_is_stopped(run):
    states = []

    async def service(context):
        states.append((context.name, context.service, context.runs_in, context.stopping.is_set()))
        context.ready("at http://127.0.0.1:1")
        try:
            await forever()
        finally:
            states.append(("stopped", context.stopping.is_set()))

    async def work(scene):
        await scene.until("ready")

    scene = run(work, page=service)

    assert states == [("Plugin", "page", "serve", False), ("stopped", True)]
    assert [str(each) for each in scene.news] == [
        "page of plugin Plugin starts",
        "page of plugin Plugin is ready: at http://127.0.0.1:1",
    ]


def test_its_context_is_that_of_the_plugin(run, tmp_path):
    seen = {}

    async def service(context):
        seen["service"] = context
        context.start_task(forever())
        context.ready()
        await forever()

    class Other:
        @hookimpl
        async def plugin_started(self, context):
            seen["other"] = context

    async def work(scene):
        await scene.until("ready")
        plugin = await scene.claw.plugins.context_of("Plugin")
        seen["is_shared"] = seen["service"].http is plugin.http and seen["service"].folder == plugin.folder

    run(work, page=service)

    assert seen["is_shared"]
    assert "other" not in seen


def test_a_failed_service_is_started_again_with_growing_pauses(run, monkeypatch, caplog):
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(manager, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(manager, "LONGEST_PAUSE_SECONDS", 0.004)
    failures = [ValueError("broken"), SystemExit(3), asyncio.CancelledError(), OSError("away")]

    async def service(context):
        if failures:
            raise failures.pop(0)
        context.ready()
        await forever()

    async def work(scene):
        await scene.until("ready")

    scene = run(work, page=service)

    assert [each.text for each in scene.news if each.change is ServiceChange.FAILED] == [
        "ValueError: broken; it is started again in 0.001 s",
        "SystemExit: 3; it is started again in 0.002 s",
        "CancelledError; it is started again in 0.004 s",
        "OSError: away; it is started again in 0.004 s",
    ]


def test_one_that_cannot_start_is_not_started_again_and_stops_all(oneclaw_factory, caplog):
    caplog.set_level(logging.CRITICAL)

    async def page(context):
        raise SettingsError("port 1 is in use")

    async def bell(context):
        context.ready()
        await forever()

    async def scene():
        async with oneclaw_factory([Plugin({"page": page, "bell": bell})]).opened() as claw:
            here = Scene(claw)
            async with asyncio.timeout(30):
                with pytest.raises(SettingsError, match="port 1 is in use"):
                    await here.manager.run(asyncio.Event())
            return here

    here = asyncio.run(scene())

    assert [each.text for each in here.news if each.service == "page"] == [""]  # started
    assert not here.manager.settled.is_set()


def test_one_that_was_ready_is_started_again_whatever_failed(run, monkeypatch, caplog):
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(manager, "FIRST_PAUSE_SECONDS", 0.001)
    starts = []

    async def page(context):
        if starts:
            starts.append("again")
            raise SettingsError("port 1 is in use")
        starts.append("first")
        context.ready()
        raise ValueError("broken")

    async def work(scene):
        await scene.until("failed", 3)

    assert run(work, page=page).manager.settled.is_set()


class BellSettings(BaseModel):
    """Settings of a service."""

    key: str = ""


class Bell(Plugin):
    @hookimpl
    def register_settings(self, register):
        register(BellSettings)


def test_a_service_is_off_while_a_setting_that_it_needs_is_empty(run):
    async def bell(context):
        raise AssertionError

    async def work(scene):
        await scene.manager.settled.wait()

    scene = run(work, Bell({"bell": bell}, needs="key"))

    assert [str(each) for each in scene.news] == [
        "bell of plugin Bell is off; turn it on with: oneclaw config set Bell.key VALUE"
    ]


def test_a_service_that_returns_is_not_started_again(run):
    async def service(context):
        return None

    async def work(scene):
        await scene.until("ended")

    assert run(work, page=service).changes == ["started", "ended"]


def test_running_ends_when_all_services_have_ended(oneclaw_factory):
    async def service(context):
        return None

    async def scene():
        async with oneclaw_factory([Plugin({"page": service})]).opened() as claw:
            here = Scene(claw)
            async with asyncio.timeout(30):
                await here.manager.run(asyncio.Event())
            return here.changes

    assert asyncio.run(scene()) == ["started", "ended"]


def test_one_that_does_not_stop_is_left_to_itself(run, monkeypatch):
    monkeypatch.setattr(manager, "CLEAN_UP_SECONDS", 0.01)
    end = []

    async def service(context):
        end.append(asyncio.Event())
        context.ready()
        while not end[0].is_set():
            try:
                await end[0].wait()
            except asyncio.CancelledError:
                continue

    async def work(scene):
        await scene.until("ready")
        asyncio.get_running_loop().call_later(0.05, end[0].set)

    assert run(work, deaf=service).changes[:3] == ["started", "ready", "left"]


def test_one_with_time_to_stop_ends_by_itself(run):
    states = []

    async def service(context):
        context.ready()
        await context.stopping.wait()
        states.append("finished")

    async def work(scene):
        await scene.until("ready")

    run(work, registered={"grace_seconds": 30}, page=service)

    assert states == ["finished"]


def test_options_of_the_plugin_reach_its_service(run):
    seen = []

    async def service(context):
        seen.append(context.options)

    async def work(scene):
        await scene.until("ended")

    run(work, options={"Plugin": {"port": 80}, "other": {"port": 90}}, page=service)

    assert seen == [{"port": 80}]


@tool(required_permissions=["acme.send"])
def send_it() -> str:
    """Send it."""
    return "sent"


class Sender:
    @hookimpl
    def register_tools(self, register):
        register(send_it)


@pytest.mark.parametrize(
    ("answer", "result"),
    [(PermissionAnswer.ONCE, "success"), (PermissionAnswer.NO, "error")],
)
def test_a_service_sends_messages_and_answers_their_questions(oneclaw_factory, answer, result):
    asked, events, sessions = [], [], []

    async def ask(request):
        asked.append(request.permission)
        return answer

    async def service(context):
        context.answer_permissions(ask)
        async for event in context.send_message("inbox", "Send it."):
            events.append(event)
        sessions.extend(await context.sessions.list())
        sessions.append(await context.sessions.find("inbox"))
        sessions.append(await context.sessions.find("nowhere"))

    home = oneclaw_factory([Plugin({"mail": service}), Sender()], environ={"ONECLAW_MODEL": "scripted/model"})
    home.model.calls("send_it").then("It is done.")

    async def scene():
        async with home.opened() as claw:
            here = Scene(claw)
            async with asyncio.timeout(30):
                await here.manager.run(asyncio.Event())

    asyncio.run(scene())

    assert asked == ["acme.send"]
    assert [str(each.result.status) for each in events if isinstance(each, ToolResultEvent)] == [result]
    assert isinstance(events[-1], TurnFinishedEvent)
    assert [each and each.name for each in sessions] == ["inbox", "inbox", None]
    assert home.user.asked == []


@pytest.mark.parametrize("target", [print, len])
def test_what_is_no_async_function_is_reported(oneclaw_factory, target):
    home = oneclaw_factory([Plugin({"page": target})], check_plugins=False)
    record = next(each for each in home.app.catalog.plugins if each.name == "Plugin")

    assert record.registrations == []
    assert "is not an async function" in record.problems[0].cause
