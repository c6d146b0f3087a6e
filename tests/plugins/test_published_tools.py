"""Tools and groups that tool sources publish: problems reported, and the copy kept for the next start."""

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest

from oneclaw_core import (
    PluginError,
    SourceTool,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSource,
    ToolSourceType,
)
from oneclaw_core.plugins import GroupTools, ListingContext, SourceGroup
from oneclaw_core.plugins.isolation import HookError
from oneclaw_core.plugins.plugin import Plugin, PluginProblem, Registration
from oneclaw_core.tool_sources import known_tools, tool_sources
from oneclaw_core.tool_sources.known_tools import Known, KnownGroup, StandInTool, list_sources, read_known
from oneclaw_core.tool_sources.published_tools import PublishedTools
from oneclaw_core.tool_sources.tool_sources import ToolSources, _Source

WHERE = "tool source 'found'"
DISABLE = "disable the plugin with: oneclaw plugins disable acme"


class Answers:
    def __init__(self, name, group=None, *, permissions=(), description="Answers."):
        schema = {"type": "object", "properties": {}}
        self.definition = ToolDefinition(name, description, schema, required_permissions=permissions)
        if group is not None:
            self.group = group

    async def execute(self, arguments, context):
        return ToolResult.success(self.definition.name)


class Hostile:
    @property
    def definition(self):
        raise ValueError("no")

    @property
    def group(self):
        raise ValueError("no")


def group(name="mail", display_name="Mail", description="Mails.", **options):
    return ToolGroupDefinition(name, display_name, description, **options)


def registration(name="found", target=None, **options):
    return Registration("register_tools.source", "acme", name, None, options, target)


def record(*registrations, **options):
    return Plugin("acme", "acme", "acme-tools", "1.0", registrations=list(registrations), **options)


def published(*registrations):
    records = [record(*(registrations or (registration(),)))]
    found = PublishedTools(ToolRegistry(), records)
    return found, records, [source for _, source in found.add_all()]


def problem(cause, remedy, is_error=True):
    return PluginProblem(WHERE, cause, remedy, is_error)


def test_tools_are_attributed_to_their_source():
    catalog, (plugin,), (source,) = published()
    tools = [
        Answers("plain"),
        Answers("own", "mail"),
        SourceTool(Answers("given", "mail"), "other", "file", ToolSourceType.JS_EXTENSION, is_bound=False),
    ]
    source.publish(tools, [group("mail"), SourceGroup(group("empty"))])
    infos = [catalog.registry.get_source_info(each) for each in ("plain", "own", "given")]
    assert [(each.group_name, each.plugin, each.distribution, each.is_supplied) for each in infos] == [
        (None, "acme", "acme-tools 1.0", True),
        ("mail", "acme", "acme-tools 1.0", True),
        ("other", "acme", "acme-tools 1.0", True),
    ]
    assert [each.type for each in infos] == [
        *(ToolSourceType.PLUGIN, ToolSourceType.TOOL_GROUP, ToolSourceType.JS_EXTENSION),
    ]
    assert [each.is_bound_to_source for each in infos] == [True, True, False]
    assert (plugin.tools, plugin.groups, plugin.problems) == (["plain", "own", "given"], ["mail", "other"], [])
    assert catalog.registry.get_group_definition("other").description == "Tools from other group: given"
    assert catalog.registry.get_group_definition("empty") is None
    assert [each.origin for each in source.known()] == ["", "", "file"]
    assert [(each.definition.name, each.group) for each in source.known()] == [
        ("plain", None),
        ("own", "mail"),
        ("given", "other"),
    ]
    source.publish([])
    assert (plugin.tools, plugin.groups, catalog.registry.get_all_tool_names()) == ([], [], [])


