"""Tool sources: tools that are known only at run time."""

import asyncio
import json
import logging
import threading
from types import SimpleNamespace

import pytest
from pytest_oneclaw import running_call

from oneclaw_core import (
    PluginError,
    SourceTool,
    Tool,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSource,
    hookimpl,
    tool,
)
from oneclaw_core.plugins import GroupTools, ListingContext, SourceGroup
from oneclaw_core.plugins.plugin import Plugin as PluginRecord
from oneclaw_core.plugins.registrars import ToolRegistrar
from oneclaw_core.tool_sources import tool_sources
from oneclaw_core.tool_sources.known_tools import list_sources
from oneclaw_core.tool_sources.published_tools import PublishedTools
from oneclaw_core.tool_sources.tool_sources import ToolSources
from oneclaw_core.tools.group_tools import LoadToolGroupTool
from oneclaw_core.types.tools import ToolSourceInfo, ToolSourceType


class Answers:
    """A tool that answers with a text."""

    def __init__(self, name, answer="", *, description="Answer.", parameters=None):
        schema = parameters or {"type": "object", "properties": {}}
        self.definition = ToolDefinition(name, description, schema)
        self._answer = answer or name

    async def execute(self, arguments, context):
        return ToolResult.success(self._answer)


class Source(ToolSource):
    """A source of given tools that notes what happens to it."""

    def __init__(self, *tools, groups=()):
        self.content, self.groups = list(tools), groups
        self.events = []
        self.tools = None

    async def start(self, tools):
        self.events.append("start")
        self.tools = tools
        self.publish()

    def publish(self, *tools):
        self.tools.publish(tools or self.content, self.groups)

    async def stop(self):
        self.events.append("stop")


class Host:
    """An open home as far as tool sources are concerned."""

    def __init__(self, home, **sources):
        self.home = home
        self.registry = ToolRegistry()
        self.record = PluginRecord("acme", "acme", "acme-tools", "1.0")
        self.known = PublishedTools(self.registry, [self.record])
        self.sources = sources
        self.entry = PluginRecord("acme")
        self.register = ToolRegistrar(self.entry, self.registry)
        self.running = ToolSources(self.known, home, self)

    def add(self, **options):
        for name, source in self.sources.items():
            self.register.source(name, lambda context, source=source: source, **options)
        self.record.registrations += self.entry.registrations
        self.running.add()

    async def context_of(self, name):
        return SimpleNamespace(name=name)

    async def object_of(self, registration):
        return registration.value

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.running.aclose()

    async def call(self, name):
        async with running_call(self.home) as context:
            return await self.registry.get_tool(name).execute({}, context)

    @property
    def names(self):
        return self.registry.get_all_tool_names()

    @property
    def problems(self):
        return [each.cause for each in self.record.problems]


@pytest.fixture
def run(tmp_path):
    def run(work, *, starts="call", start_seconds=30.0, listing=None, **sources):
        async def open_and_work():
            async with Host(tmp_path / "tool_sources", **sources) as host:
                options = {} if listing is None else {"listing": listing}
                host.add(starts=starts, start_seconds=start_seconds, **options)
                return await work(host)

        return asyncio.run(open_and_work())

    return run


async def names_after_refresh(host):
    before = host.names
    await host.running.refresh()
    return before, host.names


def test_a_source_that_nothing_is_known_of_starts_with_the_first_turn(run):
    source = Source(Answers("first"), Answers("second"))

    assert run(names_after_refresh, files=source) == ([], ["first", "second"])
    assert source.events == ["start", "stop"]


def test_known_tools_are_listed_without_starting_the_source(run, tmp_path):
    run(names_after_refresh, files=Source(Answers("first")))
    later = Source(Answers("first"))

    assert run(names_after_refresh, files=later) == (["first"], ["first"])
    assert later.events == []


def test_the_first_call_of_a_known_tool_starts_its_source(run):
    run(names_after_refresh, files=Source(Answers("first")))
    later = Source(Answers("first", "done"), Answers("new"))

    async def work(host):
        result = await host.call("first")
        return result.result, host.names

    assert run(work, files=later) == ("done", ["first", "new"])
    assert later.events == ["start", "stop"]


def test_a_source_can_start_with_each_first_turn(run):
    run(names_after_refresh, files=Source(Answers("first")))

    assert run(names_after_refresh, starts="turn", files=Source(Answers("other"))) == (["first"], ["other"])


