"""Finding, loading and isolating plugins; one broken plugin never takes the rest down."""

import asyncio
import json
import signal
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from oneclaw_scheduled_tasks.commands import tasks

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult, ToolSourceType, hookimpl, tool
from oneclaw_core.cli.command_group import make_option, plugin_commands
from oneclaw_core.config.user_choices import disabled_plugins
from oneclaw_core.contract import CONTRACT_VERSION
from oneclaw_core.plugins.distributions import CORE_TOOLS
from oneclaw_core.plugins.loading import discover, load_plugins

pytestmark = [pytest.mark.every_python, pytest.mark.lowest_versions]

OURS = sorted(
    name
    for path in Path(__file__).parents[2].glob("plugins/*/pyproject.toml")
    for name in tomllib.loads(path.read_text(encoding="utf-8"))["project"].get("entry-points", {}).get("oneclaw", {})
)


class StandIn:
    """An entry point that names an object made by the test."""

    def __init__(self, name, plugin, distribution="acme-tools", value="acme"):
        self.name = name
        self.value = value
        self.dist = SimpleNamespace(name=distribution, version="1.2.3")
        self._plugin = plugin

    def load(self):
        if isinstance(self._plugin, BaseException):
            raise self._plugin
        return self._plugin


class PlainTool:
    def __init__(self, name):
        self.definition = ToolDefinition(name, f"Does {name}.")

    async def execute(self, arguments, context):
        return ToolResult.success("")


def plugin(**hooks):
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def tools_plugin(*names, group=None):
    def register_tools(register):
        for name in names:
            register(PlainTool(name), group=group)

    return plugin(register_tools=register_tools)


GOOD = StandIn("good", tools_plugin("good_tool"), "good-tools")


def load(*points, disabled=()):
    return load_plugins(disabled, points)


def record_of(catalog, name):
    return next(record for record in catalog.plugins if record.name == name)


def assert_reported(catalog, name, *parts, status="failed"):
    """The plugin is reported with cause and remedy, and the good one works."""
    record = record_of(catalog, name)
    assert record.status == status
    problem = record.problems[0]
    for part in parts:
        assert part in f"{problem.where}: {problem.cause}"
    assert problem.remedy
    assert "\n" not in problem.cause
    assert "good_tool" in catalog.registry.get_all_tool_names()


def test_what_a_plugin_registers_is_attributed_to_it():
    catalog = load(StandIn("acme", tools_plugin("one", "two", group="acme_group")), GOOD)
    source = catalog.registry.get_source_info("one")
    assert (source.type, source.group_name) == (ToolSourceType.TOOL_GROUP, "acme_group")
    assert (source.plugin, source.distribution) == ("acme", "acme-tools 1.2.3")
    assert catalog.registry.get_source_info("good_tool").type is ToolSourceType.PLUGIN
    record = record_of(catalog, "acme")
    assert (record.status, record.tools, record.package) == ("ok", ["one", "two"], "acme-tools 1.2.3")
    assert record.import_ms >= 0


@pytest.mark.parametrize(
    "error", [ImportError("No module named 'missing'"), SystemExit(3), SyntaxError("bad\nline"), RuntimeError()]
)
def test_a_plugin_that_fails_to_import(error):
    catalog = load(StandIn("broken", error), GOOD)
    assert_reported(catalog, "broken", "import", type(error).__name__)
    assert "oneclaw plugins disable broken" in record_of(catalog, "broken").problems[0].remedy


class Interrupted(StandIn):
    """An entry point in whose import the user presses Ctrl-C."""

    def load(self):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_being_interrupted_while_importing_is_no_fault_of_the_plugin():
    before = signal.getsignal(signal.SIGINT)
    ended = threading.Event()

    class Unending(Interrupted):
        def load(self):
            super().load()
            # Else the import could end before the program gets to the signal.
            ended.wait(10)

    with pytest.raises(KeyboardInterrupt):
        load(Unending("slow", None))
    ended.set()
    assert signal.getsignal(signal.SIGINT) is before


def test_being_interrupted_in_an_event_loop_cancels_what_runs_there():
    async def main():
        load(Interrupted("slow", None))
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def test_a_plugin_that_raises_what_ctrl_c_raises():
    catalog = load(StandIn("broken", KeyboardInterrupt()), GOOD)
    assert_reported(catalog, "broken", "import", "it raised KeyboardInterrupt, though Ctrl-C was not pressed")


def test_a_hook_that_raises_what_ctrl_c_raises():
    def register_tools(register):
        raise KeyboardInterrupt

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "register_tools", "KeyboardInterrupt")