def test_what_is_wrong_with_tools_is_told_with_a_remedy():
    catalog, (plugin,), (source,) = published()
    catalog.registry.register(Answers("taken"))
    source.publish(
        [
            Answers("taken"),
            SourceTool(Answers("one"), origin="a.json"),
            SourceTool(Answers("one"), origin="b.json"),
            Answers("one"),
            SourceTool(Answers("two"), "no good", "c.json"),
            Hostile(),
            SourceTool(Hostile(), origin="d.json"),
            Answers("last"),
            Answers("last"),
        ]
    )
    rename = "give one of the two another name"
    bad_group = (
        "tool group name 'no good' is not acceptable: use 1 to 63 letters, digits, '_' or '-', beginning with a "
    )
    assert plugin.problems == [
        problem("there is a tool 'taken' already, from builtin; this one is left out", rename),
        problem("b.json: there is a tool 'one' already, from a.json; this one is left out", rename),
        problem("there is a tool 'one' already, from a.json; this one is left out", rename),
        problem(f"c.json: {bad_group}letter or '_'", "correct the tool's definition"),
        problem("ValueError", "correct the tool's definition"),
        problem("d.json: ValueError", "correct the tool's definition"),
        problem(f"there is a tool 'last' already, from {WHERE}; this one is left out", rename),
    ]
    assert source.problems() == tuple(plugin.problems)
    assert [each.definition.name for each in source.known()] == ["taken", "one", "one", "one", "two", "last", "last"]


def test_what_is_wrong_with_groups_is_told_with_a_remedy():
    catalog, (plugin,), (source,) = published()
    catalog.registry.register_group(group("mail"), "other")
    meanings = {"post.send": "send post"}
    source.publish(
        [Answers("a", "mail"), Answers("b", "post"), Answers("c", "more"), Answers("d", "post")],
        [
            SourceGroup(group("mail"), origin="same.json"),
            SourceGroup(group("mail", "Post"), origin="x.json"),
            group("post", permissions=meanings),
            SourceGroup(group("more", permissions={"post.send": "send letters"}), origin="y.json"),
        ],
    )
    assert plugin.problems == [
        problem(
            "x.json: there is a tool group 'mail' already; its description stays, and these tools belong to it",
            "use another group name",
            is_error=False,
        ),
        problem(
            "y.json: 'post.send' is explained already, with other words; those stay",
            "use another permission, or the same words",
            is_error=False,
        ),
    ]
    assert plugin.groups == ["post", "more"]


def test_only_what_is_of_the_right_type_is_published():
    catalog, _, (source,) = published()
    source.publish([Answers("a")])
    for groups, problems, message in (
        ([7], (), "7 is not a ToolGroupDefinition"),
        ([SourceGroup("x")], (), "'x' is not a ToolGroupDefinition"),
        ((), ["y"], "'y' is not a PluginProblem"),
    ):
        with pytest.raises(PluginError) as error:
            source.publish([], groups, problems)
        assert str(error.value) == message
        assert catalog.registry.get_all_tool_names() == ["a"]


def test_problems_of_a_source_are_one_line_each_and_logged_once(caplog):
    _, (plugin,), (source,) = published()
    said = PluginProblem("other", "two\nlines", "look", False)
    source.publish([], problems=[said])
    assert plugin.problems == [PluginProblem("other", "two lines", "look", False)]
    source.report([PluginProblem("start", "bad", "fix")])
    assert [each.cause for each in plugin.problems] == ["bad", "two lines"]
    source.publish([Answers("a")], problems=[said])
    source.report([])
    source.report([PluginProblem("start", "bad", "fix")])
    assert [each.cause for each in plugin.problems] == ["bad", "two lines"]
    assert len([each for each in caplog.records if "bad" in each.getMessage()]) == 2


def test_a_change_is_told_once_and_only_if_it_is_one():
    catalog, _, (source,) = published()
    changes = []
    source.changed = lambda: changes.append(catalog.registry.get_all_tool_names())
    tool = Answers("a")
    source.publish([SourceTool(tool)], [group()])
    source.publish([SourceTool(tool)], [group()])
    assert changes == [["a"]]
    source.publish([SourceTool(tool)], [group(description="Other.")])
    source.publish([SourceTool(tool)], [group(description="Other.")], [PluginProblem("a", "b", "c", False)])
    assert len(changes) == 3