def test_a_known_tool_that_is_gone_or_has_changed_does_nothing(run):
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    run(names_after_refresh, files=Source(Answers("gone"), Answers("changed")))

    async def work(host):
        outcomes = [await host.call("gone")]
        await host.running.aclose()
        return outcomes[0].error_type, outcomes[0].error_message

    async def call_changed(host):
        first = await host.call("changed")
        return first.error_message, (await host.call("changed")).result

    assert run(work, files=Source(Answers("changed"))) == (
        "not_available",
        "Tool 'gone' is not available: tool source 'files' does not have it any more.",
    )
    run(names_after_refresh, starts="turn", files=Source(Answers("changed")))
    message, then = run(call_changed, files=Source(Answers("changed", "new", parameters=schema)))
    assert "it has changed since it was listed" in message
    assert then == "new"


def test_a_listing_knows_tools_groups_and_the_last_problem(run, tmp_path):
    group = ToolGroupDefinition("mine", "Mine", "Things of mine")
    source = Source(SourceTool(Answers("first"), "mine"), Answers("second"), groups=[group])
    run(names_after_refresh, files=source)

    registry, record = ToolRegistry(), PluginRecord("acme")
    ToolRegistrar(record, registry).source("files", "acme.files:Files")
    list_sources(PublishedTools(registry, [record]), tmp_path / "tool_sources", ListingContext(tmp_path, {}, {}))

    assert registry.get_all_tool_names() == ["first", "second"] == record.tools
    assert registry.get_group_definition("mine") == group
    assert record.groups == ["mine"]
    assert registry.get_source_info("first").plugin == "acme"


def test_a_change_shows_at_once_and_as_a_whole(run):
    source = Source(Answers("a"), Answers("b"))

    async def work(host):
        await host.running.refresh()
        version = host.registry.version
        source.publish(*source.content)
        unchanged = host.registry.version == version
        source.publish(Answers("b"), SourceTool(Answers("c"), "letters"))
        return unchanged, host.names, host.record.tools, host.record.groups

    assert run(work, files=source) == (True, ["b", "c"], ["b", "c"], ["letters"])


def test_a_thread_can_publish(run):
    source = Source(Answers("a"))

    async def work(host):
        await host.running.refresh()
        seen = asyncio.Event()
        published = source.tools
        before = published.changed
        published.changed = lambda: (before(), seen.set())
        threading.Thread(target=lambda: source.publish(Answers("b"))).start()
        await asyncio.wait_for(seen.wait(), 10)
        return host.names

    assert run(work, files=source) == ["b"]


def test_sources_keep_their_order_whichever_changes(run):
    first, second = Source(Answers("a"), Answers("same", "first's")), Source(Answers("b"), Answers("same"))

    async def work(host):
        await host.running.refresh()
        first.publish(Answers("a2"), Answers("same", "first's"))
        before = host.names, (await host.call("same")).result
        first.publish(Answers("a2"))
        return *before, host.names, host.problems

    names, answer, after, problems = run(work, first=first, second=second)

    assert (names, answer) == (["a2", "same", "b"], "first's")
    assert after == ["a2", "b", "same"]
    assert problems == []