def test_plugins_can_be_loaded_beside_the_main_thread():
    with ThreadPoolExecutor() as pool:
        catalog = pool.submit(load, StandIn("broken", KeyboardInterrupt()), GOOD).result()
    assert_reported(catalog, "broken", "import", "KeyboardInterrupt")


def test_a_plugin_cannot_take_over_ctrl_c():
    before = signal.getsignal(signal.SIGINT)

    def register_tools(register):
        signal.signal(signal.SIGINT, lambda number, frame: None)

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "signal only works in main thread")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_plugin_that_raises_in_a_hook_keeps_what_it_had_registered():
    def register_tools(register):
        register(PlainTool("early"))
        raise ValueError("half way")

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "register_tools", "ValueError: half way", status="degraded")
    assert "early" in catalog.registry.get_all_tool_names()


def test_a_plugin_that_ends_the_program_in_a_hook():
    def register_tools(register):
        raise SystemExit("bye")

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "register_tools", "SystemExit: bye")


def test_an_unknown_hook_argument():
    catalog = load(StandIn("broken", plugin(register_tools=lambda registrar: None)), GOOD)
    assert_reported(catalog, "broken", "hooks", "registrar")


def test_an_unknown_hook_is_a_warning():
    catalog = load(StandIn("newer", plugin(register_tools=lambda register: None, register_dreams=lambda: None)), GOOD)
    record = record_of(catalog, "newer")
    assert record.status == "ok"
    assert "register_dreams" in record.problems[0].cause
    assert f"plugin contract {CONTRACT_VERSION}" in record.problems[0].remedy


@pytest.mark.parametrize("nothing", [SimpleNamespace(), object(), "text"])
def test_an_object_without_hooks_is_told_so(nothing):
    (record,) = load(StandIn("empty", nothing)).plugins
    assert "implements no hook" in record.problems[0].cause


def test_a_name_collision_keeps_the_first_and_the_rest_of_the_second():
    catalog = load(GOOD, StandIn("second", tools_plugin("good_tool", "own_tool")))
    assert_reported(catalog, "second", "'good_tool' belongs to good-tools, which had it first", status="degraded")
    assert catalog.registry.get_source_info("good_tool").plugin == "good"
    assert record_of(catalog, "second").tools == ["own_tool"]


@pytest.mark.parametrize("thing", [object(), lambda: None, None, PlainTool])
def test_something_that_is_no_tool(thing):
    def register_tools(register):
        register(thing)
        register(PlainTool("own_tool"))

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "is not a tool", status="degraded")


def test_a_bad_group_name():
    catalog = load(StandIn("broken", tools_plugin("own_tool", group="no good")), GOOD)
    assert_reported(catalog, "broken", "tool group name 'no good'")


@pytest.mark.parametrize(
    ("broken", "remedy"),
    [
        (
            plugin(register_tools=lambda register: register.manifest("tools.json")),
            "give it as importlib.resources.files(__package__) / 'tools.json'; or disable the plugin with: ",
        ),
        (ImportError("No module named 'missing'"), "upgrade acme-tools, or disable it with: "),
    ],
)
def test_the_warning_of_a_problem_says_what_to_do(broken, remedy, caplog):
    load(StandIn("broken", broken))

    (warning,) = (each.getMessage() for each in caplog.records if each.levelname == "WARNING")
    assert warning.endswith(f"; {remedy}oneclaw plugins disable broken")


def test_a_name_that_is_not_snake_case_is_a_warning():
    (record,) = load(StandIn("camel", tools_plugin("getWeather"))).plugins
    assert (record.status, record.tools) == ("ok", ["getWeather"])
    assert "snake_case" in record.problems[0].cause


def test_an_empty_manifest_leaves_no_group_behind(tmp_path):
    (tmp_path / "empty.json").write_text("[]")
    catalog = load(StandIn("acme", plugin(register_tools=lambda register: register.manifest(tmp_path / "empty.json"))))
    record = record_of(catalog, "acme")
    assert (record.groups, catalog.registry.get_all_group_definitions()) == ([], [])
    (problem,) = record.problems
    assert (problem.is_error, record.status) == (False, "ok")
    assert "declares no tools" in problem.cause


def test_metadata_alone_declare_a_group_for_tools_of_code(tmp_path):
    (tmp_path / "mail.json").write_text('[{"_meta": true, "display_name": "Mail", "description": "Reads mail"}]')

    def register_tools(register):
        register.manifest(tmp_path / "mail.json")
        register(PlainTool("read_mail"), group="mail")

    catalog = load(StandIn("acme", plugin(register_tools=register_tools)))
    assert catalog.registry.get_group_definition("mail").display_name == "Mail"
    assert record_of(catalog, "acme").problems == []