def test_sources_with_a_name_of_their_own_come_last_and_are_listed_while_they_show_something():
    named = registration("named", listed_as="listed")
    catalog, records, (plain, source) = published(named, registration())
    assert (plain.record.name, source.record.name, plain.where, source.where) == (
        *("acme", "listed", WHERE, "tool source 'named'"),
    )
    assert (source.record.source, source.record.target) == ("acme named", "acme")
    assert [each.name for each in records] == ["acme"]
    source.publish([Answers("a")])
    plain.publish([Answers("a"), Answers("b")])
    assert catalog.registry.get_all_tool_names() == ["a", "b"]
    assert [(each.name, each.tools) for each in records] == [("acme", ["a", "b"]), ("listed", [])]
    assert source.record.problems[0].cause == "there is a tool 'a' already, from acme-tools 1.0; this one is left out"
    plain.publish([])
    assert source.record.tools == ["a"]
    source.set_disabled(True)
    assert (catalog.registry.get_all_tool_names(), source.record.problems) == ([], [])
    assert [each.name for each in records] == ["acme", "listed"]
    source.set_disabled(True)
    source.set_disabled(False)
    assert catalog.registry.get_all_tool_names() == ["a"]
    source.publish([])
    assert [each.name for each in records] == ["acme"]
    off = PublishedTools(ToolRegistry(), [record(named), record(registration(), is_disabled=True)])
    ((_, found),) = off.add_all({"listed"})
    assert (found.record.is_disabled, found.where) == (True, "tool source 'named'")


def reading(name, *tools, names=None, origin="", **options):
    def read():
        return GroupTools(tuple(SourceTool(each) for each in tools), options.get("permissions", {}))

    given = tuple(each.definition.name for each in tools) if names is None else names
    return SourceGroup(group(name), origin=origin, tool_names=given, read=options.get("read", read))


def test_groups_are_read_when_one_of_their_tools_is_needed(caplog):
    catalog, (plugin,), (source,) = published()
    registry = catalog.registry
    registry.register(Answers("taken"))
    broken = reading("broken", names=("x",), origin="b.json", read=lambda: 1 / 0)
    source.publish(
        [],
        [
            reading("mail", Answers("send"), Answers("taken"), names=("send", "taken", "gone"), origin="m.json"),
            reading("mail", Answers("other"), origin="n.json"),
            reading("none"),
            broken,
        ],
    )
    assert plugin.tools == ["send", "gone", "x"]
    assert plugin.problems == [
        problem("n.json: the tools of the group 'mail' are left out", "give it another name"),
        problem("m.json: there are tools of these names already, these are left out: taken", "give them other names"),
    ]
    assert registry.get_tool("send").definition.name == "send"
    assert registry.get_all_tool_names()[:2] == ["taken", "send"]
    source_of = registry.get_source_info("send")
    assert (source_of.group_name, source_of.type, source_of.is_supplied) == ("mail", ToolSourceType.TOOL_GROUP, True)
    assert registry.get_tool("x") is None
    assert plugin.problems[2:] == [
        problem(
            "b.json: the tools of the group 'broken' cannot be read: ZeroDivisionError: division by zero", "see the log"
        )
    ]
    assert (registry.get_all_tool_names(), plugin.tools) == (["taken", "send"], ["send"])
    source.publish([])
    assert (registry.get_all_tool_names(), plugin.tools) == (["taken"], [])


def test_what_is_known_of_a_source_survives_being_stored(tmp_path, caplog):
    _, _, (source,) = published()

    async def open_group():
        """Stand in for a group that is opened later."""

    source.publish(
        [Answers("a", permissions=("mail.send",)), SourceTool(Answers("b"), "mail", "x.json")],
        [
            SourceGroup(group("mail", permissions={"mail.send": "send mail"}, may_be_unlisted=True), origin="y.json"),
            SourceGroup(group("later"), open_group),
        ],
    )
    known = Known.of(source, PluginProblem("start", "bad é", "fix"))
    assert known.groups == (
        KnownGroup(group("mail", permissions={"mail.send": "send mail"}, may_be_unlisted=True), True, "y.json"),
        KnownGroup(group("later"), False, ""),
    )
    text = known.to_json()
    read = Known.from_json(text, WHERE)
    assert (read.tools, read.groups, read.problem) == (known.tools, known.groups, problem("bad é", "fix"))
    assert "é".encode() in text
    document = json.loads(text)
    assert Known.from_json(json.dumps(document | {"format": 0}).encode(), WHERE) == Known()
    assert Known.from_json(Known.of(source).to_json(), WHERE).problem is None
    del document["groups"][0]["may_be_unlisted"]
    assert Known.from_json(json.dumps(document).encode(), WHERE).groups[0].definition.may_be_unlisted is False
    path = tmp_path / "known.json"
    assert read_known(path, WHERE) == Known()
    known_tools.write_known(path, text)
    assert (read_known(path, WHERE), path.stat().st_mode & 0o777) == (read, 0o600)
    assert caplog.records == []
    for damaged in (
        b"{",
        b"[]",
        b"{}",
        b'{"format": 1}',
        b"7",
        b'{"format": 1, "groups": [], "problem": null, "tools": [1]}',
    ):
        known_tools.write_known(path, damaged)
        assert read_known(path, WHERE) == Known()
    assert len(caplog.records) == 6
    assert all(
        each.getMessage().startswith(f"{path} cannot be used, its tools are found anew: ") for each in caplog.records
    )
    assert known_tools.known_path(tmp_path, registration("x")) == tmp_path / "acme.x.json"
    caplog.clear()
    known_tools.write_known(path / "below", text)
    assert caplog.records[0].getMessage().startswith(f"{path / 'below'} could not be written: ")