def test_a_name_that_is_taken_is_reported_and_left_out(run):
    @tool
    def taken() -> str:
        """Be here first."""
        return "the plugin's"

    source = Source(SourceTool(Answers("taken"), origin="taken.txt"), Answers("free"), Answers("free"))

    async def work(host):
        host.registry.register(taken, ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", "acme-tools 1.0"))
        await host.running.refresh()
        return host.names, host.problems

    names, problems = run(work, files=source)

    assert names == ["taken", "free"]
    assert problems == [
        "taken.txt: there is a tool 'taken' already, from acme-tools 1.0; this one is left out",
        "there is a tool 'free' already, from tool source 'files'; this one is left out",
    ]


def test_something_that_is_no_tool_is_reported_and_the_others_stay(run):
    async def work(host):
        await host.running.refresh()
        return host.names, host.problems

    names, (problem,) = run(work, files=Source("nonsense", Answers("good")))

    assert names == ["good"]
    assert "'nonsense' is not a tool" in problem


class HostileTool:
    @property
    def definition(self):
        raise RuntimeError("no definition")

    @property
    def group(self):
        raise RuntimeError("no group")

    async def execute(self, arguments, context):
        raise AssertionError


def test_a_hostile_tool_harms_neither_the_others_nor_other_sources(run):
    first, second = Source(HostileTool(), Answers("good")), Source(Answers("other"))

    async def work(host):
        await host.running.refresh()
        with pytest.raises(PluginError, match="is not a ToolGroupDefinition"):
            first.tools.publish([], ["letters"])
        return host.names, host.problems

    assert run(work, first=first, second=second) == (["good", "other"], ["RuntimeError"])


def test_a_group_with_an_invalid_name_is_reported(run):
    async def work(host):
        await host.running.refresh()
        return host.names, host.problems

    names, (problem,) = run(work, files=Source(SourceTool(Answers("lost"), "no name"), Answers("good")))

    assert names == ["good"]
    assert "tool group name 'no name' is not acceptable" in problem


class Broken(Source):
    def __init__(self, raised):
        super().__init__(Answers("never"))
        self._raised = raised

    async def start(self, tools):
        await super().start(tools)
        raise self._raised


class ShyError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        (ValueError("no such server"), "start failed: ValueError: no such server"),
        (SystemExit(3), "start failed: SystemExit: 3"),
        (ShyError(), "start failed: ShyError"),
    ],
)
def test_a_source_that_fails_harms_no_other_and_is_named(run, tmp_path, caplog, raised, cause):
    caplog.set_level(logging.CRITICAL)
    broken = Broken(raised)

    async def work(host):
        await host.running.refresh()
        await host.running.refresh()
        return host.names, host.problems, host.record.problems[0].remedy

    names, (problem,), remedy = run(work, broken=broken, good=Source(Answers("good")))

    assert names == ["good"]
    assert problem.startswith(cause)
    assert "oneclaw plugins disable acme" in remedy
    assert broken.events == ["start", "stop"]  # and not tried again at once

    # Other processes name it, too.
    registry, record = ToolRegistry(), PluginRecord("acme")
    ToolRegistrar(record, registry).source("broken", "acme:Broken")
    list_sources(PublishedTools(registry, [record]), tmp_path / "tool_sources", ListingContext(tmp_path, {}, {}))
    assert [each.cause for each in record.problems] == [problem]


def test_a_failed_start_leaves_what_was_known_and_says_why_in_the_call(run):
    run(names_after_refresh, files=Source(Answers("never")))

    async def work(host):
        result = await host.call("never")
        return result.error_type, result.error_message, host.names

    kind, message, names = run(work, files=Broken(ValueError("no such server")))

    assert (kind, names) == ("not_available", ["never"])
    assert "tool source 'files' does not start: ValueError: no such server" in message


def test_a_failure_is_forgotten_when_the_source_works_again(run, tmp_path):
    run(names_after_refresh, files=Broken(ValueError("down")))

    async def work(host):
        before = host.problems
        await host.running.refresh()
        return before, host.problems

    before, after = run(work, files=Source(Answers("back")))

    assert before == ["start failed: ValueError: down"]
    assert after == []


class Slow(Source):
    def __init__(self, *tools):
        super().__init__(*tools)
        self.release = asyncio.Event()

    async def start(self, tools):
        await self.release.wait()
        await super().start(tools)


def test_a_request_does_not_wait_long_for_a_slow_start(run, monkeypatch):
    monkeypatch.setattr(tool_sources, "FIRST_WAIT_SECONDS", 0.01)
    slow = Slow(Answers("late"))

    async def work(host):
        await host.running.refresh()
        before = host.names
        slow.release.set()
        while not host.names:
            await asyncio.sleep(0)
        return before, host.names

    assert run(work, slow=slow) == ([], ["late"])


def test_a_start_has_a_limit_even_if_it_ignores_being_cancelled(run):
    class Deaf(Source):
        end = asyncio.Event()

        async def start(self, tools):
            while not self.end.is_set():
                try:
                    await self.end.wait()
                except asyncio.CancelledError:
                    continue

    deaf = Deaf()

    async def work(host):
        await host.running.refresh()
        deaf.end.set()
        return host.problems

    assert run(work, start_seconds=0.01, deaf=deaf) == ["start failed: it did not end in time"]


def test_refresh_is_called_before_each_request_and_may_fail(run):
    class Looks(Source):
        looks = 0

        async def refresh(self):
            self.looks += 1
            if self.looks == 2:
                raise OSError("gone")
            self.publish(Answers(f"look_{self.looks}"))

    looks = Looks(Answers("start"))

    async def work(host):
        seen = []
        for _ in range(4):
            await host.running.refresh()
            seen.append((host.names, host.problems))
        return seen

    seen = run(work, files=looks)

    failed = ["refresh failed: OSError: gone"]
    assert seen == [(["look_1"], []), (["look_1"], failed), (["look_1"], failed), (["look_1"], failed)]
    assert looks.looks == 2  # there is a pause after a failure