def test_a_bad_manifest_entry_is_reported_and_the_good_ones_stay(tmp_path):
    entries = [{"name": "fine", "description": "Works.", "function": "acme.tools:fine"}, {"name": "no function"}]
    (tmp_path / "acme.json").write_text(json.dumps(entries))

    def register_tools(register):
        register.manifest(tmp_path / "acme.json")
        register.manifest(tmp_path / "missing.json")

    catalog = load(StandIn("acme", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "acme", "acme.json", status="degraded")
    assert "missing.json" in record_of(catalog, "acme").problems[-1].cause
    assert catalog.registry.get_tool_groups() == {"acme": ["fine"]}
    assert catalog.registry.get_group_definition("acme").description == "Tools from acme group: fine"


def test_a_group_that_two_plugins_declare_keeps_the_first_metadata_and_all_tools():
    def declaring(text, tool):
        def register_groups(register):
            register(ToolGroupDefinition("shared", text, f"{text} tools"))

        def register_tools(register):
            register(PlainTool(tool), group="shared")

        return plugin(register_groups=register_groups, register_tools=register_tools)

    catalog = load(StandIn("a", declaring("First", "one")), StandIn("b", declaring("Second", "two")))
    assert catalog.registry.get_group_definition("shared").display_name == "First"
    assert catalog.registry.get_tool_groups() == {"shared": ["one", "two"]}
    second = record_of(catalog, "b")
    assert second.status == "ok"
    assert "declared already" in second.problems[0].cause


def test_a_group_without_metadata_gets_generated_ones():
    catalog = load(StandIn("acme", tools_plugin("one", "two", group="acme_group")))
    group = catalog.registry.get_group_definition("acme_group")
    assert (group.display_name, group.description) == ("Acme Group", "Tools from acme_group group: one, two")


def test_no_group_definition_object():
    catalog = load(StandIn("broken", plugin(register_groups=lambda register: register("pdf"))), GOOD)
    assert_reported(catalog, "broken", "register_groups", "is not a ToolGroupDefinition")


def test_provider_types_are_collected_and_the_first_stays():
    def providing(marker):
        return plugin(register_providers=lambda register: register("wire", marker))

    first, second = (lambda config: None), (lambda config: None)
    catalog = load(StandIn("a", providing(first)), StandIn("b", providing(second)), GOOD)
    assert catalog.provider_types == {"wire": first}
    assert_reported(catalog, "b", "the provider type 'wire' is taken")


def test_a_disabled_plugin_is_not_even_imported():
    catalog = load(StandIn("off", AssertionError("imported")), GOOD, disabled={"off"})
    assert record_of(catalog, "off").status == "disabled"
    assert record_of(catalog, "off").problems == []


def test_two_packages_with_a_plugin_of_one_name():
    catalog = load(GOOD, StandIn("good", tools_plugin("other"), "other-tools"))
    assert catalog.registry.get_all_tool_names() == ["good_tool", "other"]
    second = catalog.plugins[1]
    assert (second.name, second.status) == ("good@other-tools", "ok")
    assert "another package" in second.problems[0].cause


def test_a_hook_that_is_async_is_reported_and_not_called():
    async def register_tools(register):
        register(PlainTool("never"))

    catalog = load(StandIn("broken", plugin(register_tools=register_tools)), GOOD)
    assert_reported(catalog, "broken", "hooks", "is an async function")


@pytest.mark.parametrize(
    ("stored", "environ", "names"),
    [
        ({}, {}, set()),
        ({}, {"ONECLAW_DISABLED_PLUGINS": "pdf, acme"}, {"pdf", "acme"}),
        ({"disabled_plugins": ["pdf"]}, {}, {"pdf"}),
        ({"disabled_plugins": ["pdf"]}, {"ONECLAW_DISABLED_PLUGINS": "acme"}, {"acme"}),
        ({"disabled_plugins": 7}, {}, set()),
    ],
)
def test_plugins_are_switched_off_by_the_environment_or_a_setting(stored, environ, names):
    assert disabled_plugins(stored, environ) == names


def test_commands_are_gathered_and_taken_ones_stay():
    def register_commands(register):
        register("hello", "acme:hello", help="Say hello.")
        register("taken", "acme:taken")

    catalog = load(StandIn("acme", plugin(register_commands=register_commands)), GOOD)

    assert [each.summary for each in plugin_commands(catalog.plugins, taken={"taken"}).values()] == ["Say hello."]

    assert_reported(catalog, "acme", "register_commands", "the command 'taken' is taken", status="degraded")


def test_subcommands_and_options_are_of_their_parent():
    def register_commands(register):
        register("status", "acme:status")
        register("status", "acme:serving", parent="serve")
        register.option("--port", type=int, default=8080, help="the port")

    (record,) = load(StandIn("acme", plugin(register_commands=register_commands))).plugins

    assert list(plugin_commands([record])) == ["status"]
    found = plugin_commands([record], parent="serve")
    assert [(name, each.is_option) for name, each in found.items()] == [("status", False), ("--port", True)]
    option = make_option(found["--port"])
    assert (option.name, option.default, option.type.name) == ("port", 8080, "integer")


@pytest.mark.parametrize(
    ("arguments", "options", "cause"),
    [
        (("hello",), {"target": "no colon"}, "'no colon' names no object"),
        (("Hello!",), {"target": "acme:hello"}, "the name 'Hello!' is invalid"),
        (("hello",), {"target": print}, "is not a click command"),
        (("hello",), {"target": "acme:hello", "parent": "chat"}, "parent of 'hello' must be one of agents, config"),
    ],
)
def test_a_command_that_cannot_be_registered_is_reported(arguments, options, cause):
    def register_commands(register):
        register(*arguments, **options)

    catalog = load(StandIn("acme", plugin(register_commands=register_commands)), GOOD)

    assert_reported(catalog, "acme", cause)


@pytest.mark.parametrize(
    ("name", "options", "cause"),
    [
        ("port", {}, "the name 'port' is invalid"),
        ("--port", {"type": list}, "the type of the option '--port' must be"),
        ("--port", {"default": []}, "the default of the option '--port' must be"),
    ],
)
def test_an_option_that_cannot_be_registered_is_reported(name, options, cause):
    def register_commands(register):
        register.option(name, **options)

    catalog = load(StandIn("acme", plugin(register_commands=register_commands)), GOOD)

    assert_reported(catalog, "acme", cause)


def test_a_command_of_a_module_is_registered_by_its_name():
    def register_commands(register):
        register("tasks", tasks)
        register("local", click.Command("local", short_help="Of no module."))

    (record,) = load(StandIn("acme", plugin(register_commands=register_commands))).plugins

    by_name, local = record.registrations
    assert by_name.target == "oneclaw_scheduled_tasks.commands:tasks"
    assert (local.target, local.options["help"]) == (None, "Of no module.")


def test_plugins_with_core_tools_and_providers_of_oneclaw_are_found_first():
    early = sorted({*CORE_TOOLS.values(), "anthropic", "chain", "gemini", "offline", "openai"} - {"builtin"})
    assert [point.name for point in discover()] == ["builtin", *early, *(name for name in OURS if name not in early)]


def test_everything_installed_here_loads_without_a_problem():
    catalog = load_plugins()
    assert {record.name: record.problems for record in catalog.plugins} == {name: [] for name in ["builtin", *OURS]}
    core = [definition.name for definition in catalog.registry.get_core_tool_definitions()]
    assert core == [each for each in CORE_TOOLS if each != "find_tool_groups"]  # it comes with a long list of groups
    assert catalog.registry.get_tool_groups()["pdf"] == ["pdf_info", "pdf_extract_text", "pdf_render_page"]
    assert set(catalog.provider_types) == {
        *("offline", "openai", "openai_compatible", "ollama", "anthropic", "gemini", "chain"),
    }


def test_the_builtin_tools_cannot_be_switched_off():
    catalog = load_plugins({"builtin"})
    assert catalog.registry.get_tool("load_tool_group") is not None
    assert record_of(catalog, "builtin").problems[0].is_error is False


def test_of_two_meanings_of_a_permission_the_first_stays_and_the_second_is_reported():
    def opens_doors(name, *meanings):
        @tool(name=f"{name}_open", required_permissions=["door.open"])
        def opens() -> str:
            """Open a door."""
            return "open"

        def register_groups(register):
            for number, meaning in enumerate(meanings):
                register(ToolGroupDefinition(f"{name}_{number}", "Doors", "Opens.", permissions={"door.open": meaning}))

        return SimpleNamespace(
            register_tools=hookimpl(lambda register: register(opens)), register_groups=hookimpl(register_groups)
        )

    first, second = opens_doors("first", "open doors", "open doors", "kick doors"), opens_doors("second", "break doors")
    catalog = load_plugins((), [StandIn("first", first), StandIn("second", second)])
    causes = {record.name: [problem.cause for problem in record.problems] for record in catalog.plugins}
    assert causes["first"] == [
        "the tool group 'first_2' says what 'door.open' means, and another group says something else; the first one "
        "stays"
    ]
    assert causes["second"] == [
        "the tool group 'second_0' says what 'door.open' means, and the plugin 'first' says something else; each is "
        "believed for its own tools"
    ]