def stand_in(source, start, tool=None):
    tool = tool or Answers("a")
    return StandInTool(tool.definition, source, start)


def test_a_known_tool_says_why_it_did_nothing():
    async def work():
        _, _, (source,) = published()

        async def fail():
            raise PluginError("it does not start")

        async def start_other():
            source.publish([Answers("a", description="Changed."), SourceTool(Answers("b"))])

        async def start_stricter():
            source.publish([Answers("a", permissions=("mail.send",))])

        async def start_nothing():
            source.publish([])

        not_available = "Tool 'a' is not available: "
        for start, message in (
            (None, f"{not_available}{WHERE} cannot be started in a listing"),
            (fail, f"{not_available}it does not start"),
            (start_nothing, f"{not_available}{WHERE} does not have it any more."),
            (
                start_stricter,
                "Tool 'a' was not run: it has changed since it was listed. Nothing was done; call it again as it is "
                "now.",
            ),
        ):
            assert await stand_in(source, start).execute({}, None) == ToolResult.error("not_available", message)
        paused = []

        class Pause:
            def __enter__(self):
                paused.append("paused")

            def __exit__(self, *_):
                paused.append("goes on")

        context = SimpleNamespace(paused=Pause, run_async=lambda call: call())
        result = await stand_in(source, start_other).execute({}, context)
        assert (result, paused) == (ToolResult.success("a"), ["paused", "goes on"])
        known_only = Known.of(source)
        known_tools.publish_known(source, known_only, start_nothing)
        # It is started, and knows no more than before.
        gone = await stand_in(source, lambda: asyncio.sleep(0)).execute({}, None)
        assert gone.error_message == f"{not_available}{WHERE} does not have it any more."

    asyncio.run(work())


def test_a_known_group_is_opened_by_its_source():
    async def work():
        _, _, (source,) = published()
        opened = []

        async def open_group():
            opened.append("mail")

        async def start():
            source.publish([], [SourceGroup(group("mail"), open_group), SourceGroup(group("post"))])

        known = Known(
            groups=(KnownGroup(group("mail"), False), KnownGroup(group("post"), False), KnownGroup(group("x")))
        )
        known_tools.publish_known(source, known, start)
        by_name = {each.definition.name: each.open for each in source.wanted_groups}
        assert by_name["x"] is None
        await by_name["post"]()
        assert opened == []
        await by_name["mail"]()
        assert opened == ["mail"]

    asyncio.run(work())


LISTED = []
GO_ON, PUBLISHED = threading.Event(), threading.Event()


def listing(context, tools):
    LISTED.append(context)
    tools.publish([Answers("listed")])


def listing_that_fails(context, tools):
    tools.publish([Answers("half")])
    raise ValueError("bad")


def listing_that_hangs(context, tools):
    GO_ON.wait(60)
    tools.publish([Answers("late")])
    PUBLISHED.set()