def test_sources_are_refreshed_side_by_side(run):
    met = {}

    class Meets(Source):
        async def refresh(self):
            met[self] = True
            while len(met) < 2:
                await asyncio.sleep(0)

    async def work(host):
        await host.running.refresh()
        return host.problems

    assert run(work, first=Meets(Answers("first")), second=Meets(Answers("second"))) == []


def test_a_group_can_be_listed_before_its_tools_are_known(run):
    group = ToolGroupDefinition("server", "Server", "Things of the server")
    opened = []

    class Lazy(Source):
        async def start(self, tools):
            self.tools = tools
            tools.publish([], [SourceGroup(group, self.open)])

        async def open(self):
            opened.append("server")
            self.tools.publish([SourceTool(Answers("served"), "server")], [group])

    async def load(host):
        await host.running.refresh()
        listed = [each.name for each in host.registry.get_available_group_definitions()]
        result = await LoadToolGroupTool(host.registry).execute({"group_name": "server"})
        return listed, result.is_success, host.names, host.registry.get_group_opener("server")

    assert run(load, lazy=Lazy()) == (["server"], True, ["served"], None)
    assert opened == ["server"]


def test_a_group_that_is_known_but_not_opened_starts_its_source_when_it_is_loaded(run):
    group = ToolGroupDefinition("server", "Server", "Things of the server")

    class Lazy(Source):
        async def start(self, tools):
            self.events.append("start")
            self.tools = tools
            tools.publish([], [SourceGroup(group, self.open)])

        async def open(self):
            self.tools.publish([SourceTool(Answers("served"), "server")], [group])

    run(names_after_refresh, lazy=Lazy())
    later = Lazy()

    async def load(host):
        await host.running.refresh()
        before = list(later.events)
        result = await LoadToolGroupTool(host.registry).execute({"group_name": "server"})
        return before, result.result

    assert run(load, lazy=later) == ([], "Loaded 1 tools from group 'Server':\n- served: Answer.")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"format": 99}', json.dumps({"format": 1}).encode()])
def test_a_damaged_file_of_known_tools_is_passed_over(run, tmp_path, caplog, content):
    folder = tmp_path / "tool_sources"
    folder.mkdir(mode=0o700)
    path = folder / "acme.files.json"
    path.write_bytes(content)
    path.chmod(0o600)

    assert run(names_after_refresh, files=Source(Answers("first"))) == ([], ["first"])
    assert json.loads(path.read_text())["tools"][0]["name"] == "first"


def test_nonsense_is_refused_when_it_is_registered():
    registry, record = ToolRegistry(), PluginRecord("acme")
    register = ToolRegistrar(record, registry)

    register.source("files", "acme.files:Files")
    register.source("files", "acme.files:Others")
    register.source("Odd Name", "acme.files:Files")
    register.source("other", "acme.files")
    register.source("never", "acme.files:Files", starts="never")

    assert [each.name for each in record.registrations] == ["files"]
    assert len(record.problems) == 4


def test_a_tool_of_a_source_is_a_tool():
    assert isinstance(Answers("a"), Tool)


class Plugin:
    """A plugin with a source."""

    def __init__(self, source):
        self.source = source
        self.contexts = []

    @hookimpl
    def register_tools(self, register):
        register.source("files", self.make)

    def make(self, context):
        self.contexts.append(context)
        return self.source


def test_in_a_home_the_tools_of_a_source_go_through_the_engine(oneclaw_factory, tmp_path):
    source = Source(SourceTool(Answers("grouped", "done"), "letters"))
    plugin = Plugin(source)
    home = oneclaw_factory([plugin])

    assert home.call_tool("grouped").result == "done"
    assert home.call_tool("grouped", "[]").error_type == "validation_error"
    assert [each.name for each in plugin.contexts] == ["Plugin"]
    source.publish(Answers("later"))
    assert home.call_tool("later").result == "later"

    home.reopen()
    assert source.events == ["start", "stop"]
    assert home.app.catalog.registry.get_all_tool_names()[-1] == "later"
    assert source.events == ["start", "stop"]
    source.content = [Answers("later")]
    assert home.call_tool("later").result == "later"
    assert source.events == ["start", "stop", "start"]


