"""Channels, routes and triggers of plugins, driven as their hosts will do it."""

import asyncio
import dataclasses

import pytest

from oneclaw_core import NotFoundError, PluginError, hookimpl
from oneclaw_core.plugins import Channel, OutMessage, Receipt, TriggerSetup, WebRequest, WebResponse
from oneclaw_core.plugins.isolation import ForeignError, call_isolated


class FileChannel(Channel):
    """Writes messages to a file."""

    max_characters = 1000

    def __init__(self, context):
        self._path = context.folder / "sent.txt"

    async def send(self, message):
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self._path.write_text("\n".join([*lines, f"{message.to}: {message.text}"]))
        return Receipt(str(len(lines)))


async def hook(context, request):
    if request.method == "POST":
        return WebResponse.json({"name": request.path_parameters["name"], "got": request.json()}, status=201)
    return WebResponse(body=f"{context.name}: {request.query['q'][0]}", headers={"x-kind": "plain"})


async def three_times(context, parameters, fire):
    for number in range(3):
        await fire(f"{parameters['what']} {number}")
    await asyncio.Event().wait()


async def choose_word(context, parameters):
    return TriggerSetup(parameters={"what": f"{context.name} {parameters}"}, note="say it", values={"word": "it"})


async def take_word(context, parameters, request, fire):
    return WebResponse.json({"started": await fire(f"{parameters['what']}: {request.text()}")})


async def fail(context, parameters, fire):
    raise ValueError("broken")


class Plugin:
    @hookimpl
    def register_channels(self, register):
        register("file", FileChannel, is_send_only=True)
        register("none", lambda context: None, is_send_only=True)

    @hookimpl
    def register_routes(self, register):
        register("hook/{name}", hook, methods=("GET", "POST"), is_public=True)

    @hookimpl
    def register_triggers(self, register):
        register("counted", three_times, help="fires three times", parameters={"what": "a word"}, required=["what"])
        functions = {"set_up": f"{__name__}:choose_word", "take_request": f"{__name__}:take_word"}
        register("asked", three_times, help="is asked", parameters={"what": "a word"}, **functions)
        register("broken", fail)


class Host:
    """A small stand-in for ``oneclaw serve`` with a page, channels and tasks."""

    def __init__(self, claw):
        self._plugins = claw.plugins

    async def _call(self, registration, *arguments, is_async=True):
        target = await self._plugins.object_of(registration)
        context = await self._plugins.context_of(registration.plugin)
        return await call_isolated(lambda: target(context, *arguments), 10, is_async=is_async)

    async def channel(self, name):
        (registration,) = [each for each in self._plugins.registrations("register_channels") if each.name == name]
        return registration, await self._call(registration, is_async=False)

    async def answer(self, path, request):
        (registration,) = [each for each in self._plugins.registrations("register_routes") if each.name == path]
        return registration, await self._call(registration, request)

    async def follow(self, name, parameters, fire):
        (registration,) = [each for each in self._plugins.registrations("register_triggers") if each.name == name]
        return registration, asyncio.create_task(self._call(registration, parameters, fire))


@pytest.fixture
def run(oneclaw_factory):
    def run(work):
        async def scene():
            async with oneclaw_factory([Plugin()]).opened() as claw, asyncio.timeout(30):
                return await work(Host(claw), claw)

        return asyncio.run(scene())

    return run


def test_a_message_goes_out_through_a_channel(run):
    async def work(host, claw):
        registration, channel = await host.channel("file")
        receipts = [await channel.send(OutMessage(to="anna", text=text)) for text in ("Good morning.", "Good night.")]
        folder = (await claw.plugins.context_of("Plugin")).folder
        assert all(each.stat().st_mode & 0o777 == 0o700 for each in (folder, folder.parent))
        return registration.options, receipts, channel.max_characters, (folder / "sent.txt").read_text()

    assert run(work) == (
        {"is_send_only": True},
        [Receipt("0"), Receipt("1")],
        1000,
        "anna: Good morning.\nanna: Good night.",
    )