def test_a_listing_asks_sources_for_their_current_tools(tmp_path, monkeypatch):
    monkeypatch.setattr(known_tools, "LISTING_SECONDS", 1.0)
    context = ListingContext(tmp_path, {}, {})
    for target, names, cause in (
        ("listing", ["listed"], None),
        ("listing_that_fails", ["half"], "listing failed: ValueError: bad"),
        ("listing_that_hangs", [], "listing failed: it did not end within 1 s"),
    ):
        plugin = record(registration(listing=f"{__name__}:{target}"))
        catalog = PublishedTools(ToolRegistry(), [plugin])
        list_sources(catalog, tmp_path, context)
        assert catalog.registry.get_all_tool_names() == names
        assert plugin.problems == ([] if cause is None else [problem(cause, DISABLE)])
    assert [context] == LISTED
    GO_ON.set()
    assert PUBLISHED.wait(60)
    assert catalog.registry.get_all_tool_names() == []
    named = record(registration(listing=f"{__name__}:listing", listed_as="named"))
    catalog = PublishedTools(ToolRegistry(), [named])
    list_sources(catalog, tmp_path, context, {"named"})
    assert (catalog.registry.get_all_tool_names(), len(LISTED)) == ([], 1)
    _, _, (source,) = published()
    source.publish([Answers("kept")])
    known_tools.write_known(tmp_path / "acme.found.json", Known.of(source, PluginProblem("x", "bad", "fix")).to_json())
    plugin = record(registration())
    catalog = PublishedTools(ToolRegistry(), [plugin])
    list_sources(catalog, tmp_path, context)
    assert (catalog.registry.get_all_tool_names(), plugin.problems) == (["kept"], [problem("bad", "fix")])