def test_a_turn_sees_what_a_source_published_between_two_requests(oneclaw_factory):
    class Looks(Source):
        looks = 0

        async def refresh(self):
            self.looks += 1
            self.publish(*self.content, Answers(f"look_{self.looks}"))

    source = Looks(Answers("first"))
    home = oneclaw_factory([Plugin(source)])
    home.model.calls("first").then("done")

    home.send("Go on.")

    sent = [[each.name for each in request.tools if each.name.startswith("look")] for request in home.model.requests]
    assert sent == [["look_1"], ["look_2"]]  # one look a request


def list_one(context, tools):
    tools.publish([Answers(context.stored["listed"])])


def list_nothing(context, tools):
    raise RuntimeError("the disk is gone")


def listed(tmp_path, function, disabled=()):
    registry, record, entry = ToolRegistry(), PluginRecord("acme"), PluginRecord("acme")
    target = f"{__name__}:{function}"
    ToolRegistrar(entry, registry).source("files", target, starts="open", listing=target, listed_as="mine")
    record.registrations += entry.registrations
    records = [record]
    published = PublishedTools(registry, records)
    list_sources(published, tmp_path, ListingContext(tmp_path, {"listed": "note"}, {}), disabled)
    return registry, {each.name: each for each in records}


def test_a_listing_shows_current_tools_under_the_name_of_the_source(tmp_path):
    registry, records = listed(tmp_path, "list_one")
    assert registry.get_source_info("note").plugin == "mine"
    assert (records["mine"].tools, records["acme"].tools) == (["note"], [])


def test_a_source_that_is_disabled_by_its_name_lists_nothing(tmp_path):
    registry, records = listed(tmp_path, "list_one", disabled={"mine"})
    assert registry.get_all_tool_names() == []
    assert records["mine"].status == "disabled"


def test_a_listing_that_fails_is_reported(tmp_path):
    _, records = listed(tmp_path, "list_nothing")
    assert [each.cause for each in records["mine"].problems] == ["listing failed: RuntimeError: the disk is gone"]


def read_on_demand(read, *names):
    return SourceGroup(ToolGroupDefinition("far", "Far", "Read when needed"), None, "a file", names, read)


def test_tools_of_a_group_are_read_when_one_is_first_needed(run):
    reads = []

    def read():
        reads.append(True)
        return GroupTools((SourceTool(Answers("far_one")), SourceTool(Answers("far_two"))), {"far.use": "use it"})

    async def work(host):
        await host.running.refresh()
        registry = host.registry
        version = registry.version
        assert registry.get_tool_groups() == {"far": ["far_one", "far_two"]}
        assert [each.name for each in registry.get_available_group_definitions()] == ["far"]
        assert registry.get_source_info("far_one").group_name == "far"
        assert registry.is_enabled("far_one")
        assert reads == []
        assert (await host.call("far_two")).result == "far_two"
        assert [each.name for each in registry.get_group_tool_definitions("far")] == ["far_one", "far_two"]
        assert registry.get_permission_meaning("far.use").text == "use it"
        assert (reads, registry.version) == ([True], version)
        host.sources["far"].tools.publish([])
        assert (host.names, host.record.tools, host.record.groups) == ([], [], [])

    run(work, starts="open", listing="acme:listed", far=Source(groups=[read_on_demand(read, "far_one", "far_two")]))


def test_a_group_that_is_read_takes_no_name_of_another_tool(run):
    def read():
        return GroupTools(tuple(SourceTool(Answers(name, "another")) for name in ("one", "far_one", "new")))

    async def work(host):
        await host.running.refresh()
        assert (await host.call("one")).result == "one"
        assert (await host.call("far_one")).result == "another"
        assert host.names == ["one", "far_one"]  # one that came since has not been announced
        assert host.problems == ["a file: there are tools of these names already, these are left out: one"]

    near, far = Source(Answers("one")), Source(groups=[read_on_demand(read, "one", "far_one")])
    run(work, starts="open", listing="acme:listed", near=near, far=far)


def test_a_group_that_cannot_be_read_has_no_tools_and_is_reported(run):
    def read():
        raise OSError("it is gone")

    async def work(host):
        await host.running.refresh()
        assert host.registry.get_tool("far_one") is None
        assert host.names == []
        assert "a file: the tools of the group 'far' cannot be read: OSError: it is gone" in host.problems

    run(work, starts="open", listing="acme:listed", far=Source(groups=[read_on_demand(read, "far_one")]))