def test_other_plugins_send_through_a_channel(run):
    async def work(host, claw):
        channel = await claw.services.channel("file")
        with pytest.raises(NotFoundError, match="no channel 'pigeon'; plugins have registered: file, none"):
            await claw.services.channel("pigeon")
        with pytest.raises(NotFoundError, match=r"no channel 'mail'; it needs the plugin notify, .* oneclaw-notify"):
            await claw.services.channel("mail")
        with pytest.raises(PluginError, match=r"Plugin.*channel none.*is not a Channel, but of type NoneType"):
            await claw.services.channel("none")
        return await channel.send(OutMessage(text="Good morning."))

    assert run(work) == Receipt("0")


def test_a_request_has_the_fields_of_its_form():
    assert WebRequest(method="POST", body=b"text=a+%26+b&empty=&text=c").form() == {"text": "c", "empty": ""}


def test_a_route_answers_requests(run):
    async def work(host, claw):
        posted = WebRequest(method="POST", path_parameters={"name": "bell"}, body=b'{"rings": 2}')
        registration, created = await host.answer("hook/{name}", posted)
        _, plain = await host.answer("hook/{name}", WebRequest(query={"q": ("x", "y")}))
        return registration.options, created, plain

    options, created, plain = run(work)

    assert options == {"methods": ["GET", "POST"], "is_public": True, "max_body_bytes": 1_048_576, "title": ""}
    assert (created.status, created.body) == (201, '{"name": "bell", "got": {"rings": 2}}')
    assert created.media_type == "application/json"
    assert (plain.status, plain.body, plain.headers) == (200, "Plugin: x", {"x-kind": "plain"})


def test_a_route_that_fails_reaches_no_one_else(run):
    async def work(host, claw):
        with pytest.raises(ForeignError) as caught:
            await host.answer("hook/{name}", WebRequest(method="POST", body=b"no JSON"))
        return type(caught.value.raised)

    assert issubclass(run(work), LookupError)


def test_a_trigger_completes_its_parameters_and_answers_requests(run):
    async def fire(text):
        return text == "word: hello"

    async def work(host, claw):
        with pytest.raises(NotFoundError, match="no trigger 'rung'; plugins have registered: asked, broken, counted"):
            claw.services.trigger("rung")
        with pytest.raises(NotFoundError, match=r"no trigger 'mail_received'; it needs the plugin triggers, "):
            claw.services.trigger("mail_received")
        assert claw.services.trigger("counted").set_up is None
        with pytest.raises(PluginError, match=r"Plugin.*trigger broken.*ValueError"):
            await claw.services.trigger("broken").run({}, fire)
        for services in (claw.services, claw.services.for_other_loop()):
            trigger = services.trigger("asked")
            made = await trigger.set_up({})
            answer = await trigger.take_request({"what": "word"}, WebRequest(body=b"hello"), fire)
        return made, answer.body

    made, body = run(work)
    assert (dict(made.parameters), made.note, dict(made.values)) == ({"what": "Plugin {}"}, "say it", {"word": "it"})
    assert body == '{"started": true}'


def test_a_trigger_fires_until_it_is_cancelled(run):
    fired = []

    async def fire(text):
        fired.append(text)

    async def work(host, claw):
        _, task = await host.follow("counted", {"what": "bell"}, fire)
        while len(fired) < 3:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert run(work)
    assert fired == ["bell 0", "bell 1", "bell 2"]


def test_requests_and_responses_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        WebRequest().method = "POST"
    with pytest.raises(dataclasses.FrozenInstanceError):
        WebResponse().status = 500
    assert WebRequest(body="ä".encode()).text() == "ä"


def test_other_plugins_work_with_a_trigger(run):
    async def work(host, claw):
        trigger = claw.services.trigger("counted")
        assert [each.name for each in claw.services.triggers()] == ["broken", "asked", "counted"]
        across = claw.services.for_other_loop().trigger("counted")
        texts = []

        async def fire(text, *, key=None):
            texts.append(text)
            return True

        working = [asyncio.create_task(each.run({"what": "bell"}, fire)) for each in (trigger, across)]
        while len(texts) < 6:
            await asyncio.sleep(0)
        for each in working:
            each.cancel()
        return trigger, texts

    trigger, texts = run(work)
    assert (trigger.name, trigger.plugin, trigger.help) == ("counted", "Plugin", "fires three times")
    assert (trigger.parameters, trigger.required) == ({"what": "a word"}, ("what",))
    assert sorted(texts) == sorted([f"bell {number}" for number in range(3)] * 2)