class Clock:
    """The monotonic clock of tool sources."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class Supplies(ToolSource):
    def __init__(self, *names):
        self.names, self.events, self.fault = names, [], None

    async def start(self, tools):
        self.events.append("start")
        if self.fault is not None:
            raise self.fault
        tools.publish([Answers(each) for each in self.names])

    async def refresh(self):
        self.events.append("refresh")
        if self.fault is not None:
            raise self.fault

    async def stop(self):
        self.events.append("stop")


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(tool_sources, "time", clock)
    return clock


def source_of(plugin_source, path=None, **options):
    async def make():
        return plugin_source

    catalog, (plugin,), (tools,) = published(registration(**options))
    return _Source(tools, make, path, registration(**options)), plugin, catalog.registry


def test_a_source_that_fails_is_tried_again_after_longer_and_longer(clock):
    async def work():
        supplies = Supplies("a")
        source, plugin, registry = source_of(supplies, starts="turn")
        supplies.fault = ValueError("bad")
        pauses = [10, 20, 40, 80, 160, 320, 600, 600]
        for pause in pauses:
            assert source.must_start
            with pytest.raises(PluginError) as error:
                await source.started()
            assert str(error.value) == f"{WHERE} does not start: ValueError: bad"
            assert plugin.problems == [problem("start failed: ValueError: bad", f"see the log, or {DISABLE}")]
            clock.now += pause - 1
            assert not source.must_start
            clock.now += 1
        assert supplies.events == ["start", "stop"] * len(pauses)
        supplies.fault = None
        await source.started()
        assert (registry.get_all_tool_names(), plugin.problems, source.has_refresh) == (["a"], [], True)
        assert not source.must_start
        supplies.fault = HookError("acme", "plugin_started", "failed: sign in")
        await source.refresh()
        assert plugin.problems[0].cause == "refresh failed: plugin_started failed: sign in"
        await source.refresh()
        assert supplies.events.count("refresh") == 1
        clock.now += 10
        supplies.fault = None
        await source.refresh()
        assert (plugin.problems, supplies.events.count("refresh")) == ([], 2)
        await source.stop()
        assert supplies.events[-1] == "stop"
        assert not source.must_start
        with pytest.raises(PluginError) as error:
            await source.started()
        assert str(error.value) == f"{WHERE} does not start: the home is closed"

    asyncio.run(work())


def test_a_call_may_have_a_failed_source_tried_again_soon(clock):
    async def work():
        supplies = Supplies("a")
        supplies.fault = TimeoutError()
        source, plugin, _ = source_of(supplies)
        for seconds, starts in ((0, 1), (9.9, 1), (0.2, 2), (9.9, 2), (0.2, 3)):
            clock.now += seconds
            with pytest.raises(PluginError) as error:
                await source.started()
            assert str(error.value) == f"{WHERE} does not start: it did not end in time"
            assert supplies.events.count("start") == starts, seconds
        assert plugin.problems[0].cause == "start failed: it did not end in time"

    asyncio.run(work())


def test_a_source_starts_when_it_is_said_to(clock):
    async def work():
        for starts, is_known, must_start in (
            ("call", True, False),
            ("call", False, True),
            ("turn", True, True),
            ("open", True, True),
        ):
            source, _, _ = source_of(Supplies("a"), starts=starts)
            if is_known:
                source._published.publish([Answers("known")])
            assert (source.must_start, source.starts) == (must_start, starts)
        source, plugin, _ = source_of(Supplies("a"))
        assert (source.starts, source._start_seconds) == ("call", 30.0)
        plugin.is_disabled = True
        assert not source.must_start
        source, _, _ = source_of(Supplies("a"), start_seconds=2)
        assert source._start_seconds == 2.0
        source._published.publish([], [group("mail")])
        assert not source.must_start

    asyncio.run(work())


def test_what_a_source_publishes_is_kept(tmp_path, clock):
    async def work():
        path = tmp_path / "acme.found.json"
        supplies = Supplies("a")
        source, _, _ = source_of(supplies, path)
        source.list_known()
        await source.started()
        await source.stop()
        assert [each.definition.name for each in read_known(path, WHERE).tools] == ["a"]
        before = path.stat().st_mtime_ns
        again, _, registry = source_of(supplies, path)
        again.list_known()
        assert isinstance(registry.get_tool("a"), StandInTool)
        await again.started()
        assert not isinstance(registry.get_tool("a"), StandInTool)
        await again.stop()
        assert path.stat().st_mtime_ns == before
        supplies.fault = ValueError("bad")
        failing, plugin, registry = source_of(supplies, path)
        failing.list_known()
        with pytest.raises(PluginError):
            await failing.started()
        assert isinstance(registry.get_tool("a"), StandInTool)
        await failing.stop()
        known = read_known(path, WHERE)
        assert (known.problem.cause, len(known.tools)) == ("start failed: ValueError: bad", 1)
        assert plugin.problems == [known.problem]

    asyncio.run(work())


def test_a_source_that_does_not_stop_is_told(clock, caplog):
    async def work():
        class Stubborn(Supplies):
            async def stop(self):
                raise ValueError("bad")

        source, _, _ = source_of(Stubborn("a"))
        await source.started()
        await source.stop()
        assert [each.getMessage() for each in caplog.records] == [f"{WHERE} of acme did not stop: ValueError: bad"]

        class Bare:
            async def start(self, tools):
                tools.publish([])

        source, _, _ = source_of(Bare())
        await source.started()
        assert source.has_refresh is False
        await source.stop()
        assert len(caplog.records) == 1

    asyncio.run(work())


class Objects:
    """Gives what plugins registered."""

    async def context_of(self, name):
        return SimpleNamespace(name=name)

    async def object_of(self, registration):
        return registration.value


def test_a_home_starts_finds_and_disables_sources(tmp_path):
    async def work():
        one, two, three = Supplies("a"), Supplies("b"), Supplies("c")
        made = []

        def target(supplies):
            def make(context):
                made.append(context.name)
                return supplies

            return make

        plugin = record(
            registration("one", target(one), starts="open"),
            registration("two", target(two), starts="turn"),
            registration("three", target(three), listed_as="three"),
        )
        catalog = PublishedTools(ToolRegistry(), [plugin])
        sources = ToolSources(catalog, tmp_path, Objects())
        sources.add({"three"})
        await sources.start()
        assert (made, catalog.registry.get_all_tool_names()) == (["acme"], ["a"])
        await sources.refresh()
        assert catalog.registry.get_all_tool_names() == ["a", "b"]
        assert (one.events, two.events, three.events) == (["start", "refresh"], ["start", "refresh"], [])
        assert await sources.get("acme", "three") is None
        sources.set_disabled(())
        assert await sources.get("acme", "three") is three
        assert catalog.registry.get_all_tool_names() == ["a", "b", "c"]
        assert await sources.get("acme", "two") is two
        assert (await sources.get("acme", "four"), await sources.get("other", "two")) == (None, None)
        sources.set_disabled({"three", "one"})
        assert catalog.registry.get_all_tool_names() == ["a", "b"]
        await sources.aclose()
        assert [each.events[-1] for each in (one, two, three)] == ["stop"] * 3
        assert sorted(each.name for each in tmp_path.iterdir()) == [
            *("acme.one.json", "acme.three.json", "acme.two.json"),
        ]

    asyncio.run(work())
